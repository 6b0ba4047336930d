#pragma once

#include <chainbase/feed/feed_files.hpp>
#include <chainbase/segment/catalogue.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::feed {

/// The end of a feed's files, to which the writer appends, and the blocks that lead there.
///
/// What is appended is in the files after flush(), and on storage after sync(). After an exception
/// nothing may be called but the destructor: a new object finds what is whole.
///
/// Not thread-safe.
class feed_end {
public:
    /// A block that was not popped.
    struct block {
        /// Whether the state is behind this one, as far as its block is known.
        [[nodiscard]] bool is(const block& of_state) const noexcept {
            if (of_state.sum == 0) return of_state.name.is_behind(name);
            return of_state.name == name && (sum == of_state.sum || sum == 0);
        }

        block_name name;
        std::uint64_t sum = 0;   ///< of its record's body; 0 of one that a series or file begins at
        feed_position begin = 0; ///< of its record
        feed_position end = 0;
    };

    /// Opens the files in `folder`, which may not exist yet. `visible`: up to where followers may
    /// have read. Throws io_error, format_error, usage_error (of another state).
    feed_end(disk& on, std::filesystem::path folder, const checkpoint::slot_file::identity& state,
             std::uint64_t file_bytes, feed_position visible);

    /// Behind the last record.
    [[nodiscard]] feed_position at() const noexcept { return at_ + buffer_.size(); }

    /// Behind the last record that is known to be on storage.
    [[nodiscard]] feed_position synced() const noexcept { return synced_; }
    /// Those that lead here, the oldest first: from the begin of the last file but one when this
    /// was made, or of an older one after reach_back(), and 100,000 at most.
    [[nodiscard]] const std::deque<block>& blocks() const noexcept { return blocks_; }
    /// Adds to blocks() what older files have, twice as many files each time. Requires that nothing
    /// was damaged, and that all is flushed. Returns false when there is no more; also when an
    /// older file is damaged, and then damage() says so.
    [[nodiscard]] bool reach_back();
    /// The newest revision that was told to be irreversible.
    [[nodiscard]] revision_number irreversible() const noexcept { return irreversible_; }
    /// Whether that was told of this one of blocks(): nothing may pop it.
    [[nodiscard]] bool is_irreversible(const block& one) const noexcept {
        return one.end <= irreversible_end_;
    }
    /// What was found damaged below `visible`; empty if nothing was. Then begin() comes first.
    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

    /// Begins a series after `base` that does not continue what is before.
    void begin(const block_name& base, std::string_view why);
    /// From here on, types are as in `all`.
    void set_types(const catalogue& all);
    void add(const entry& one);
    /// Pops the newest block. Throws damaged_error when its record cannot be read.
    void pop();
    void flush();
    void sync();

    /// Removes the oldest files that lie below `needed` and have no block that may be popped, and
    /// more until they take `most` bytes, but never the last two.
    void remove_before(feed_position needed, std::uint64_t most);

private:
    void scan(feed_position from);
    [[nodiscard]] std::string place(feed_position at) const;
    void note(const feed_reader::record& one);
    void note_irreversible(const block_name& newest);
    void make_file(feed_position first);
    void begin_file();
    void append(feed_record::kind what, const block_name& name, std::uint64_t changes,
                std::span<const std::byte> body);

    disk& on_;
    std::filesystem::path folder_;
    checkpoint::slot_file::identity state_;
    std::uint64_t file_bytes_;
    feed_position scanned_from_ = 0; ///< begin of the oldest file in blocks_
    std::deque<block> blocks_;
    revision_number irreversible_ = 0;
    feed_position irreversible_end_ = 0; ///< behind the newest block of which that was told
    std::string damage_;
    std::string types_; ///< the catalogue's text
    std::unique_ptr<disk_file> file_;
    feed_position first_ = 0; ///< of the file
    std::uint64_t seed_ = 0;
    feed_position at_ = 0;
    feed_position synced_ = 0;
    std::vector<std::byte> buffer_;
    std::vector<std::byte> body_;
};

/// Ends what followers of the state are told, since it goes on in another one: they get
/// too_far_behind_error saying `why`. Requires that the caller has the writer's lock of the state,
/// and no writer of its feed. Throws as feed_end does.
void end_feed(disk& on, const std::filesystem::path& state, std::string_view why);

} // namespace chainbase::feed

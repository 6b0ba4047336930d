#pragma once

#include <chainbase/feed/feed_files.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/driver/sync/messages.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

/// The files of a feed of another machine, copied byte by byte, so that feed::follower reads them
/// here. Its head is behind the last entry that came whole, has the right sums, and is on storage.
///
/// For one thread; prune() and followers for any other.
class feed_mirror {
public:
    /// In `folder`/feed, which is made if there is none; `is_new`: what is there is removed first.
    /// Throws locked_error when another process has it, io_error, format_error.
    feed_mirror(const std::filesystem::path& folder, bool is_new);

    /// Whether begin() was called, now or by an earlier process.
    [[nodiscard]] bool has_begun() const noexcept { return head_.has_value(); }
    /// Of the followed state; all zero before begin().
    [[nodiscard]] checkpoint::slot_file::identity state() const noexcept {
        return head_ ? head_->state() : checkpoint::slot_file::identity{};
    }
    /// Makes it the mirror of a state's feed, whose cursor `name` is at `at`; without effect if it
    /// is that already. Throws usage_error when it is of another state.
    void begin(const checkpoint::slot_file::identity& state, const std::string& name,
               const feed::feed_cursor::state& at);

    /// Where it goes on, behind the last whole entry; nothing while it has none, nor its file.
    /// What came after that is forgotten.
    [[nodiscard]] std::optional<feed::feed_position> resume();
    /// Appends what came. Throws damaged_error and format_error naming the place when these are not
    /// the bytes of an entry, or do not follow; then resume(). Throws io_error, out_of_space_error.
    void put(const feed_part_message& part);
    /// Behind the last whole entry.
    [[nodiscard]] feed::feed_position end() const noexcept { return whole_; }

    /// Removes files whose entries are all before that place.
    static void prune(const std::filesystem::path& folder, feed::feed_position behind);

private:
    void open_file(feed::feed_position first);
    void begin_file(feed::feed_position first);
    [[nodiscard]] bool has_next();

    disk& on_;
    std::filesystem::path folder_;
    file_lock lock_;
    std::optional<feed::feed_head> head_;
    std::optional<feed::feed_reader> reader_;
    feed::feed_reader::record record_;
    std::unique_ptr<disk_file> file_; ///< to which it appends; null: after resume()
    feed::feed_position first_ = 0;   ///< of the file
    feed::feed_position whole_ = 0;
    feed::feed_position end_ = 0; ///< behind the last byte that came
    bool has_place_ = false;
};

} // namespace chainbase::driver

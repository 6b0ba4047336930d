#pragma once

#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/slot_file.hpp>
#include <chainbase/feed/entry.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// The files of a state's feed, in `STATE/feed`. README.md has their bytes.
namespace chainbase::feed {

/// A place between two entries: a byte of the series of files, which are numbered through.
using feed_position = std::uint64_t;

/// The end of one block among all that a state had or lost.
struct block_name {
    revision_number revision = 0;
    std::uint32_t serial = 0;

    bool operator==(const block_name&) const = default;
    /// Whether a state of this name is the one behind the entry of that name. A session that is
    /// squashed takes its serial along, to the revision below. 0 is the serial of all sessions of
    /// older versions.
    [[nodiscard]] bool is_behind(const block_name& told) const noexcept {
        constexpr revision_number most_squashed = 1'000;
        if (revision == told.revision || serial == 0) return *this == told;
        return serial == told.serial && told.revision > revision &&
               told.revision - revision < most_squashed;
    }
};

/// The header of a file `entries.<first>`.
struct feed_file_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t reserved;
    checkpoint::slot_file::identity state;
    feed_position first; ///< of the file's begin; its entries begin behind the header
    std::uint64_t reserved2;
    std::uint64_t sum; ///< XXH3-64 of the 56 bytes before

    [[nodiscard]] static feed_file_header make(const checkpoint::slot_file::identity& state,
                                               feed_position first) noexcept;
};
static_assert(sizeof(feed_file_header) == 64);

/// What precedes the body of each record in a file.
struct feed_record {
    enum kind : std::uint32_t {
        types = 1, ///< body: the catalogue of the state, as text
        begin,     ///< what follows does not continue what is before; body: why, as text
        block,
        pop,
        irreversible,
    };

    static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 32;

    std::uint64_t bytes; ///< with the body; at most most_bytes
    std::uint32_t what;
    std::uint32_t serial;
    revision_number revision;
    std::uint64_t changes;  ///< how many objects, and next ids
    std::uint64_t body_sum; ///< XXH3-64
    std::uint64_t sum; ///< XXH3-64 of the 40 bytes before, seeded with the file's and its place

    [[nodiscard]] std::uint64_t sum_in(std::uint64_t seed, feed_position at) const noexcept;
};
static_assert(sizeof(feed_record) == 48 && offsetof(feed_record, sum) == 40);

[[nodiscard]] std::filesystem::path feed_folder(const std::filesystem::path& state);
[[nodiscard]] std::filesystem::path entries_file(const std::filesystem::path& folder,
                                                 feed_position first);
/// Where the files in `folder` begin, in order. Throws io_error.
[[nodiscard]] std::vector<feed_position> entries_files(disk& on,
                                                       const std::filesystem::path& folder);

/// `head`: up to where followers may read.
class feed_head {
public:
    /// Opens it, or makes it. Throws io_error, and for an existing one format_error, usage_error
    /// when it is of another state.
    feed_head(disk& on, const std::filesystem::path& folder,
              const checkpoint::slot_file::identity& state);
    /// To read. Throws io_error, format_error.
    feed_head(disk& on, const std::filesystem::path& folder);

    [[nodiscard]] const checkpoint::slot_file::identity& state() const noexcept { return state_; }

    /// While the writer changes it, the value before or after. Throws damaged_error, io_error.
    [[nodiscard]] feed_position end() const;
    void set_end(feed_position to);

private:
    std::filesystem::path name_;
    checkpoint::slot_file::identity state_{};
    std::unique_ptr<disk_file> file_;
};

/// Reads records one after the other.
class feed_reader {
public:
    struct record {
        feed_record head{};
        std::vector<std::byte> body;
        feed_position end = 0; ///< behind it
    };

    feed_reader(disk& on, std::filesystem::path folder,
                const checkpoint::slot_file::identity& state)
        : on_(on), folder_(std::move(folder)), state_(state) {}

    /// The record at `at`, if it is whole. Throws damaged_error (a file of another state, or of
    /// another format: format_error) naming file and offset, too_far_behind_error when the files
    /// that had it were removed, io_error.
    [[nodiscard]] bool read(feed_position at, record& into);
    /// Where the record at `at` would be, as text.
    [[nodiscard]] std::string place(feed_position at) const;

private:
    [[nodiscard]] bool open(feed_position at);

    disk& on_;
    std::filesystem::path folder_;
    checkpoint::slot_file::identity state_;
    std::unique_ptr<disk_file> file_;
    feed_position first_ = 0;
    std::uint64_t seed_ = 0;
};

/// feed_record::changes of a block.
[[nodiscard]] std::size_t words_of(const entry& block) noexcept;
/// The body of its record.
void encode(const entry& block, std::vector<std::byte>& to);
/// Throws damaged_error if it is no such body, of so many changes.
void decode(const feed_reader::record& from, entry& into);

/// How far a follower is, by name: `cursors/<name>`. Two copies of which one is always whole.
class feed_cursor {
public:
    struct state {
        feed_position at = 0;
        bool has_begun = false;       ///< else it waits for a snapshot to begin from
        revision_number revision = 0; ///< up to which it is, for people
    };

    /// The names of all, in order. Throws io_error.
    [[nodiscard]] static std::vector<std::string> names(disk& on,
                                                        const std::filesystem::path& folder);
    /// With mode::create makes it, at `at`, if there is none. Throws usage_error for a name that is
    /// none, io_error, and for an existing one format_error, damaged_error.
    feed_cursor(disk& on, const std::filesystem::path& folder, const std::string& name,
                disk::mode how, feed_position at = 0);
    [[nodiscard]] static bool exists(disk& on, const std::filesystem::path& folder,
                                     const std::string& name);
    /// Throws io_error.
    static void remove(disk& on, const std::filesystem::path& folder, const std::string& name);

    [[nodiscard]] const state& now() const noexcept { return now_; }
    /// Waits until it is on storage. Throws io_error, out_of_space_error; then it is as before.
    void set(const state& to);

private:
    void read();

    std::filesystem::path name_;
    std::unique_ptr<disk_file> file_;
    state now_;
    std::uint64_t count_ = 0; ///< of changes; even ones are in the first copy
};

} // namespace chainbase::feed

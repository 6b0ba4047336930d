#pragma once

#include <chainbase/checkpoint/slot_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::checkpoint {

/// Where the content of a page of the segment, or of a leaf of its page table, is stored. Slot 0
/// means all zeros.
struct placed_page {
    checkpoint::slot slot = 0;
    std::uint64_t sum = 0; ///< 0 for a page of zeros

    friend bool operator==(const placed_page&, const placed_page&) = default;
};

/// The description of a checkpoint; the content of `published.0` or `published.1`.
///
///     0  magic         16  "chainbase state" and a zero byte, as long as the file is whole
///    16  format         4
///    20  text_bytes     4  of the text
///    24  leaves         8  how many
///    32  sum            8  XXH3-64 of the 32 bytes before, then of all that follows
///    40  text              JSON: what is below, but for the leaves
///        leaves            16 bytes each: slot (4), zero (4), sum (8); of all files, in their
///        order
struct publication {
    struct file {
        std::string name; ///< in the segment's folder
        std::uint32_t index = 0;
        std::uint64_t bytes = 0;
        std::vector<placed_page> leaves; ///< of 256 pages each
    };

    slot_file::identity state{};
    std::uint64_t generation = 0; ///< +1 with each checkpoint of the state
    std::int64_t revision = 0;    ///< the newest that was pushed
    std::int64_t committed = 0;   ///< the newest that cannot be undone
    std::int64_t time = 0;        ///< Unix seconds
    std::uint64_t redo = 0;       ///< sequence of the first redo-log block after it, 0: none
    std::uint64_t window_bytes = 0;
    std::uint32_t windows = 0;
    std::string catalogue; ///< the text of catalogue.json
    std::vector<file> files;

    /// What the files of a segment take that is restored from it.
    [[nodiscard]] std::uint64_t segment_bytes() const noexcept;
    [[nodiscard]] std::vector<std::byte> encode() const;
    /// Throws damaged_error, format_error, naming `from`.
    [[nodiscard]] static publication decode(std::span<const std::byte> content,
                                            const std::filesystem::path& from);
};

/// The two files of publications in the folder of a checkpoint.
class published {
public:
    /// Reads both files. A file that is damaged or cannot be read counts as missing; why() says
    /// what is wrong with it. Throws format_error for a later format.
    published(disk& on, std::filesystem::path folder);

    /// The one with the larger generation; null if there is none.
    [[nodiscard]] const publication* newest() const noexcept;
    /// The other one; null if there is none.
    [[nodiscard]] const publication* older() const noexcept;
    /// Throws usage_error when newest() belongs to another state.
    void require_of(const slot_file::identity& state) const;
    /// What is wrong with the existing files; empty if nothing is.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

    /// Ensures that newest() is on storage, and that a crash cannot bring back anything else: a
    /// process that died may have written without syncing. Call it before slots are reused. Throws
    /// io_error.
    void confirm();
    /// Renames newest() out of the way, since pages that it names are damaged; then older() is the
    /// newest. Throws io_error.
    void set_newest_aside();

    /// Writes `next` in place of the older one and waits until it is on storage; then it is
    /// newest(). Throws io_error, out_of_space_error: then that file may or may not hold it, or be
    /// damaged, and the next call replaces it again; newest() is unchanged and on storage.
    void publish(publication next);

    /// The file of newest().
    [[nodiscard]] std::filesystem::path newest_path() const { return file(newest_file()); }

private:
    [[nodiscard]] std::vector<std::byte> content_of(int which) const;
    [[nodiscard]] std::filesystem::path file(int which) const {
        return folder_ / ("published." + std::to_string(which));
    }
    [[nodiscard]] int newest_file() const noexcept;

    disk& on_;
    std::filesystem::path folder_;
    std::optional<publication> content_[2];
    std::string why_;
};

/// Maps the pages of one segment file to slots of `pages`, for the next publication. Stored as
/// leaves of 256 pages; only changed leaves are rewritten.
class page_table {
public:
    static constexpr std::size_t pages_of_a_leaf = 256;

    page_table() = default;
    /// Reads the table of a published file. Throws damaged_error.
    page_table(const publication::file& from, const slot_file& slots);

    [[nodiscard]] std::uint64_t pages() const noexcept { return pages_.size(); }
    [[nodiscard]] const std::vector<placed_page>& all() const noexcept { return pages_; }
    [[nodiscard]] const std::vector<placed_page>& leaves() const noexcept { return leaves_; }
    /// Where a page is; a page beyond the last one is all zeros.
    [[nodiscard]] placed_page at(std::uint64_t page) const noexcept {
        return page < pages_.size() ? pages_[page] : placed_page{};
    }

    /// Sets the number of pages; adds the slots of truncated pages to `replaced`. Throws
    /// std::bad_alloc.
    void resize(std::uint64_t pages, std::vector<slot>& replaced);
    void set(std::uint64_t page, placed_page to) noexcept;

    /// How many leaves changed since they were last written.
    [[nodiscard]] std::uint64_t changed_leaves() const noexcept;
    /// Writes the changed leaves to new slots; adds their old slots to `replaced`. Requires
    /// changed_leaves() reserved slots.
    void write_leaves(slot_file& to, std::vector<slot>& replaced);

private:
    std::vector<placed_page> pages_;
    std::vector<placed_page> leaves_;
    std::vector<bool> changed_; ///< by leaf
};

} // namespace chainbase::checkpoint

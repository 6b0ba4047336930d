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

/// A page of the segment, or a leaf of its page table: where its content is. Slot 0: all zeros.
struct placed_page {
    checkpoint::slot slot = 0;
    std::uint64_t sum = 0; ///< 0 of a page of zeros

    friend bool operator==(const placed_page&, const placed_page&) = default;
};

/// What a checkpoint says of itself; the content of `published.0` or `published.1`.
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
    std::uint64_t redo = 0;       ///< sequence of the first block that it does not have, 0: none is
    std::uint64_t window_bytes = 0;
    std::uint32_t windows = 0;
    std::string catalogue; ///< the text of catalogue.json
    std::vector<file> files;

    [[nodiscard]] std::vector<std::byte> encode() const;
    /// Throws damaged_error, format_error, naming `from`.
    [[nodiscard]] static publication decode(std::span<const std::byte> content,
                                            const std::filesystem::path& from);
};

/// The two files of publications in the folder of a checkpoint.
class published {
public:
    /// Reads what is there. A file that is damaged or cannot be read counts as none; why() says
    /// what is wrong with it. Throws format_error, of a later format.
    published(disk& on, std::filesystem::path folder);

    /// The one of the larger generation; null without any.
    [[nodiscard]] const publication* newest() const noexcept;
    /// The other one.
    [[nodiscard]] const publication* older() const noexcept;
    /// What is wrong with the files that are there, empty if nothing is.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

    /// Makes sure that newest() is on storage, and that nothing else is there that a crash could
    /// bring back: a process that died may have written without syncing. To be called before slots
    /// are used again. Throws io_error.
    void confirm();
    /// Gives newest() another name, since pages that it names are damaged; older() is the newest
    /// then. Throws io_error.
    void set_newest_aside();

    /// Replaces what is not newest() and waits until it is on storage; then it is newest(). Throws
    /// io_error, out_of_space_error: then the file may or may not hold it, or be damaged, and the
    /// next call replaces it again; newest() is what it was, and on storage.
    void publish(publication next);

    /// Where newest() is.
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

/// Where the pages of one file of the segment are in `pages`, as its last publication says and the
/// next one will. Stored as leaves of 256 pages, of which those are written again that changed.
class page_table {
public:
    static constexpr std::size_t pages_of_a_leaf = 256;

    page_table() = default;
    /// Of a publication. Throws damaged_error.
    page_table(const publication::file& from, const slot_file& slots);

    [[nodiscard]] std::uint64_t pages() const noexcept { return pages_.size(); }
    [[nodiscard]] const std::vector<placed_page>& all() const noexcept { return pages_; }
    [[nodiscard]] const std::vector<placed_page>& leaves() const noexcept { return leaves_; }
    /// Of a page beyond the last one: one of zeros.
    [[nodiscard]] placed_page at(std::uint64_t page) const noexcept {
        return page < pages_.size() ? pages_[page] : placed_page{};
    }

    /// Makes it as long as the file; `replaced` gets the slots of what is cut. Throws
    /// std::bad_alloc.
    void resize(std::uint64_t pages, std::vector<slot>& replaced);
    void set(std::uint64_t page, placed_page to) noexcept;

    /// How many leaves changed since they were written.
    [[nodiscard]] std::uint64_t changed_leaves() const noexcept;
    /// Writes what changed to slots of its own; `replaced` gets those that had it. Requires
    /// changed_leaves() reserved ones.
    void write_leaves(slot_file& to, std::vector<slot>& replaced);

private:
    std::vector<placed_page> pages_;
    std::vector<placed_page> leaves_;
    std::vector<bool> changed_; ///< by leaf
};

} // namespace chainbase::checkpoint

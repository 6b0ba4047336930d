#pragma once

#include <chainbase/segment/catalogue.hpp>
#include <chainbase/segment/index_base.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/file_identity.hpp>
#include <pool_allocator/keyed_hash.hpp>
#include <pool_allocator/size_classes.hpp>
#include <undo/undo_log.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace chainbase {

/// The files of a segment in the memory of this process: `header`, `catalogue.json`, `undo_log`,
/// those of the buffers, and, for every type, `TYPE.objects`, `TYPE.ids`, `TYPE.N.hash`. Takes no
/// lock and decides nothing: class segment does, which derives from it.
class mapped_segment {
public:
    static constexpr std::size_t header_bytes = segment_header::page_bytes;

    mapped_segment(const mapped_segment&) = delete;
    mapped_segment& operator=(const mapped_segment&) = delete;

    /// The state's folder.
    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }
    [[nodiscard]] bool writable() const noexcept { return mode_ == window::mode::read_write; }
    [[nodiscard]] const segment_header& header() const noexcept { return *header_.at; }
    [[nodiscard]] const address_space& addresses() const noexcept { return *addresses_; }
    [[nodiscard]] const window& log_file() const noexcept { return *log_file_; }
    /// The log's words, also when reading only.
    [[nodiscard]] const log_words& words() const noexcept {
        return *reinterpret_cast<const log_words*>(log_file_->root());
    }
    [[nodiscard]] const size_classes& buffers() const noexcept { return *buffers_; }
    [[nodiscard]] size_classes& buffers() noexcept { return *buffers_; }
    [[nodiscard]] const catalogue& types() const noexcept { return catalogue_; }
    [[nodiscard]] const std::vector<std::unique_ptr<type_windows>>& windows() const noexcept {
        return types_;
    }
    /// Calls visit(window&) for the log, the buffers and the windows of all types.
    template <typename Visitor>
    void each_window(Visitor&& visit) const {
        visit(*log_file_);
        buffers_->each_window(visit);
        for (const auto& type : types_)
            type->each(visit);
    }

    /// Calls build(with), which initialises a new window, with all stores exempt from the log.
    void initialise_unlogged(void (*build)(void*), void* with);

    /// Windows before those of the types.
    static constexpr std::uint32_t first_type_window =
        size_classes::first_window + size_classes::window_count;

protected:
    mapped_segment(std::filesystem::path state, window::mode mode)
        : state_(std::move(state)), mode_(mode) {}
    ~mapped_segment();

    /// Maps the header of the segment in `folder`. Throws access_error, damaged_error, io_error.
    void map_header(const std::filesystem::path& folder);
    /// Then all other files. Throws damaged_error, format_error, io_error, limit_error.
    void map_windows();
    /// Called when header and catalogue are read: where the windows are in this process. A range
    /// for the header's windows, unless overridden. Throws limit_error, io_error.
    [[nodiscard]] virtual std::unique_ptr<address_space> reserve_addresses();
    /// Checks the root blocks and lengths of a closed state against what closing left; of one that
    /// was not closed, when writing, that its files have the bytes that their root blocks count,
    /// since a store beyond a file's end kills the process. Throws damaged_error, io_error.
    void check_roots() const;
    /// Looks at the lengths of the files again, and, if asked, at the catalogue.
    void refresh_files(bool and_types);

    [[nodiscard]] bool is_closed() const noexcept;
    /// Marks the state as open in this boot, by this file. Does not sync it.
    void mark_open();
    /// Marks it as closed. The next opening believes its windows without looking, also after a
    /// restart of the machine if `synced`. Does not sync the header.
    void mark_closed(bool synced, std::uint64_t generation);
    void unmark_closed() noexcept;
    /// Throw io_error.
    void sync_windows();
    void sync_header();

    /// The windows of the type called `schema.name`; creates them if the state has no such type.
    /// Throws as segment::open_type.
    type_windows& find_or_create_type(const type_schema& schema);
    /// Writes the catalogue with the newest type. Throws io_error, out_of_space_error; then it is
    /// what it was before.
    void write_catalogue();
    void drop_newest_type() noexcept;

    [[nodiscard]] segment_header& own_header() noexcept { return *header_.at; }
    [[nodiscard]] const file_identity& header_file() const noexcept { return header_.file; }
    [[nodiscard]] window& own_log_file() noexcept { return *log_file_; }
    [[nodiscard]] const std::filesystem::path& segment_folder() const noexcept { return folder_; }
    /// Windows at or above belong to no type.
    [[nodiscard]] std::uint32_t next_free_window() const noexcept;

private:
    [[nodiscard]] std::unique_ptr<type_windows> map_type(const catalogue::entry& entry,
                                                         window::mode how) const;
    [[nodiscard]] hash_seed own_seed() const noexcept;
    [[nodiscard]] std::uint32_t roots_checksum() const;
    void check_lengths() const;

    std::filesystem::path state_;
    window::mode mode_;
    std::filesystem::path folder_; ///< the segment's
    struct {
        segment_header* at = nullptr;
        file_identity file; ///< of the mapped file
    } header_;
    catalogue catalogue_;
    std::unique_ptr<address_space> addresses_;
    std::unique_ptr<window> log_file_;
    std::unique_ptr<size_classes> buffers_;
    std::vector<std::unique_ptr<type_windows>> types_;
};

} // namespace chainbase

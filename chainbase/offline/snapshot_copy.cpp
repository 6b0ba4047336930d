#include <archive/open_archive.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/bulk_load/new_state.hpp>
#include <chainbase/offline/snapshot_copy.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t page = window_header::page_bytes;
constexpr std::uint64_t piece_bytes = std::uint64_t{2} << 20;
/// A node's machine has memory for this beside the node.
constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;

/// Copies what a snapshot has in use into a segment without types. Of an exact length, and without
/// what nothing can be undone to: areas that a table has outgrown, slots never used.
class page_copy {
public:
    page_copy(snapshot_segment& from, segment& to) : from_(from), to_(to) {}

    void add_buffers();
    void add_types();
    void copy(const checkpoint::progress& tell);
    [[nodiscard]] std::uint64_t objects() const noexcept { return objects_; }

private:
    /// Bytes of a window behind its header page, and where they go.
    struct part {
        const window* from;
        window* to;
        std::uint64_t begin;
        std::uint64_t end;
    };

    template <typename Words>
    [[nodiscard]] Words words_of(const window& file, std::size_t at = 0) const;
    void copy_root(const window& from, window& to) const;
    void add(const window& from, window& to, std::uint64_t begin, std::uint64_t end);
    void add_slots(const window& from, window& to, bool has_slot_0);
    void add_type(const type_windows& from, const type_windows& to);
    void copy(const part& one, std::uint64_t at, std::uint64_t bytes) const;

    snapshot_segment& from_;
    segment& to_;
    std::vector<part> parts_;
    std::uint64_t objects_ = 0;
};

/// A page that is lost is one of zeros.
template <typename Words>
Words page_copy::words_of(const window& file, std::size_t at) const {
    const auto words = rows::copy_at<Words>(file.root() + at);
    from_.pages().require_usable();
    return words;
}

/// The new file has a header of its own.
void page_copy::copy_root(const window& from, window& to) const {
    std::memcpy(to.root(), from.root(), window::root_capacity);
    from_.pages().require_usable();
}

void page_copy::add(const window& from, window& to, std::uint64_t begin, std::uint64_t end) {
    copy_root(from, to);
    if (end > from.bytes())
        throw damaged_error(from.file() + ": has " + std::to_string(from.bytes()) +
                            " bytes, but its root block counts " + std::to_string(end) +
                            "; run chainbase-inspect check");
    if (begin < end) parts_.push_back({&from, &to, begin, end});
}

/// Page runs count their pages in the same word.
void page_copy::add_slots(const window& from, window& to, bool has_slot_0) {
    const auto pool = words_of<pool_state>(from);
    const window_header& header = from.header();
    const bool is_empty = pool.high_water <= 1 && !has_slot_0;
    add(from, to, page,
        is_empty ? page : header.first_slot + std::uint64_t{pool.high_water} * header.slot_bytes);
}

void page_copy::add_buffers() {
    std::vector<window*> files;
    to_.buffers().each_window([&](window& file) { files.push_back(&file); });
    auto next = files.begin();
    from_.buffers().each_window(
        [&](const window& file) { add_slots(file, **next++, /*has_slot_0=*/false); });
}

void page_copy::add_types() {
    for (std::size_t number = 0; number < from_.windows().size(); ++number) {
        type_windows& to = to_.open_type(from_.types().entries()[number].schema);
        add_type(*from_.windows()[number], to);
        to_.publish_type(to);
    }
}

void page_copy::add_type(const type_windows& from, const type_windows& to) {
    const auto root = words_of<detail::root_prefix>(*from.objects);
    objects_ += root.pool.live == 0 ? 0 : root.pool.live - 1; // slot 0 counts, too
    add_slots(*from.objects, *to.objects, /*has_slot_0=*/true);
    add(*from.ids, *to.ids, page, page + std::uint64_t{root.next_id} * sizeof(slot_number));
    for (std::size_t number = 0; number < from.tables.size(); ++number) {
        const auto table =
            words_of<hash_state>(*from.objects, sizeof root + number * sizeof(hash_state));
        const std::uint64_t area =
            hash_table::area_offset(std::min(table.log2_capacity, hash_table::max_log2));
        add(*from.tables[number], *to.tables[number], area, 2 * area);
    }
    for (std::size_t number = 0; number < from.btrees.size(); ++number)
        add_slots(*from.btrees[number], *to.btrees[number], /*has_slot_0=*/false);
}

void page_copy::copy(const part& one, std::uint64_t at, std::uint64_t bytes) const {
    one.to->grow_range(at, (bytes + page - 1) / page * page);
    std::memcpy(one.to->base() + at, one.from->base() + at, bytes);
    from_.pages().require_usable();
    if (from_.pages().page_bytes() > most_bytes) from_.pages().give_back();
}

void page_copy::copy(const checkpoint::progress& tell) {
    std::uint64_t all = 0, done = 0;
    for (const part& one : parts_)
        all += one.end - one.begin;
    for (const part& one : parts_) {
        for (std::uint64_t at = one.begin; at < one.end; at += piece_bytes) {
            const std::uint64_t bytes = std::min(piece_bytes, one.end - at);
            copy(one, at, bytes);
            done += bytes;
            if (tell) tell(done, all);
        }
    }
    for (const auto& type : to_.windows()) { // ids that are gone need no memory
        const auto root = rows::copy_at<detail::root_prefix>(type->objects->root());
        id_table(*type->ids).trim(root.next_id);
    }
}

bulk_load::new_state::limits limits_of(const segment_header& header, std::string readers_group) {
    bulk_load::new_state::limits of;
    of.window_bytes = header.window_bytes;
    of.windows = header.windows;
    of.readers_group = std::move(readers_group);
    of.memory_folder = "none"; // there is no checkpoint to restore it from
    return of;
}

/// Of an archive without files of its own, which then has its rows, if any, in the segment.
void copy_archive_kind(const fs::path& state, const fs::path& to) {
    const auto kind = archive::kind_of(state / "archive");
    if (!kind || *kind == archive::store_kind::rocksdb) return;
    private_folder::make_within(to / "archive");
    replace_file(to / "archive" / "format", read_file(state / "archive" / "format"));
    sync_folder(to);
}

std::unique_ptr<snapshot_segment> newest_of(const fs::path& state) {
    return snapshot_segment::take(state, {}, snapshot_segment::lost_page::is_zeros);
}

} // namespace

snapshot_copy::snapshot_copy(fs::path state) : state_(std::move(state)), from_(newest_of(state_)) {}

snapshot_copy::~snapshot_copy() = default;

std::string snapshot_copy::readers_group() const {
    const auto group = private_folder(state_, /*writing=*/false).readers();
    return group ? std::to_string(*group) : "";
}

auto snapshot_copy::make(const fs::path& to, const checkpoint::progress& tell) -> result {
    constexpr unsigned most_tries = 5;
    for (unsigned tries = 1;; ++tries) {
        try {
            return try_to_make(to, tell);
        } catch (const too_old_error& e) {
            if (tries == most_tries)
                throw too_old_error(state_.string() + ": its snapshot got too old in each of " +
                                    std::to_string(most_tries) + " attempts to copy it (" +
                                    e.what() +
                                    "); raise open_options::snapshot_log_bytes of its writer, or "
                                    "copy its newest checkpoint (chainbase-driver backup)");
        } catch (const busy_error&) {
            if (tries == most_tries) throw;
        }
        from_.reset();
        remove_tree(to);
        std::this_thread::sleep_for(std::chrono::milliseconds(10 * tries));
    }
}

auto snapshot_copy::try_to_make(const fs::path& to, const checkpoint::progress& tell) -> result {
    if (!from_) from_ = newest_of(state_);
    bulk_load::new_state made(to, limits_of(from_->header(), readers_group()));
    page_copy pages(*from_, made.memory());
    pages.add_buffers();
    pages.add_types();
    pages.copy(tell);
    result copied{from_->block().revision, from_->windows().size(), pages.objects()};
    from_.reset(); // the writer need not keep its log while the copy is brought to storage
    copy_archive_kind(state_, to);
    made.close(copied.revision);
    made.memory().each_window([&](const window& file) { copied.bytes += file.held_bytes(); });
    return copied;
}

} // namespace chainbase

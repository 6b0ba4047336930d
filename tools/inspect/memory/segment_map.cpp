#include <chainbase/offline/check/slot_checks.hpp>
#include <chainbase/offline/log_contents.hpp>
#include <chainbase/segment/index_base.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/size_classes.hpp>
#include <tools/inspect/memory/segment_map.hpp>
#include <tools/inspect/rows/beside_writer.hpp>
#include <undo/undo_log.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>

namespace chainbase::inspect {

// Which bytes of a segment's files are in use.
//
// Files are read by calls, not through mappings: when a writer truncates one, a read fails where a
// mapped access would kill the process, and reading fills no hole. Links out of a file, or followed
// twice, end a walk, whatever a writer does meanwhile; inconsistencies are added to the findings as
// text. io_error when a file is shorter than when it was mapped.
namespace {

using detail::root_prefix;
using findings_list = std::vector<std::string>;

constexpr std::uint64_t page_bytes = window_map::page_bytes;
constexpr std::uint64_t root_offset = sizeof(window_header);

/// Reads the file of a window, page by page. Caches some of the last pages, since neighbours in a
/// free list are often neighbours in the file. Not thread-safe.
class file_pages {
public:
    /// `file` must outlive it.
    explicit file_pages(const window& file) : file_(file), kept_(lines * page_bytes) {
        numbers_.fill(none);
    }

    /// The value at an offset; it must not cross the end of a page. Throws io_error.
    template <typename T>
    [[nodiscard]] T at(std::uint64_t offset) {
        T copy;
        std::memcpy(&copy, page(offset / page_bytes) + offset % page_bytes, sizeof copy);
        return copy;
    }

    /// Calls visit(offset, entry) for the entries in [begin, end), in order. Throws io_error.
    template <typename Entry, typename Visitor>
    void each(std::uint64_t begin, std::uint64_t end, Visitor&& visit) {
        std::vector<Entry> block(block_bytes / sizeof(Entry));
        while (begin < end) {
            const std::uint64_t length = std::min<std::uint64_t>(block_bytes, end - begin);
            file_.read(begin, std::as_writable_bytes(std::span(block)).first(length));
            for (std::size_t i = 0; i < length / sizeof(Entry); ++i)
                visit(begin + i * sizeof(Entry), block[i]);
            begin += length;
        }
    }

private:
    static constexpr std::size_t lines = 256;
    static constexpr std::size_t block_bytes = std::size_t{256} << 10;
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    const std::byte* page(std::uint64_t number) {
        const std::size_t line = number % lines;
        std::byte* const place = kept_.data() + line * page_bytes;
        if (numbers_[line] == number) return place;
        numbers_[line] = none;
        file_.read(number * page_bytes, {place, page_bytes});
        numbers_[line] = number;
        return place;
    }

    const window& file_;
    std::vector<std::byte> kept_;
    std::array<std::uint64_t, lines> numbers_;
};

/// Some file systems report allocated but unwritten ranges as holes, too.
std::vector<bool> holes_of(const std::filesystem::path& path, std::uint64_t bytes) {
    std::vector<bool> holes(bytes / page_bytes, false);
    const file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.number() < 0) throw_file_error(path, "open");
    const auto end = static_cast<off_t>(bytes);
    off_t hole = ::lseek(file.number(), 0, SEEK_HOLE);
    while (hole >= 0 && hole < end) {
        const off_t data = ::lseek(file.number(), hole, SEEK_DATA); // none: a hole to the end
        const off_t last = data < 0 ? end : std::min(data, end);
        std::fill(holes.begin() + static_cast<std::ptrdiff_t>(hole / page_bytes),
                  holes.begin() + static_cast<std::ptrdiff_t>(last / page_bytes), true);
        hole = ::lseek(file.number(), last, SEEK_HOLE);
    }
    return holes;
}

/// A map of a file in which only the header page is known to be in use.
window_map blank(const std::filesystem::path& path, std::uint64_t bytes) {
    window_map map;
    map.name = path.filename().string();
    map.bytes = bytes;
    map.header_bytes = map.end = page_bytes;
    map.in_use.assign(bytes / page_bytes, 0);
    map.is_hole = holes_of(path, bytes);
    map.fill(0, page_bytes);
    return map;
}

window_map blank(const window& file, const char* kind) {
    window_map map = blank(file.file(), file.bytes());
    map.kind = kind;
    map.slot_bytes = file.header().slot_bytes;
    return map;
}

/// Marks slots [reserved, end) except the `free` ones as in use.
void enter_slots(window_map& map, std::uint64_t capacity, const std::vector<bool>& is_free) {
    map.slots.reserved = std::min<std::uint64_t>(1, capacity);
    map.slots.never_used = capacity - std::min<std::uint64_t>(capacity, is_free.size());
    map.end = std::min(map.bytes, page_bytes + is_free.size() * map.slot_bytes);
    for (std::size_t slot = 1; slot < is_free.size(); ++slot) {
        ++(is_free[slot] ? map.slots.free : map.slots.used);
        if (!is_free[slot]) map.fill(page_bytes + slot * map.slot_bytes, map.slot_bytes);
    }
}

void compare(const window_map& map, const char* what, std::uint64_t found, std::uint64_t counted,
             findings_list& to) {
    if (found != counted)
        to.push_back(fmt::format("{}: {} {} were found, but {} are counted", map.name, found, what,
                                 counted));
}

/// The number of used slots of a pool that lie within the file.
std::uint64_t used_slots(const window_map& map, std::uint64_t high_water, std::uint64_t capacity,
                         findings_list& to) {
    const std::uint64_t most = std::max<std::uint64_t>(capacity, 1);
    if (high_water >= 1 && high_water <= most) return high_water;
    to.push_back(
        fmt::format("{}: {} slots were used, but the file has {}", map.name, high_water, capacity));
    return std::clamp<std::uint64_t>(high_water, 1, most);
}

std::vector<bool> free_slots(file_pages& pages, const window_map& map, slot_number first,
                             std::uint64_t end, findings_list& to) {
    std::vector<bool> is_free(end, false);
    for (slot_number slot = first; slot != 0;) {
        if (slot >= end || is_free[slot]) {
            to.push_back(fmt::format("{}: its free list leads to slot {}", map.name, slot));
            break;
        }
        is_free[slot] = true;
        slot = pages.at<slot_number>(page_bytes + std::uint64_t{slot} * map.slot_bytes);
    }
    return is_free;
}

/// Their starts rise, so the walk ends.
std::vector<bool> free_pages(file_pages& pages, const window_map& map, slot_number first,
                             std::uint64_t end, findings_list& to) {
    std::vector<bool> is_free(end, false);
    std::uint64_t least = 1;
    for (slot_number at = first; at != 0;) {
        const auto run = at < end ? pages.at<free_run>(at * page_bytes) : free_run{0, 0};
        if (at < least || run.pages == 0 || std::uint64_t{at} + run.pages > end) {
            to.push_back(fmt::format("{}: its list of free runs leads to {} pages at page {}",
                                     map.name, run.pages, at));
            break;
        }
        std::fill_n(is_free.begin() + at, run.pages, true);
        least = std::uint64_t{at} + run.pages + 1;
        at = run.next;
    }
    return is_free;
}

/// Returns the slots referenced by the ids below `next_id`, all others free; `ids` becomes the map
/// of that table.
std::vector<bool> read_ids(const window& file, std::uint64_t next_id, std::uint64_t slots,
                           window_map& ids, findings_list& to) {
    std::vector<bool> is_free(slots, true);
    const std::uint64_t capacity = (ids.bytes - page_bytes) / sizeof(slot_number);
    const std::uint64_t given = std::min(next_id, capacity);
    compare(ids, "ids", given, next_id, to);
    ids.end = page_bytes + given * sizeof(slot_number);
    std::uint64_t astray = 0;
    file_pages(file).each<slot_number>(page_bytes, ids.end,
                                       [&](std::uint64_t offset, slot_number slot) {
                                           if (slot == 0) return;
                                           ++ids.slots.used;
                                           ids.fill(offset, sizeof slot);
                                           if (slot >= slots || !is_free[slot])
                                               ++astray;
                                           else
                                               is_free[slot] = false;
                                       });
    ids.slots.free = given - ids.slots.used;
    ids.slots.never_used = capacity - given;
    compare(ids, "entries that lead to no object of their own", astray, 0, to);
    return is_free;
}

/// Smaller areas, needed only for an undo, count as free.
window_map scan_table(const window& file, const hash_state& state, findings_list& to) {
    window_map map = blank(file, "hash");
    const std::uint64_t capacity = (map.bytes - page_bytes) / map.slot_bytes;
    const std::uint64_t begin =
        std::min(map.bytes, hash_table::entry_bytes << std::min(state.log2_capacity, 32U));
    map.end = std::min(map.bytes, 2 * begin); // an area's offset equals its length
    struct entry {
        slot_number slot;
        std::uint32_t hash;
    };
    file_pages(file).each<entry>(begin, map.end, [&](std::uint64_t offset, const entry& one) {
        if (one.slot == 0) return;
        ++map.slots.used;
        map.fill(offset, sizeof one);
    });
    map.slots.free = (map.end - page_bytes) / map.slot_bytes - map.slots.used;
    map.slots.never_used = capacity - map.slots.used - map.slots.free;
    compare(map, "entries", map.slots.used, state.used, to);
    return map;
}

/// Marks the bytes between the oldest session and the tail; returns their number of chunks, at
/// least the tail's own.
std::uint64_t fill_log(file_pages& pages, const log_words& words, window_map& map,
                       findings_list& to) {
    const std::uint64_t chunks = (map.end - page_bytes) / map.slot_bytes;
    std::uint64_t linked = 0;
    for (log_position at = words.tail; linked < chunks; ++linked) {
        if (at <= page_bytes || at > map.end) {
            to.push_back(fmt::format("{}: it leads to {}, which is not in it", map.name, at));
            return linked;
        }
        const slot_number chunk = log_walk::chunk_of(at);
        const std::uint64_t begin = log_walk::chunk_begin(chunk);
        const bool is_last = words.oldest == 0 || chunk == log_walk::chunk_of(words.oldest);
        const std::uint64_t from = is_last ? std::max(begin, words.oldest) : begin;
        const std::uint64_t until = linked == 0 ? at : begin + map.slot_bytes;
        if (words.oldest != 0 && from < until) map.fill(from, until - from);
        if (is_last) return linked + 1;
        at = pages.at<log_walk::chunk_header>(begin).previous_end;
    }
    to.push_back(map.name + ": its chunks form a cycle");
    return linked;
}

/// The segment's header.
window_map scan_header(const std::filesystem::path& file) {
    std::error_code failure;
    const std::uint64_t bytes = std::filesystem::file_size(file, failure);
    if (failure) throw_file_error(file, "examine");
    window_map map = blank(file, bytes);
    map.kind = "header";
    map.fill(page_bytes, bytes - page_bytes);
    map.header_bytes = map.end = bytes;
    return map;
}

/// The log: the bytes between the oldest session and the tail are in use. Slots are chunks.
window_map scan_log(const window& file, findings_list& findings) {
    window_map map = blank(file, "undo_log");
    file_pages pages(file);
    const auto words = pages.at<log_words>(root_offset);
    const std::uint64_t capacity = (map.bytes - page_bytes) / map.slot_bytes;
    const std::uint64_t used = used_slots(map, words.chunks.high_water, capacity, findings);
    map.end = std::min(map.bytes, page_bytes + used * map.slot_bytes);
    map.slots.used = fill_log(pages, words, map, findings);
    map.slots.free = std::min(capacity, used) - map.slots.used;
    map.slots.never_used = capacity - std::min(capacity, used);
    compare(map, "chunks", map.slots.used, words.chunks.live, findings);
    return map;
}

/// A class of buffers, or the nodes of a btree key: slots outside the free list are in use.
window_map scan_pool(const window& file, const char* kind, const char* what,
                     findings_list& findings) {
    window_map map = blank(file, kind);
    file_pages pages(file);
    const auto pool = pages.at<pool_state>(root_offset);
    const std::uint64_t capacity = (map.bytes - page_bytes) / map.slot_bytes;
    const std::uint64_t end = used_slots(map, pool.high_water, capacity, findings);
    enter_slots(map, capacity, free_slots(pages, map, pool.free_head, end, findings));
    compare(map, what, map.slots.used + 1, pool.live, findings);
    return map;
}

/// The page runs: pages outside the free list are in use. Slots are pages.
window_map scan_runs(const window& file, findings_list& findings) {
    window_map map = blank(file, "runs");
    file_pages pages(file);
    const auto words = pages.at<runs_words>(root_offset);
    const std::uint64_t capacity = map.bytes / page_bytes;
    const std::uint64_t end = used_slots(map, words.end, capacity, findings);
    const std::vector<bool> is_free = free_pages(pages, map, words.first_free, end, findings);
    map.end = end * page_bytes;
    map.slots.reserved = 1;
    map.slots.never_used = capacity - end;
    for (std::size_t page = 1; page < end; ++page) {
        ++(is_free[page] ? map.slots.free : map.slots.used);
        if (!is_free[page]) map.fill(page * page_bytes, page_bytes);
    }
    compare(map, "pages", map.slots.used, words.live, findings);
    return map;
}

/// The files of a type: objects, ids, one per hashed or btree key. Objects referenced by the table
/// of ids are in use.
std::vector<window_map> scan_type(const type_windows& type, const type_schema& schema,
                                  findings_list& findings) {
    file_pages pages(*type.objects);
    const auto root = pages.at<root_prefix>(root_offset);
    std::vector<window_map> maps;
    maps.push_back(blank(*type.objects, "objects"));
    maps.push_back(blank(*type.ids, "ids"));
    window_map& objects = maps.front();
    const std::uint64_t capacity = (objects.bytes - page_bytes) / schema.node_bytes;
    const std::uint64_t end = used_slots(objects, root.pool.high_water, capacity, findings);
    enter_slots(objects, capacity, read_ids(*type.ids, root.next_id, end, maps.back(), findings));
    objects.header_bytes = std::min<std::uint64_t>(objects.bytes, page_bytes + schema.node_bytes);
    objects.fill(page_bytes, schema.node_bytes);
    compare(objects, "objects", objects.slots.used + 1, root.pool.live, findings);
    for (std::size_t t = 0; t < type.tables.size(); ++t)
        maps.push_back(scan_table(
            *type.tables[t],
            pages.at<hash_state>(root_offset + sizeof(root_prefix) + t * sizeof(hash_state)),
            findings));
    for (const auto& tree : type.btrees)
        maps.push_back(scan_pool(*tree, "btree", "nodes", findings));
    for (window_map& map : maps)
        map.type = schema.name;
    return maps;
}

std::vector<window_map> scan_windows(segment& from, std::vector<std::string>& findings) {
    std::vector<window_map> maps;
    maps.push_back(scan_header(from.folder() / "header"));
    maps.push_back(scan_log(from.log_file(), findings));
    for (std::size_t t = 0; t < from.windows().size(); ++t)
        std::ranges::move(scan_type(*from.windows()[t], from.types().entries()[t].schema, findings),
                          std::back_inserter(maps));
    from.buffers().each_window([&](const window& file) {
        const bool is_runs = file.header().kind == static_cast<std::uint32_t>(window_kind::runs);
        maps.push_back(is_runs ? scan_runs(file, findings)
                               : scan_pool(file, "buffers", "buffers", findings));
    });
    return maps;
}

segment_map sample_map(segment& from) {
    segment_map found;
    found.state = from.state();
    found.segment = from.folder();
    from.refresh();
    const std::atomic_ref sequence(const_cast<std::uint64_t&>(from.words().sequence));
    const std::uint64_t before = sequence.load(std::memory_order_acquire);
    found.windows = scan_windows(from, found.discrepancies);
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_unchanged = sequence.load(std::memory_order_relaxed) == before;
    const std::uint64_t all = bytes_in(found.segment);
    found.other_files = all - std::min(all, found.bytes());
    found.consistent = before % 2 == 0 && is_unchanged && found.discrepancies.empty();
    found.condition = condition_of(from);
    return found;
}

segment_map sample_map_until_consistent(segment& from) {
    const patience until;
    for (;; patience::pause()) {
        segment_map found = sample_map(from);
        const bool may_become_so = found.condition == condition::writer_running;
        if (found.consistent || !may_become_so || until.is_over()) return found;
    }
}

} // namespace

void window_map::fill(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t last = std::min(offset + length, in_use.size() * page_bytes);
    while (offset < last) {
        const std::uint64_t number = offset / page_bytes;
        const std::uint64_t until = std::min(last, (number + 1) * page_bytes);
        const std::uint64_t filled = in_use[number] + until - offset;
        in_use[number] = static_cast<std::uint16_t>(std::min<std::uint64_t>(filled, page_bytes));
        offset = until;
    }
}

auto window_map::at(std::size_t number) const noexcept -> page {
    if (number == 0 || number * page_bytes + page_bytes <= header_bytes) return page::header;
    if (in_use[number] > 0) return page::used;
    if (number * page_bytes >= end) return page::never_used;
    return is_hole[number] ? page::punched : page::empty;
}

std::uint64_t window_map::bytes_in_use() const noexcept {
    return std::accumulate(in_use.begin(), in_use.end(), std::uint64_t{0}) - header_bytes;
}

std::uint64_t window_map::count(page what) const noexcept {
    std::uint64_t pages = 0;
    for (std::size_t number = 0; number < in_use.size(); ++number)
        pages += at(number) == what ? 1 : 0;
    return pages;
}

auto window_map::fullness() const noexcept -> histogram {
    histogram counted{};
    for (std::size_t number = 0; number < in_use.size(); ++number) {
        const page what = at(number);
        if (what == page::header || what == page::never_used) continue;
        const std::size_t used = in_use[number];
        // Exactly empty and exactly full pages have their own classes.
        const std::size_t quarter = (4 * used + page_bytes - 1) / page_bytes;
        ++counted[used == page_bytes ? 5 : quarter];
    }
    return counted;
}

auto window_map::longest_free_run() const noexcept -> run {
    run longest;
    run now;
    for (std::size_t number = 0; number < in_use.size(); ++number) {
        const page what = at(number);
        if (what != page::empty && what != page::punched) {
            now = {number + 1, 0};
            continue;
        }
        ++now.pages;
        if (now.pages > longest.pages) longest = now;
    }
    return longest;
}

auto window_map::cells(std::size_t most) const -> std::vector<cell> {
    const std::size_t pages = in_use.size();
    const std::size_t count = std::min(pages, most);
    std::vector<cell> groups(count);
    for (std::size_t group = 0; group < count; ++group) {
        cell& to = groups[group];
        to.first = group * pages / count;
        to.pages = (group + 1) * pages / count - to.first;
        for (std::size_t number = to.first; number < to.first + to.pages; ++number) {
            const page what = at(number);
            to.bytes_in_use += in_use[number];
            to.empty += what == page::empty ? 1 : 0;
            to.punched += what == page::punched ? 1 : 0;
            to.never_used += what == page::never_used ? 1 : 0;
        }
    }
    return groups;
}

std::uint64_t segment_map::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const window_map& each : windows)
        sum += each.bytes;
    return sum;
}

std::uint64_t segment_map::bytes_in_use() const noexcept {
    std::uint64_t sum = 0;
    for (const window_map& each : windows)
        sum += each.bytes_in_use();
    return sum;
}

segment_map read_segment_map(const std::filesystem::path& state) {
    return look_beside_writer(state, sample_map_until_consistent);
}

} // namespace chainbase::inspect

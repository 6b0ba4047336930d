#include <pool_allocator/size_classes.hpp>
#include <tools/inspect/memory/segment_map.hpp>
#include <tools/inspect/memory/window_scan.hpp>
#include <tools/inspect/rows/beside_writer.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>

namespace chainbase::inspect {

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
        // Exactly empty and exactly full pages have classes of their own.
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

namespace {

std::vector<window_map> scan_windows(segment& from, std::vector<std::string>& findings) {
    std::vector<window_map> maps;
    maps.push_back(scan_header(from.folder() / "header"));
    maps.push_back(scan_log(from.log_file(), findings));
    for (std::size_t t = 0; t < from.windows().size(); ++t)
        std::ranges::move(scan_type(*from.windows()[t], from.types().entries()[t].schema, findings),
                          std::back_inserter(maps));
    from.buffers().each_window([&](const window& file) {
        const bool is_runs = file.header().kind == static_cast<std::uint32_t>(window_kind::runs);
        maps.push_back(is_runs ? scan_runs(file, findings) : scan_buffers(file, findings));
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

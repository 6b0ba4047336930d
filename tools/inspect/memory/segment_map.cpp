#include <pool_allocator/size_classes.hpp>
#include <tools/inspect/memory/segment_map.hpp>
#include <tools/inspect/memory/window_scan.hpp>
#include <tools/inspect/rows/beside_writer.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace chainbase::inspect {

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

#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/segment/index_base.hpp>
#include <chainbase/segment/segment.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <undo/log_sample.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace chainbase {

namespace {

using detail::root_prefix;

/// A copy, so that the sums are of one moment.
usage measure_nodes(const window& file, const pool_state& pool, const type_schema& schema) {
    usage used;
    used.total = file.bytes();
    used.header = window_header::page_bytes + schema.node_bytes;
    used.slots_live = pool.live - 1;
    used.slots_free = pool.high_water - pool.live;
    const std::uint64_t slots = (used.total - window_header::page_bytes) / schema.node_bytes;
    used.slots_never_used = slots - pool.high_water;
    used.links = used.slots_live * schema.link_bytes;
    used.values = used.slots_live * schema.value_bytes;
    used.slack = used.total - used.header - used.links - used.values;
    used.find_holes(file);
    return used;
}

type_statistics measure_type(type_windows& type, const type_schema& schema) {
    type_statistics one;
    one.name = type.name;
    const auto root = rows::copy_at<root_prefix>(type.objects->root());
    one.objects = root.pool.live - 1;
    one.next_id = root.next_id;
    one.nodes = measure_nodes(*type.objects, root.pool, schema);
    one.ids = id_table(*type.ids).measure(static_cast<std::uint32_t>(one.objects));
    for (std::size_t t = 0; t < type.tables.size(); ++t) {
        auto state = rows::copy_at<hash_state>(type.objects->root() + sizeof(root_prefix) +
                                               t * sizeof(hash_state));
        one.tables += hash_table(*type.tables[t], state, nullptr).measure();
    }
    for (const auto& tree : type.btrees)
        one.tables += btree::measure(*tree);
    return one;
}

segment_statistics read_once(const segment& from, const log_sample& log) {
    segment_statistics all;
    all.changes = log.changes();
    all.revision = log.revision();
    all.committed_revision = log.committed_revision();
    all.sessions = log.sessions();
    all.log = log.measure();
    all.header = segment::header_bytes;
    all.total = all.header + all.log.total;
    for (std::size_t c = 0; c <= size_classes::class_count; ++c) {
        const bool runs = c == size_classes::class_count;
        const usage used = runs ? from.buffers().measure_runs() : from.buffers().measure_class(c);
        all.buffers.push_back(
            {runs ? "buffers.runs" : "buffers." + std::to_string(size_classes::bytes_of_class(c)),
             used});
        all.total += used.total;
    }
    for (std::size_t t = 0; t < from.windows().size(); ++t) {
        all.types.push_back(measure_type(*from.windows()[t], from.types().entries()[t].schema));
        all.total += all.types.back().total().total;
    }
    return all;
}

[[noreturn]] void throw_unreadable(const window& log) {
    throw damaged_error(log.file() + ": offset 64: the log or its sessions lie outside of its " +
                        std::to_string(log.bytes()) +
                        " bytes; restore the folder from a copy, or replay into a new one");
}

} // namespace

namespace {

/// Reads until nothing changed in between, calling `refresh` before each attempt. What a dead
/// writer left in the middle of a change stays so.
template <typename Refresh>
segment_statistics read_between_changes(const segment& from, std::chrono::milliseconds patience,
                                        Refresh&& refresh) {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    const std::atomic_ref sequence(const_cast<std::uint64_t&>(from.words().sequence));
    for (bool is_alone = false;; is_alone = !from.has_writer()) {
        refresh();
        const std::uint64_t before = sequence.load(std::memory_order_acquire);
        const log_sample log(from.log_file());
        segment_statistics all;
        if (log.is_readable()) all = read_once(from, log);
        std::atomic_thread_fence(std::memory_order_acquire);
        all.consistent = before % 2 == 0 && sequence.load(std::memory_order_relaxed) == before;
        const bool is_last =
            all.consistent || is_alone || std::chrono::steady_clock::now() > give_up;
        if (is_last && !log.is_readable()) throw_unreadable(from.log_file());
        if (is_last) return all;
        std::this_thread::yield();
    }
}

} // namespace

segment_statistics segment_statistics::read(segment& from, std::chrono::milliseconds patience) {
    return read_between_changes(from, patience, [&] { from.refresh(); });
}

segment_statistics segment_statistics::of_writer(const segment& from) {
    return read_between_changes(from, {}, [] {});
}

} // namespace chainbase

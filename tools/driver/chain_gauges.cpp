#include <pool_allocator/trace/trace.hpp>
#include <pool_allocator/trace/trace_histogram.hpp>
#include <tools/driver/chain_gauges.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

namespace chainbase::driver {

namespace {

using archive::lookup;
using archive::rocksdb_statistics;
using archive::statistics_summary;

const trace::counter hits_in_memory("archive.hits_in_memory");
const trace::counter hits("archive.hits");
const trace::counter misses("archive.misses");
const trace::counter known_misses("archive.known_misses");
const trace::counter failures("archive.failures");
const trace::counter rows_put("archive.rows");
const trace::counter bytes_put("archive.bytes");
const trace::counter record_bytes("archive.record_bytes");
const trace::counter handed_over("archive.handed_over");
const trace::counter block_hits("archive.block_cache_hits");
const trace::counter block_misses("archive.block_cache_misses");
const trace::counter filter_hits("archive.filter_hits");
const trace::counter filter_misses("archive.filter_misses");
const trace::counter archive_log_bytes("archive.log_bytes");
const trace::counter flushed_bytes("archive.flushed_bytes");
const trace::counter ingested_bytes("archive.ingested_bytes");
const trace::counter compacted_bytes("archive.compacted_bytes");
const trace::gauge stalled("archive.stalled_seconds");
const trace::gauge largest_batch("archive.largest_batch_rows");
const trace::gauge cache("archive.cache.bytes");
const trace::gauge readers("archive.filters_and_indexes.bytes");
const trace::gauge buffers("archive.buffers.bytes");
const trace::gauge files("archive.files");
const trace::gauge file_bytes("archive.files.bytes");

/// From 64 ns to 17 s in powers of four: fine enough for operators, in few series.
void put_histogram(std::string& to, const char* outcome, const archive::latency_reading& times) {
    constexpr const char* metric = "chainbase_archive_lookup_seconds";
    const auto at = std::back_inserter(to);
    for (unsigned bits = 6; bits <= 34; bits += 2) {
        const std::uint64_t ns = std::uint64_t{1} << bits;
        fmt::format_to(at, "{}_bucket{{outcome=\"{}\",le=\"{:.9g}\"}} {}\n", metric, outcome,
                       static_cast<double>(ns) / 1e9, times.count_below(ns));
    }
    fmt::format_to(at, "{}_bucket{{outcome=\"{}\",le=\"+Inf\"}} {}\n", metric, outcome,
                   times.count());
    fmt::format_to(at, "{}_sum{{outcome=\"{}\"}} {:.9f}\n", metric, outcome,
                   static_cast<double>(times.total_ns()) / 1e9);
    fmt::format_to(at, "{}_count{{outcome=\"{}\"}} {}\n", metric, outcome, times.count());
}

void show_done(const statistics_summary& now, const statistics_summary& before) {
    hits_in_memory.add(now.hits_in_memory.count - before.hits_in_memory.count);
    hits.add(now.hits_in_archive.count - before.hits_in_archive.count);
    misses.add(now.misses.count - before.misses.count);
    known_misses.add(now.known_misses.count - before.known_misses.count);
    failures.add(now.failures - before.failures);
    rows_put.add(now.rows_put - before.rows_put);
    bytes_put.add(now.bytes_put - before.bytes_put);
    record_bytes.add(now.record_bytes_put - before.record_bytes_put);
    handed_over.add(now.objects_handed_over - before.objects_handed_over);
    largest_batch.set(static_cast<double>(now.largest_batch_rows));
}

void show_engine(const rocksdb_statistics& now, const rocksdb_statistics& before) {
    block_hits.add(now.block_hits - before.block_hits);
    block_misses.add(now.block_misses - before.block_misses);
    filter_hits.add(now.filter_hits - before.filter_hits);
    filter_misses.add(now.filter_misses - before.filter_misses);
    archive_log_bytes.add(now.log_bytes - before.log_bytes);
    flushed_bytes.add(now.flushed_bytes - before.flushed_bytes);
    ingested_bytes.add(now.ingested_bytes - before.ingested_bytes);
    compacted_bytes.add(now.compacted_bytes - before.compacted_bytes);
    stalled.set(static_cast<double>(now.stalled_us) / 1e6);
    cache.set(static_cast<double>(now.cache_bytes));
    readers.set(static_cast<double>(now.reader_bytes));
    buffers.set(static_cast<double>(now.buffer_bytes));
    files.set(static_cast<double>(now.files));
    file_bytes.set(static_cast<double>(now.file_bytes));
}

} // namespace

std::string archive_metrics_text(const archive::statistics& figures) {
    constexpr std::array<std::pair<lookup, const char*>, 4> outcomes{
        {{lookup::hit_in_memory, "hit_in_memory"},
         {lookup::hit_in_archive, "hit_in_archive"},
         {lookup::miss, "miss"},
         {lookup::known_miss, "known_miss"}}};
    std::string text =
        "# HELP chainbase_archive_lookup_seconds How long lookups of objects took "
        "that may be archived; of those that need no look into the archive 1 in 64 is measured.\n"
        "# TYPE chainbase_archive_lookup_seconds histogram\n";
    for (const auto& [outcome, name] : outcomes)
        put_histogram(text, name, figures.lookups(outcome).measured());
    return text;
}

void archive_gauges::show(const archive::store& rows) {
    const statistics_summary now = rows.stats().summarized();
    show_done(now, std::exchange(shown_, now));
    const auto engine = archive::engine_of(rows);
    if (engine) show_engine(*engine, std::exchange(engine_shown_, *engine));
}

namespace {

const trace::gauge head("chain.head.block");
const trace::gauge irreversible("chain.irreversible.block");
const trace::gauge operations("chain.operations");
const trace::gauge archived("chain.archived.objects");
const trace::gauge segment_bytes("segment.bytes");
const trace::gauge undo_log_bytes("segment.undo_log.bytes");
const trace::gauge checkpoints_made("checkpoint.made");
const trace::gauge checkpoints_failed("checkpoint.failed");
const trace::gauge redo_blocks("redo.blocks");
const trace::gauge redo_failed("redo.failed");
const trace::gauge redo_waiting("redo.waiting_bytes");
const trace::gauge redo_durable("redo.durable_revision");
const trace::gauge checkpoint_seconds("checkpoint.seconds");
const trace::gauge checkpoint_pause("checkpoint.pause_seconds");
const trace::gauge checkpoint_bytes("checkpoint.bytes");

} // namespace

void chain_gauges::update(const chain_state& state) {
    if (!trace::enabled()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(1);
    show(state);
}

void chain_gauges::show(const chain_state& state) {
    if (!trace::enabled()) return;
    head.set(static_cast<double>(state.head()));
    irreversible.set(static_cast<double>(state.irreversible()));
    operations.set(static_cast<double>(state.operations()));
    std::int64_t left = 0;
    for (const auto& [type, objects] : state.model().archived())
        left += objects;
    archived.set(static_cast<double>(left));
    const checkpoint::history checkpoints = state.checkpoints();
    checkpoints_made.set(static_cast<double>(checkpoints.made));
    checkpoints_failed.set(static_cast<double>(checkpoints.failed));
    const checkpoint::outcome last = checkpoints.last.value_or(checkpoint::outcome());
    checkpoint_seconds.set(last.seconds);
    checkpoint_pause.set(last.pause_seconds);
    checkpoint_bytes.set(static_cast<double>(last.bytes));
    const checkpoint::redo_history redo = checkpoints.redo.value_or(checkpoint::redo_history());
    redo_blocks.set(static_cast<double>(redo.blocks));
    redo_failed.set(static_cast<double>(redo.failed));
    redo_waiting.set(static_cast<double>(redo.waiting_bytes));
    redo_durable.set(static_cast<double>(redo.durable));
    archive_.show(state.rows());
    const segment_statistics memory = state.memory();
    segment_bytes.set(static_cast<double>(memory.total));
    undo_log_bytes.set(static_cast<double>(memory.log.total));
    for (const type_statistics& type : memory.types) {
        set("type.bytes", type.name, static_cast<double>(type.total().total));
        set("type.objects", type.name, static_cast<double>(type.objects));
    }
}

void chain_gauges::set(const std::string& name, const std::string& type, double value) {
    const auto known = of_types_.try_emplace({name, type}, name, trace::label("type", type)).first;
    known->second.set(value);
}

} // namespace chainbase::driver

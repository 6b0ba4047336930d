#include <tools/archive_figures.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>

namespace chainbase {

namespace {

using json = nlohmann::ordered_json;
using archive::times_summary;

double us(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e3;
}

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

std::string in_words(std::uint64_t ns) {
    return duration_in_words(seconds(ns));
}

json times_of(const times_summary& all) {
    return {{"count", all.count},
            {"measured", all.measured},
            {"seconds", seconds(all.total_ns)},
            {"p50_us", us(all.p50_ns)},
            {"p99_us", us(all.p99_ns)},
            {"p999_us", us(all.p999_ns)},
            {"longest_us", us(all.longest_ns)}};
}

std::string row(const std::string& name, const std::string& value) {
    return fmt::format("  {:<28}{:>16}\n", name, value);
}

std::string row(const std::string& name, std::uint64_t value) {
    return row(name, grouped(value));
}

std::string row(const std::string& name, const times_summary& all) {
    if (all.count == 0) return row(name, 0);
    return fmt::format("  {:<28}{:>16}   p50 {}, p99 {}, p99.9 {}, longest {}; {} in all\n", name,
                       grouped(all.count), in_words(all.p50_ns), in_words(all.p99_ns),
                       in_words(all.p999_ns), in_words(all.longest_ns), in_words(all.total_ns));
}

std::string share(std::uint64_t of, std::uint64_t other) {
    const std::uint64_t all = of + other;
    if (all == 0) return "-";
    return fmt::format("{:.1f} %", 100 * static_cast<double>(of) / static_cast<double>(all));
}

} // namespace

json to_json(const archive::statistics_summary& figures) {
    return {{"hit_in_memory", times_of(figures.hits_in_memory)},
            {"hit_in_archive", times_of(figures.hits_in_archive)},
            {"miss", times_of(figures.misses)},
            {"known_miss", times_of(figures.known_misses)},
            {"failures", figures.failures},
            {"batches", times_of(figures.batches)},
            {"syncs", times_of(figures.syncs)},
            {"rows", figures.rows_put},
            {"rows_unchanged", figures.rows_unchanged},
            {"rows_erased", figures.rows_erased},
            {"bytes", figures.bytes_put},
            {"record_bytes", figures.record_bytes_put},
            {"hand_over",
             {{"objects", figures.objects_handed_over},
              {"largest_batch_rows", figures.largest_batch_rows},
              {"largest_batch_bytes", figures.largest_batch_bytes},
              {"encoding", times_of(figures.encodings)},
              {"writing", times_of(figures.batches)},
              {"waiting", times_of(figures.waits)},
              {"removing", times_of(figures.removals)}}}};
}

json to_json(const archive::rocksdb_statistics& engine) {
    return {{"block_hits", engine.block_hits},
            {"block_misses", engine.block_misses},
            {"filter_hits", engine.filter_hits},
            {"filter_misses", engine.filter_misses},
            {"log_bytes", engine.log_bytes},
            {"flushed_bytes", engine.flushed_bytes},
            {"ingested_bytes", engine.ingested_bytes},
            {"compacted_bytes", engine.compacted_bytes},
            {"stalled_seconds", static_cast<double>(engine.stalled_us) / 1e6},
            {"cache_bytes", engine.cache_bytes},
            {"filter_and_index_bytes", engine.reader_bytes},
            {"hint_bytes", engine.hint_bytes},
            {"buffer_bytes", engine.buffer_bytes},
            {"files", engine.files},
            {"file_bytes", engine.file_bytes}};
}

std::string to_text(const archive::statistics_summary& figures) {
    return row("hits in memory", figures.hits_in_memory) +
           row("hits in the archive", figures.hits_in_archive) + row("misses", figures.misses) +
           row("known misses", figures.known_misses) + row("rows", figures.rows_put) +
           row("bytes of their records", bytes_in_words(figures.record_bytes_put)) +
           row("objects that left memory", figures.objects_handed_over) +
           row("batches: rows made", figures.encodings) + row("batches: written", figures.batches) +
           row("batches: waited for", figures.waits) +
           row("batches: left memory", figures.removals) +
           row("largest batch, rows", figures.largest_batch_rows) + row("syncs", figures.syncs) +
           (figures.failures == 0 ? "" : row("calls that failed", figures.failures));
}

std::string to_text(const archive::rocksdb_statistics& engine) {
    return row("blocks found in the cache", share(engine.block_hits, engine.block_misses)) +
           row("blocks read", engine.block_misses) +
           row("searches that filters saved", engine.filter_hits) +
           row("logged", bytes_in_words(engine.log_bytes)) +
           row("flushed", bytes_in_words(engine.flushed_bytes)) +
           row("ingested", bytes_in_words(engine.ingested_bytes)) +
           row("written by merging", bytes_in_words(engine.compacted_bytes)) +
           row("writers were stalled", in_words(1000 * engine.stalled_us)) +
           row("table files", engine.files) +
           row("bytes of them", bytes_in_words(engine.file_bytes)) +
           row("in memory: block cache", bytes_in_words(engine.cache_bytes)) +
           row("in memory: filters, indexes", bytes_in_words(engine.reader_bytes)) +
           row("in memory: hints", bytes_in_words(engine.hint_bytes)) +
           row("in memory: write buffers", bytes_in_words(engine.buffer_bytes));
}

} // namespace chainbase

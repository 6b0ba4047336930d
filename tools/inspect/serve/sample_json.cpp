#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/serve/sample_json.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

/// What it takes of the machine's memory, or of its disk.
std::uint64_t occupied(const measured& part) {
    return part.bytes.total - std::min(part.bytes.punched, part.bytes.total);
}

json memory_of(const state_report& state) {
    json types = json::array();
    for (const type_report& type : state.types)
        types.push_back(occupied(type.total()));
    const usage bytes = state.total().bytes;
    return {{"header", occupied(state.header)},
            {"log", occupied(state.log)},
            {"buffers", occupied(state.buffers_total())},
            {"types", std::move(types)},
            {"total", occupied(state.total())},
            {"used", bytes.header + bytes.links + bytes.values},
            {"files", state.total().file_bytes}};
}

json objects_of(const state_report& state) {
    json objects = json::array();
    for (const type_report& type : state.types)
        objects.push_back(type.objects);
    return objects;
}

const char* name_of(lock_report::doing what) {
    if (what == lock_report::doing::idle) return "idle";
    return what == lock_report::doing::waiting ? "waiting" : "writing";
}

json locks_of(const lock_report& locks) {
    std::uint64_t reading = 0;
    std::uint64_t waiting = 0;
    double longest = 0;
    for (const lock_report::of_reader& one : locks.readers) {
        reading += one.what == lock_report::doing::inside ? 1 : 0;
        waiting += one.what == lock_report::doing::waiting ? 1 : 0;
        if (one.what == lock_report::doing::waiting) longest = std::max(longest, one.seconds);
    }
    return {{"writer", name_of(locks.writer.what)},
            {"writer_process", locks.writer.process},
            {"writer_alive", locks.writer.is_alive},
            {"writer_seconds", locks.writer.seconds},
            {"readers", locks.readers.size()},
            {"reading", reading},
            {"waiting", waiting},
            {"longest_wait", longest}};
}

json to_json(const live_rates& rates) {
    return {{"operations", rates.operations},
            {"revisions", rates.revisions},
            {"objects", rates.objects},
            {"growth", rates.growth},
            {"archive_finds", rates.archive_finds},
            {"archive_rows", rates.archive_rows}};
}

json to_json(const archive::published_statistics& archive) {
    const archive::statistics_summary& figures = archive.figures;
    return {{"running", archive.closed == 0},
            {"hits", figures.hits_in_archive.count},
            {"misses", figures.misses.count},
            {"rows_put", figures.rows_put},
            {"hit_p99_ns", figures.hits_in_archive.p99_ns}};
}

} // namespace

double unix_seconds(std::chrono::system_clock::time_point when) {
    const auto since = std::chrono::floor<std::chrono::milliseconds>(when).time_since_epoch();
    return static_cast<double>(since.count()) / 1000;
}

json to_json(const live_sample& sample, const std::optional<live_rates>& rates,
             const state_growth& growth) {
    const state_report& state = sample.state;
    return {{"time", unix_seconds(sample.time)},
            {"error", nullptr},
            {"condition", to_string(state.condition)},
            {"writer", state.writer},
            {"consistent", state.consistent},
            {"revision", state.revision},
            {"irreversible_revision", state.irreversible_revision},
            {"sessions", state.sessions},
            {"changes", state.changes},
            {"log_bytes_in_use", state.log.bytes.values},
            {"rates", rates ? to_json(*rates) : json(nullptr)},
            {"used_per_minute", growth.whole.used_bytes},
            {"memory", memory_of(state)},
            {"objects", objects_of(state)},
            {"locks", locks_of(sample.locks)},
            {"archive", sample.archive ? to_json(*sample.archive) : json(nullptr)}};
}

} // namespace chainbase::inspect

#include <tools/archive_figures.hpp>
#include <tools/inspect/serve/sample_json.hpp>
#include <tools/inspect/top/top.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

/// What a lock file or a path holds may be any bytes.
std::string line_of(const json& all) {
    return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json types_of(const top_sample& sample) {
    json types = json::array();
    const std::vector<type_report>& all = sample.now.state.types;
    for (std::size_t each = 0; each < all.size(); ++each) {
        const measured total = all[each].total();
        const state_growth::part& gained = sample.growth.types[each];
        types.push_back(
            {{"name", all[each].name},
             {"objects", all[each].objects},
             {"used_bytes", total.bytes.header + total.bytes.links + total.bytes.values},
             {"slack_bytes", total.bytes.slack},
             {"punched_bytes", total.bytes.punched},
             {"file_bytes", total.file_bytes},
             {"per_minute",
              {{"objects", gained.objects},
               {"used_bytes", gained.used_bytes},
               {"file_bytes", gained.file_bytes}}}});
    }
    return types;
}

json times_of(const archive::latency_histogram& seen) {
    const archive::latency_reading all = seen.read();
    const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
    return {{"count", all.count()},
            {"p50_us", us(all.quantile(0.5))},
            {"p99_us", us(all.quantile(0.99))},
            {"longest_us", us(all.longest_ns())}};
}

json looks_of(const lock_watch& locks) {
    const lock_watch::shares& last = locks.last();
    return {{"looks", last.looks},
            {"writing", last.writing},
            {"writer_waiting", last.writer_waiting},
            {"reading", last.reading},
            {"readers_waiting", last.readers_waiting},
            {"write_turns", times_of(locks.write_turns)},
            {"writer_waits", times_of(locks.writer_waits)},
            {"read_turns", times_of(locks.read_turns)},
            {"reader_waits", times_of(locks.reader_waits)}};
}

json checkpoints_of(const top_sample& sample) {
    json all = json::array();
    for (const checkpoint_info& one : sample.checkpoints)
        all.push_back({{"generation", one.generation},
                       {"revision", one.revision},
                       {"irreversible_revision", one.irreversible_revision},
                       {"time", one.time},
                       {"bytes", one.bytes},
                       {"redo_log", one.has_redo_log}});
    return all;
}

} // namespace

std::string as_json_line(const std::string& state, const top_sample& sample,
                         const lock_watch& locks) {
    json line = {{"schema_version", 1}, {"state", state}};
    line.update(to_json(sample.now, sample.rates, sample.growth));
    line["growth_seconds"] = sample.growth.seconds;
    line["types"] = types_of(sample);
    line["lock_looks"] = looks_of(locks);
    line["archive_times"] =
        sample.now.archive ? chainbase::to_json(sample.now.archive->figures) : json(nullptr);
    line["checkpoints"] = checkpoints_of(sample);
    return line_of(line);
}

std::string as_json_line(const std::string& state, const std::string& failure) {
    const double now = unix_seconds(std::chrono::system_clock::now());
    return line_of({{"schema_version", 1}, {"state", state}, {"time", now}, {"error", failure}});
}

} // namespace chainbase::inspect

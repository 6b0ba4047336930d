#include <tools/block_log/block_log_contents.hpp>
#include <tools/driver/block_log_tools/index_repair.hpp>
#include <tools/driver/block_log_tools/json_line.hpp>

#include <fmt/format.h>

namespace chainbase::driver {

namespace {

std::string in_words(const index_check& saved, const block_log_index& now) {
    if (!saved.index) return saved.reason;
    if (*saved.index == now) return "fits the log";
    return "tells of other records than the log holds";
}

} // namespace

index_repair repair_index(const std::filesystem::path& path, log_progress& shown) {
    const file log = file::open_read(path);
    const block_log_contents contents = read_contents(
        log, {}, {.save_index = false, .use_index = false, .watch = shown.as_watcher()});
    const index_check saved = load_index(index_path(path), contents.header.checksum);
    index_repair report;
    report.chain = contents.header.chain;
    report.before = in_words(saved, contents.index);
    report.changed = !saved.index || *saved.index != contents.index;
    report.records = contents.index.entries().size();
    report.blocks = contents.index.blocks();
    report.records_before = saved.index ? saved.index->entries().size() : 0;
    report.torn_bytes = contents.torn_bytes;
    if (report.changed) {
        log.sync(); // an index vouches for its records: they are on the device before it is saved
        contents.index.save(index_path(path));
    }
    return report;
}

std::string to_json(const index_repair& report) {
    return json_line({{"chain", report.chain},
                      {"before", report.before},
                      {"changed", report.changed},
                      {"records_before", report.records_before},
                      {"records", report.records},
                      {"blocks", report.blocks},
                      {"torn_bytes", report.torn_bytes}});
}

std::string to_text(const index_repair& report) {
    return fmt::format("{}: the index {} ({} records); {}: {} records, {} blocks, {} bytes of torn "
                       "end left out\n",
                       report.chain, report.before, report.records_before,
                       report.changed ? "written anew" : "nothing to write", report.records,
                       report.blocks, report.torn_bytes);
}

} // namespace chainbase::driver

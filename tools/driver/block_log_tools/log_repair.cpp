#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/driver/block_log_tools/log_pieces.hpp>
#include <tools/driver/block_log_tools/log_repair.hpp>
#include <tools/driver/block_log_tools/record_walk.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>

#include <utility>

namespace chainbase::driver {

namespace {

std::string in_words(const index_check& saved, const block_log_index& now) {
    if (!saved.index) return saved.reason;
    if (*saved.index == now) return "fits the log";
    return "lists other records than the log holds";
}

} // namespace

index_repair repair_index(const std::filesystem::path& path, progress& shown) {
    const file log = file::open_read(path);
    const block_log_contents contents = read_contents(
        log, {}, {.save_index = false, .use_index = false, .watch = shown.as_callback()});
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
        log.sync(); // an index vouches for its records: sync them before it is saved
        contents.index.save(index_path(path));
    }
    return report;
}

std::string to_text(const index_repair& report) {
    return fmt::format("{}: the index {} ({} records); {}: {} records, {} blocks, {} bytes of torn "
                       "end left out\n",
                       report.chain, report.before, report.records_before,
                       report.changed ? "written anew" : "nothing to write", report.records,
                       report.blocks, report.torn_bytes);
}

namespace {

constexpr std::size_t max_listed = 100;

void add_lost(salvage_report& report, lost_stretch lost) {
    report.lost_bytes += lost.bytes;
    if (++report.lost_count <= max_listed) report.lost.push_back(std::move(lost));
}

usage_error nothing_good(const file& log, const char* what_to_do) {
    return usage_error(log.path().string() + ": no block can be saved" + what_to_do);
}

void save_beginning(const salvage_options& options, const file& log, record_walk& walk,
                    salvage_report& report) {
    unfinished_log made(options.to, report.chain);
    auto step = walk.next();
    for (; step.record; step = walk.next())
        made.append(std::move(*step.record));
    if (step.lost) {
        report.left_bytes = log.size() - step.lost->offset - step.lost->bytes;
        add_lost(report, std::move(*step.lost));
        while (step.lost) // finds the next good block, for the report
            step = walk.next();
        if (step.record) end_before(step.record->first_number(), report.lost);
    }
    if (made.count() == 0)
        throw nothing_good(log, " before the damage; what follows it can be with --to-folder");
    made_log saved{options.to, made.first_number().value(), made.head_number().value(),
                   made.count(), 0};
    saved.bytes = made.finish();
    report.logs.push_back(std::move(saved));
}

void save_pieces(const salvage_options& options, const file& log, record_walk& walk,
                 salvage_report& report) {
    log_pieces made(options.to_folder, report.chain);
    bool any = false;
    for (auto step = walk.next(); step.record || step.lost; step = walk.next()) {
        if (step.record) {
            end_before(step.record->first_number(), report.lost);
            made.append(std::move(*step.record));
            any = true;
        } else {
            made.end_piece();
            add_lost(report, std::move(*step.lost));
        }
    }
    if (!any) throw nothing_good(log, "");
    report.logs = made.finish();
}

} // namespace

salvage_report salvage_log(const salvage_options& options, progress& shown) {
    const file log = file::open_read(options.log);
    salvage_report report;
    report.chain = read_log_header(log, {}).chain;
    record_walk walk(log, shown.as_callback());
    if (options.to_folder.empty())
        save_beginning(options, log, walk, report);
    else
        save_pieces(options, log, walk, report);
    return report;
}

std::string to_text(const salvage_report& report) {
    std::string text = to_text(static_cast<const made_logs&>(report));
    for (const lost_stretch& one : report.lost)
        text += "lost: " + to_text(one) + "\n";
    if (report.lost_count > report.lost.size())
        text += fmt::format("and {} more\n", report.lost_count - report.lost.size());
    if (report.lost_count == 0) text += "nothing is lost: the log is good\n";
    if (report.left_bytes != 0)
        text += fmt::format("{} bytes after the damage are not copied; --to-folder also makes "
                            "logs of the good blocks there\n",
                            report.left_bytes);
    return text;
}

} // namespace chainbase::driver

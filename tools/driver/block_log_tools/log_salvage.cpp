#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/driver/block_log_tools/json_line.hpp>
#include <tools/driver/block_log_tools/log_pieces.hpp>
#include <tools/driver/block_log_tools/log_salvage.hpp>
#include <tools/driver/block_log_tools/lost_stretch_report.hpp>

#include <fmt/format.h>

#include <utility>

namespace chainbase::driver {

namespace {

constexpr std::size_t most_listed = 100;

void add_lost(salvage_report& report, lost_stretch lost) {
    report.lost_bytes += lost.bytes;
    if (++report.lost_count <= most_listed) report.lost.push_back(std::move(lost));
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
        while (step.lost) // the next good block, for the report
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

salvage_report salvage_log(const salvage_options& options, log_progress& shown) {
    const file log = file::open_read(options.log);
    salvage_report report;
    report.chain = read_log_header(log, {}).chain;
    record_walk walk(log, shown.as_watcher());
    if (options.to_folder.empty())
        save_beginning(options, log, walk, report);
    else
        save_pieces(options, log, walk, report);
    return report;
}

std::string to_json(const salvage_report& report) {
    nlohmann::ordered_json json = json_of(report.chain, report.logs);
    json["lost_count"] = report.lost_count;
    json["lost_bytes"] = report.lost_bytes;
    json["lost"] = to_json(report.lost);
    json["left_bytes"] = report.left_bytes;
    return json_line(json);
}

std::string to_text(const salvage_report& report) {
    std::string text = to_text(report.chain, report.logs);
    for (const lost_stretch& one : report.lost)
        text += "lost: " + to_text(one) + "\n";
    if (report.lost_count > report.lost.size())
        text += fmt::format("and {} more\n", report.lost_count - report.lost.size());
    if (report.lost_count == 0) text += "nothing is lost: the log is good\n";
    if (report.left_bytes != 0)
        text += fmt::format("{} bytes behind the damage are not copied; --to-folder makes logs of "
                            "what is good there, too\n",
                            report.left_bytes);
    return text;
}

} // namespace chainbase::driver

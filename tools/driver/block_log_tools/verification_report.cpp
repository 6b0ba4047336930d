#include <tools/driver/block_log_tools/json_line.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>
#include <tools/driver/block_log_tools/lost_stretch_report.hpp>

#include <fmt/format.h>

namespace chainbase::driver {

namespace {

using json = nlohmann::ordered_json;

json to_json(const log_verification::good_run& run) {
    return {{"offset", run.offset},
            {"bytes", run.bytes},
            {"first", run.first},
            {"last", run.last},
            {"blocks", run.blocks}};
}

json to_json(const std::vector<log_verification::good_run>& all) {
    json result = json::array();
    for (const auto& one : all)
        result.push_back(to_json(one));
    return result;
}

std::string more(std::uint64_t count, std::size_t listed) {
    return count > listed ? fmt::format("            and {} more\n", count - listed)
                          : std::string();
}

} // namespace

std::string to_json(const log_verification& found) {
    json report{{"chain", found.chain},
                {"good", found.good()},
                {"bytes", found.bytes},
                {"records", found.records},
                {"blocks", found.blocks},
                {"transactions", found.transactions},
                {"operations", found.operations},
                {"operations_checked", found.operations_checked},
                {"torn_end", found.torn_end ? to_json(*found.torn_end) : json(nullptr)},
                {"lost_count", found.lost_count},
                {"lost", to_json(found.lost)},
                {"fault_count", found.fault_count},
                {"faults", found.faults},
                {"survives_count", found.run_count},
                {"survives", to_json(found.runs)},
                {"index", found.index},
                {"mark", found.mark}};
    return json_line(report);
}

std::string to_text(const log_verification& found) {
    std::string text = fmt::format("{}: {}\n", found.chain, found.good() ? "good" : "NOT GOOD");
    text += fmt::format("good        {} blocks in {} records, {} operations{}\n", found.blocks,
                        found.records, found.operations,
                        found.operations_checked ? ", all looked at" : "");
    for (const lost_stretch& lost : found.lost)
        text += "lost        " + to_text(lost) + "\n";
    text += more(found.lost_count, found.lost.size());
    for (const std::string& fault : found.faults)
        text += "fault       " + fault + "\n";
    text += more(found.fault_count, found.faults.size());
    for (const auto& run : found.runs)
        text += fmt::format("survives    {} blocks, {} to {}, bytes {} to {}\n", run.blocks,
                            run.first, run.last, run.offset, run.offset + run.bytes - 1);
    text += more(found.run_count, found.runs.size());
    if (found.torn_end)
        text += "torn end    " + to_text(*found.torn_end) + " (left out by readers, no damage)\n";
    text += "index       " + found.index + "\nmark        " + found.mark + "\n";
    if (found.lost_count != 0)
        text += "Get the log again from a good copy, or keep what survives: block-log salvage\n";
    return text;
}

} // namespace chainbase::driver

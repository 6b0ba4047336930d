#include <tools/block_log/log_record.hpp>
#include <tools/driver/block_log_tools/json_line.hpp>
#include <tools/driver/block_log_tools/log_copy.hpp>

#include <fmt/format.h>

namespace chainbase::driver {

void copy_blocks(log_record record, const block_range& range, unfinished_log& to) {
    if (range.contains(record.first_number()) && range.contains(record.last_number()))
        return to.append(std::move(record));
    record_blocks blocks(record);
    while (const auto next = blocks.next())
        if (range.contains(next->number)) to.append(*next);
}

nlohmann::ordered_json json_of(const std::string& chain, const std::vector<made_log>& made) {
    nlohmann::ordered_json report{{"chain", chain}, {"logs", nlohmann::ordered_json::array()}};
    for (const made_log& one : made)
        report["logs"].push_back({{"path", one.path.string()},
                                  {"first", one.first},
                                  {"last", one.last},
                                  {"blocks", one.blocks},
                                  {"bytes", one.bytes}});
    return report;
}

std::string to_json(const std::string& chain, const std::vector<made_log>& made) {
    return json_line(json_of(chain, made));
}

std::string to_text(const std::string& chain, const std::vector<made_log>& made) {
    std::string text;
    for (const made_log& one : made)
        text += fmt::format("{}: {} blocks of {}, {} to {}, {} bytes\n", one.path.string(),
                            one.blocks, chain, one.first, one.last, one.bytes);
    return text;
}

} // namespace chainbase::driver

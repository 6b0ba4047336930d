#include <tools/driver/block_log_tools/lost_stretch_report.hpp>

#include <fmt/format.h>

namespace chainbase::driver {

using json = nlohmann::ordered_json;

namespace {

json number(const std::optional<std::uint64_t>& one) {
    return one ? json(*one) : json(nullptr);
}

} // namespace

json to_json(const lost_stretch& lost) {
    return {{"offset", lost.offset},
            {"bytes", lost.bytes},
            {"block_before", number(lost.block_before)},
            {"block_after", number(lost.block_after)},
            {"reason", lost.reason}};
}

json to_json(const std::vector<lost_stretch>& all) {
    json result = json::array();
    for (const lost_stretch& one : all)
        result.push_back(to_json(one));
    return result;
}

std::string to_text(const lost_stretch& lost) {
    std::string text = fmt::format("{} bytes at byte {}", lost.bytes, lost.offset);
    text += lost.block_before ? fmt::format(", behind block {}", *lost.block_before)
                              : std::string(", before any good block");
    if (lost.block_after) text += fmt::format(", up to block {}", *lost.block_after);
    return text + ": " + lost.reason;
}

} // namespace chainbase::driver

#include <tools/block_log/block_log_format.hpp>
#include <tools/driver/block_log_tools/json_line.hpp>
#include <tools/driver/block_log_tools/log_info.hpp>
#include <tools/driver/block_log_tools/looked_at_log.hpp>
#include <tools/driver/block_log_tools/operation_count.hpp>
#include <tools/driver/progress.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace chainbase::driver {

namespace {

log_info::contents count_blocks(const block_log_reader& log, log_progress& shown) {
    log_info::contents sum;
    block_log_stream blocks = log.stream();
    while (const auto next = blocks.next()) {
        sum.transactions += next->transactions.size();
        sum.operations += operations_in(*next);
        shown.advance(blocks.position(), log.bytes());
    }
    return sum;
}

std::optional<log_info::place> place_of(const block_log_reader& log,
                                        std::optional<std::uint64_t> number) {
    if (!number) return {};
    return log_info::place{*number, log.read(*number).value().timestamp};
}

nlohmann::ordered_json to_json(const std::optional<log_info::place>& place) {
    if (!place) return nullptr;
    return {{"number", place->number}, {"time", place->time}};
}

std::string in_words(const log_info::place& place) {
    constexpr std::int64_t end_of_9999 = 253'402'300'799;
    if (place.time < 0 || place.time > end_of_9999) // no calendar has it
        return fmt::format("{} (time {})", place.number, place.time);
    return fmt::format("{} ({:%Y-%m-%d %H:%M:%S} UTC)", place.number,
                       fmt::gmtime(static_cast<std::time_t>(place.time)));
}

} // namespace

log_info info_of(const std::filesystem::path& path, bool count, log_progress& shown) {
    const block_log_reader log = look_at_log(path, shown);
    log_info info;
    info.chain = log.chain();
    info.format = block_log_format::version;
    info.records = log.records();
    info.blocks = log.count();
    info.first = place_of(log, log.first_number());
    info.last = place_of(log, log.head_number());
    info.bytes = log.bytes();
    info.unpacked_bytes = log.stated_unpacked_bytes();
    info.torn_bytes = log.torn_bytes();
    info.index = log.index_fault().empty() ? "fits the log" : log.index_fault();
    if (count) info.counted = count_blocks(log, shown);
    return info;
}

std::string to_json(const log_info& info) {
    nlohmann::ordered_json report{
        {"chain", info.chain},          {"format", info.format},
        {"records", info.records},      {"blocks", info.blocks},
        {"first", to_json(info.first)}, {"last", to_json(info.last)},
        {"bytes", info.bytes},          {"unpacked_bytes", info.unpacked_bytes},
        {"ratio", info.ratio()},        {"torn_bytes", info.torn_bytes},
        {"index", info.index}};
    if (info.counted) {
        report["transactions"] = info.counted->transactions;
        report["operations"] = info.counted->operations;
    }
    return json_line(report);
}

std::string to_text(const log_info& info) {
    std::string text = fmt::format("chain       {}, format {}\n", info.chain, info.format);
    text += fmt::format("blocks      {} in {} records\n", info.blocks, info.records);
    if (info.first)
        text += fmt::format("first       {}\nlast        {}\n", in_words(*info.first),
                            in_words(*info.last));
    if (info.counted)
        text += fmt::format("operations  {} in {} transactions\n", info.counted->operations,
                            info.counted->transactions);
    text += fmt::format("bytes       {}, unpacked {} (x {:.2f})\n", bytes_in_words(info.bytes),
                        bytes_in_words(info.unpacked_bytes), info.ratio());
    text += fmt::format("torn end    {} bytes\nindex       {}\n", info.torn_bytes, info.index);
    return text;
}

} // namespace chainbase::driver

#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/driver/block_log_tools/record_walk.hpp>

#include <fmt/format.h>

#include <utility>

namespace chainbase::driver {

void end_before(std::uint64_t block, std::vector<lost_stretch>& lost) {
    for (auto at = lost.rbegin(); at != lost.rend() && !at->block_after; ++at)
        at->block_after = block;
}

record_walk::record_walk(const file& log, progress_callback watch, look at)
    : log_(log), end_(log.size()), position_(sizeof(block_log_format::file_header)), budget_(end_),
      watch_(std::move(watch)), look_(std::move(at)) {}

record_walk::step record_walk::next() {
    if (position_ >= end_) return {};
    if (watch_) watch_(position_, end_);
    record_check check = check_record(log_, position_, end_);
    if (!check.record) return search_on(std::move(check.reason));
    if (std::string fault = fault_of(*check.record); !fault.empty())
        return {{}, lose(check.record->end(), std::move(fault))};
    last_number_ = check.record->last_number();
    position_ = check.record->end();
    return {std::move(check.record), {}};
}

/// No length can be trusted here: finds the next record by its bytes.
record_walk::step record_walk::search_on(std::string reason) {
    const auto [found, gave_up] = search_record(log_, position_ + 1, end_, budget_, watch_);
    if (gave_up)
        reason += "; too much after it looks like a record and is not one, so what follows was "
                  "not searched to the end";
    lost_stretch lost = lose(found ? found->offset() : end_, std::move(reason));
    lost.may_be_torn = !found && !gave_up;
    lost.has_no_record = true;
    return {{}, std::move(lost)};
}

lost_stretch record_walk::lose(std::uint64_t end, std::string reason) {
    const std::uint64_t begin = std::exchange(position_, end);
    return {begin, end - begin, std::move(reason), last_number_, {}, false, false};
}

std::string record_walk::fault_of(const log_record& record) const {
    if (last_number_ && record.first_number() <= *last_number_)
        return "block " + std::to_string(record.first_number()) + " is out of order";
    try {
        record_blocks blocks(record);
        while (const auto next = blocks.next())
            if (look_) look_(*next);
        return {};
    } catch (const damaged_error& problem) {
        return problem.what();
    }
}

std::string to_text(const lost_stretch& lost) {
    std::string text = fmt::format("{} bytes at byte {}", lost.bytes, lost.offset);
    text += lost.block_before ? fmt::format(", behind block {}", *lost.block_before)
                              : std::string(", before any good block");
    if (lost.block_after) text += fmt::format(", up to block {}", *lost.block_after);
    return text + ": " + lost.reason;
}

} // namespace chainbase::driver

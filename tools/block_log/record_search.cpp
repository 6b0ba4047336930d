#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/record_search.hpp>

#include <algorithm>
#include <utility>

namespace chainbase {
namespace {

constexpr std::size_t search_window = 1 << 20;

/// Bytes of the record whose header seems to be at `offset`, when its length leads to a trailer
/// that leads back, else 0: asked before a whole record is read and summed, so that many magic
/// numbers without records cost little.
std::uint64_t promised_bytes(const file& log, std::uint64_t offset, std::uint64_t end) {
    using namespace block_log_format;
    bytes raw(sizeof(record_header));
    if (log.read_at(offset, raw) < raw.size()) return 0;
    const auto header = load<record_header>(raw);
    const std::uint64_t packed = header.packed_bytes.value();
    const std::uint64_t size = packed + min_record_bytes;
    if (std::max<std::uint64_t>(packed, header.unpacked_bytes.value()) > max_record_bytes ||
        size > end - offset || header.blocks.value() == 0 ||
        header.first_number.value() > header.last_number.value())
        return 0;
    raw.resize(sizeof(record_trailer));
    if (log.read_at(offset + size - raw.size(), raw) < raw.size()) return 0;
    const auto trailer = load<record_trailer>(raw);
    const bool leads_back =
        trailer.magic.value() == record_end_magic && trailer.record_bytes.value() == size;
    return leads_back ? size : 0;
}

} // namespace

search_result search_record(const file& log, std::uint64_t from, std::uint64_t end,
                            search_budget& budget, const watcher& watch) {
    const block_log_format::little_uint32_buf_t magic(block_log_format::record_magic);
    const auto pattern = std::as_bytes(std::span(&magic, 1));
    bytes window(search_window);
    while (from + block_log_format::min_record_bytes <= end) {
        if (watch) watch(from, end);
        const std::size_t size = log.read_at(from, window);
        const auto last = window.begin() + static_cast<std::ptrdiff_t>(size);
        const auto find = [&](auto at) {
            return std::search(at, last, pattern.begin(), pattern.end());
        };
        for (auto hit = find(window.begin()); hit != last; hit = find(hit + 1)) {
            const std::uint64_t at = from + static_cast<std::uint64_t>(hit - window.begin());
            const std::uint64_t promised = promised_bytes(log, at, end);
            if (promised == 0) continue;
            if (watch) watch(at, end);
            if (!budget.spend(promised)) return {{}, true};
            if (record_check check = check_record(log, at, end); check.record)
                return {std::move(check.record), false};
        }
        if (size < window.size()) break;
        from += size - (pattern.size() - 1); // the pattern may lie across two windows
    }
    return {};
}

} // namespace chainbase

#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/record_search.hpp>

#include <algorithm>
#include <utility>

namespace chainbase {
namespace {

constexpr std::size_t search_window = 1 << 20;

/// Whether the length in the header at `offset` leads to a trailer that leads back: asked before a
/// whole record is read and summed, so that many magic numbers without records cost little.
bool may_begin_at(const file& log, std::uint64_t offset, std::uint64_t end) {
    using namespace block_log_format;
    bytes raw(sizeof(record_header));
    if (log.read_at(offset, raw) < raw.size()) return false;
    const std::uint64_t size = load<record_header>(raw).packed_bytes.value() + min_record_bytes;
    if (size > end - offset) return false;
    raw.resize(sizeof(record_trailer));
    if (log.read_at(offset + size - raw.size(), raw) < raw.size()) return false;
    const auto trailer = load<record_trailer>(raw);
    return trailer.magic.value() == record_end_magic && trailer.record_bytes.value() == size;
}

} // namespace

std::optional<log_record> search_record(const file& log, std::uint64_t from, std::uint64_t end,
                                        const watcher& watch) {
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
            if (!may_begin_at(log, at, end)) continue;
            if (record_check check = check_record(log, at, end); check.record)
                return std::move(check.record);
        }
        if (size < window.size()) break;
        from += size - (pattern.size() - 1); // the pattern may lie across two windows
    }
    return {};
}

} // namespace chainbase

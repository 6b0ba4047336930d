#pragma once

#include <tools/block_log/log_record.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace chainbase {

/// Told now and then how far something long is, in bytes done and in all; may throw to end it.
using watcher = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// What searching may cost: the bytes of all that looks like a record on the way, which a log that
/// was made for it lets overlap without end.
class search_budget {
public:
    /// For a log of so many bytes, however often it is searched.
    explicit search_budget(std::uint64_t bytes) noexcept : left_(4 * bytes) {}

    /// Whether so much was left; it is less then.
    [[nodiscard]] bool spend(std::uint64_t bytes) noexcept {
        if (bytes > left_) return false;
        left_ -= bytes;
        return true;
    }

private:
    std::uint64_t left_;
};

/// What a search came to.
struct search_result {
    std::optional<log_record> record;
    bool gave_up = false; ///< the budget was spent: it cannot be told whether there is one
};

/// The first valid record of the log that begins in [from, end), found by its magic number alone,
/// as after damage no length can be trusted. `watch` is told of all that looks like one.
[[nodiscard]] search_result search_record(const file& log, std::uint64_t from, std::uint64_t end,
                                          search_budget& budget, const watcher& watch = {});

} // namespace chainbase

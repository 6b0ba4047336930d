#pragma once

#include <tools/block_log/file.hpp>
#include <tools/block_log/log_record.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A stretch of a log from which no block can be had.
struct lost_stretch {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string reason;
    std::optional<std::uint64_t> block_before; ///< the last good one
    /// The next good one; nothing up to the log's end. Known when it is come to: see end_before.
    std::optional<std::uint64_t> block_after;
    /// Nothing valid follows, so that it may be the end of a write that a crash cut short.
    bool may_be_torn = false;
    /// No record begins here: what a device that did not keep one leaves.
    bool has_no_record = false;
};
BOOST_DESCRIBE_STRUCT(lost_stretch, (), (offset, bytes, block_before, block_after, reason))

/// For people, in the reports of verify and salvage.
[[nodiscard]] std::string to_text(const lost_stretch& lost);

/// Tells the stretches since the last good block that the next one is `block`.
void end_before(std::uint64_t block, std::vector<lost_stretch>& lost);

/// Goes through a log record by record, without its index and past whatever is wrong in it: every
/// byte behind the header is in a record that is delivered or in a stretch that is.
///
/// A record is good when its checksum is right, its blocks decode and are what it states, and its
/// numbers are above those before it. Holds one record. Not thread-safe.
class record_walk {
public:
    /// Told of every block of a record under examination, in order.
    using look = std::function<void(const block&)>;

    /// Begins behind the header of `log`, which must stay open.
    explicit record_walk(const file& log, watcher watch = {}, look at = {});

    /// What comes next: a record, a stretch, or neither at the end.
    struct step {
        std::optional<log_record> record;
        std::optional<lost_stretch> lost;
    };
    [[nodiscard]] step next();

private:
    lost_stretch lose(std::uint64_t end, std::string reason);
    step search_on(std::string reason);
    [[nodiscard]] std::string fault_of(const log_record& record) const;

    const file& log_;
    std::uint64_t end_;
    std::uint64_t position_;
    search_budget budget_;
    watcher watch_;
    look look_;
    std::optional<std::uint64_t> last_number_;
};

} // namespace chainbase::driver

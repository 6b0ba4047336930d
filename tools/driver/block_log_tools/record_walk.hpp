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

/// A stretch of a log from which no block can be read.
struct lost_stretch {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string reason;
    std::optional<std::uint64_t> block_before; ///< the last good one
    /// The next good one; nothing if none follows. Set by end_before, when it is found.
    std::optional<std::uint64_t> block_after;
    /// Nothing valid follows, so it may be a torn write.
    bool may_be_torn = false;
    /// No record begins here: the device may have lost an unsynced one.
    bool has_no_record = false;
};
BOOST_DESCRIBE_STRUCT(lost_stretch, (), (offset, bytes, block_before, block_after, reason))

/// For people, in the reports of verify and salvage.
[[nodiscard]] std::string to_text(const lost_stretch& lost);

/// Sets `block` as the next good one in the stretches since the last good block.
void end_before(std::uint64_t block, std::vector<lost_stretch>& lost);

/// Walks a log record by record, without its index and past all damage: every byte behind the
/// header belongs to a returned record or a returned stretch.
///
/// A record is good when its checksum is right, its blocks decode and are what it states, and its
/// numbers are above those before it. Holds one record. Not thread-safe.
class record_walk {
public:
    /// Called for every block of the current record, in order.
    using look = std::function<void(const block&)>;

    /// Begins behind the header of `log`, which must stay open.
    explicit record_walk(const file& log, progress_callback watch = {}, look at = {});

    /// A record, a stretch, or neither at the end.
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
    progress_callback watch_;
    look look_;
    std::optional<std::uint64_t> last_number_;
};

} // namespace chainbase::driver

#pragma once

#include <tools/driver/block_log_tools/record_walk.hpp>
#include <tools/progress.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// The result of reading every byte of a block log.
struct log_verification {
    /// Consecutive records without a lost stretch between them.
    struct good_run {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        std::uint64_t first = 0; ///< number of the first block
        std::uint64_t last = 0;
        std::uint64_t blocks = 0;
        BOOST_DESCRIBE_CLASS(good_run, (), (offset, bytes, first, last, blocks), (), ())
    };
    static constexpr std::size_t max_listed = 100;

    std::string chain;
    std::uint64_t bytes = 0; ///< of the file
    std::uint64_t records = 0;
    std::uint64_t blocks = 0; ///< good ones
    bool operations_checked = false;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    /// An end that a crash may have cut short, with what was never synced: no damage.
    std::optional<lost_stretch> torn_end;
    /// "the log is cut: ...", when no crash of its own writer explains its end.
    std::optional<std::string> cut;
    std::uint64_t lost_count = 0;
    std::vector<lost_stretch> lost; ///< the first max_listed
    std::uint64_t fault_count = 0;
    std::vector<std::string> faults; ///< operations that do not decode, the first max_listed
    std::uint64_t survives_count = 0;
    std::vector<good_run> survives; ///< what survives, the first max_listed
    std::string index;              ///< "fits the log", or what it is instead
    bool index_misleads = false;    ///< readers would trust it
    std::string mark;               ///< the synced mark: "fits the log", or its fault

    [[nodiscard]] bool good() const noexcept {
        return lost_count == 0 && fault_count == 0 && !index_misleads && !cut;
    }
};
BOOST_DESCRIBE_STRUCT(log_verification, (),
                      (chain, good, bytes, records, blocks, transactions, operations,
                       operations_checked, torn_end, cut, lost_count, lost, fault_count, faults,
                       survives_count, survives, index, mark))

/// Verifies every record and block of the log, with `operations` each operation too, and checks the
/// index and the mark beside it. Changes nothing and continues behind damage.
///
/// Throws what read_log_header throws; usage_error when `operations` are requested for a chain
/// without known operations; interrupted_error.
[[nodiscard]] log_verification verify_log(const std::filesystem::path& log, bool operations,
                                          progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const log_verification& found);

} // namespace chainbase::driver

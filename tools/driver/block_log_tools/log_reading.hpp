#pragma once

#include <pool_allocator/error.hpp>
#include <tools/block_log/block.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/log_progress.hpp>

#include <boost/describe/class.hpp>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::driver {

/// Numbers of blocks, the first and the last included.
struct block_range {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;

    [[nodiscard]] bool contains(std::uint64_t number) const noexcept {
        return first <= number && number <= last;
    }
};

/// Opens a log for a tool that changes nothing, so that no index appears beside it either; an index
/// that is missing costs a scan each time. Throws what block_log_reader throws, and
/// interrupted_error.
[[nodiscard]] inline block_log_reader look_at_log(const std::filesystem::path& path,
                                                  log_progress& shown) {
    return block_log_reader(path, {},
                            {.save_index = false, .use_index = true, .watch = shown.as_watcher()});
}

/// Operations in the block, of all its transactions.
[[nodiscard]] inline std::uint64_t operations_in(const block& of) noexcept {
    std::uint64_t sum = 0;
    for (const transaction& part : of.transactions)
        sum += part.operations.size();
    return sum;
}

/// The error of a range in which no block of the log lies, naming those that there are.
[[nodiscard]] usage_error no_block_in(const block_log_reader& log, const block_range& range);

/// What a block log is, without its blocks.
struct log_info {
    /// A block's number and Unix seconds.
    struct place {
        std::uint64_t number = 0;
        std::int64_t time = 0;
        BOOST_DESCRIBE_CLASS(place, (), (number, time), (), ())
    };
    /// What only the blocks themselves tell.
    struct contents {
        std::uint64_t transactions = 0;
        std::uint64_t operations = 0;
        BOOST_DESCRIBE_CLASS(contents, (), (transactions, operations), (), ())
    };

    std::string chain;
    std::uint32_t format = 0;
    std::uint64_t records = 0;
    std::uint64_t blocks = 0;
    std::optional<place> first; ///< nothing when the log is empty
    std::optional<place> last;
    std::uint64_t bytes = 0; ///< of the file, without a torn end
    std::uint64_t unpacked_bytes = 0;
    std::uint64_t torn_bytes = 0;
    std::string index; ///< "fits the log", or why it does not
    std::optional<contents> counted;

    /// How many bytes of blocks a byte of the file holds.
    [[nodiscard]] double ratio() const noexcept {
        return static_cast<double>(unpacked_bytes) / static_cast<double>(bytes);
    }
};
BOOST_DESCRIBE_STRUCT(log_info, (),
                      (chain, format, records, blocks, first, last, bytes, unpacked_bytes, ratio,
                       torn_bytes, index))
/// With the members of what was counted.
[[nodiscard]] nlohmann::ordered_json report_value(const log_info& info);

/// Looks at the log; with `count` at every block. Throws what block_log_reader throws, also for
/// damage that it comes upon, and interrupted_error.
[[nodiscard]] log_info info_of(const std::filesystem::path& log, bool count, log_progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const log_info& info);

/// The content of a range of blocks in one number, however they are packed into records: two logs
/// with the same digest hold the same blocks.
struct log_digest {
    std::string chain;
    std::uint64_t first = 0; ///< number of the first block
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0; ///< of the encoded blocks, each with its length in front
    std::string sha256;      ///< of those bytes
};
BOOST_DESCRIBE_STRUCT(log_digest, (),
                      (chain, first, last, blocks, transactions, operations, bytes, sha256))

/// Reads the blocks of the range. Throws usage_error when none lies in it, what block_log_reader
/// throws, also for damage that it comes upon, and interrupted_error.
[[nodiscard]] log_digest digest_of(const std::filesystem::path& log, const block_range& range,
                                   log_progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const log_digest& digest);

struct print_options {
    std::filesystem::path log;
    block_range range;
    /// Blocks to print at most.
    std::uint64_t limit = UINT64_MAX;
    /// Whether what the blocks hold is printed, too.
    bool operations = false;
    /// One object with all blocks instead of a line for each.
    bool json = false;
};

/// Prints the blocks of the range to stdout, a JSON object each, as it reads them. An operation
/// that does not decode is printed in hex with what is wrong; returns how many there were.
///
/// Throws usage_error when no block lies in the range, what block_log_reader throws, also for
/// damage that it comes upon: the blocks before it are printed then. After interrupted_error the
/// output is complete up to a block, too.
[[nodiscard]] std::uint64_t print_log(const print_options& options, log_progress& shown);

} // namespace chainbase::driver

#pragma once

#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/progress.hpp>

#include <boost/describe/class.hpp>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::driver {

/// A range of block numbers, both ends included.
struct block_range {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;

    [[nodiscard]] bool contains(std::uint64_t number) const noexcept {
        return first <= number && number <= last;
    }
};

/// Opens a log read-only: writes no index beside it, so a missing index costs a scan each time.
/// Throws what block_log_reader throws, and interrupted_error.
[[nodiscard]] inline block_log_reader open_log_read_only(const std::filesystem::path& path,
                                                         progress& shown) {
    return block_log_reader(path, {},
                            {.save_index = false, .use_index = true, .watch = shown.as_callback()});
}

/// Operations in the block, of all its transactions.
[[nodiscard]] inline std::uint64_t operations_in(const block& of) noexcept {
    std::uint64_t sum = 0;
    for (const transaction& part : of.transactions)
        sum += part.operations.size();
    return sum;
}

/// The error for a range that holds no block of the log; it names the log's blocks.
[[nodiscard]] usage_error no_block_in(const block_log_reader& log, const block_range& range);

/// Summary of a block log, without its blocks.
struct log_info {
    /// A block's number and Unix seconds.
    struct place {
        std::uint64_t number = 0;
        std::int64_t time = 0;
        BOOST_DESCRIBE_CLASS(place, (), (number, time), (), ())
    };
    /// Figures that require reading all blocks.
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
/// Includes the members of `contents` if counted.
[[nodiscard]] nlohmann::ordered_json report_value(const log_info& info);

/// Summarizes the log; reads every block if `count`. Throws what block_log_reader throws, also for
/// damage it meets, and interrupted_error.
[[nodiscard]] log_info info_of(const std::filesystem::path& log, bool count, progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const log_info& info);

/// Digest of a range of blocks that does not depend on their records: logs with the same digest
/// hold the same blocks.
struct log_digest {
    std::string chain;
    std::uint64_t first = 0; ///< number of the first block
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0; ///< of the encoded blocks, each preceded by its length
    std::string sha256;      ///< of those bytes
};
BOOST_DESCRIBE_STRUCT(log_digest, (),
                      (chain, first, last, blocks, transactions, operations, bytes, sha256))

/// Reads the blocks of the range. Throws usage_error when the range holds none, what
/// block_log_reader throws, also for damage it meets, and interrupted_error.
[[nodiscard]] log_digest digest_of(const std::filesystem::path& log, const block_range& range,
                                   progress& shown);

/// For people.
[[nodiscard]] std::string to_text(const log_digest& digest);

struct print_options {
    std::filesystem::path log;
    block_range range;
    /// Print at most this many blocks.
    std::uint64_t limit = UINT64_MAX;
    /// Print the blocks' contents, too.
    bool operations = false;
    /// One object with all blocks instead of a line for each.
    bool json = false;
};

/// Prints the blocks of the range to stdout while reading, a JSON object each. An operation that
/// does not decode is printed in hex with its error; returns their number.
///
/// Throws usage_error when no block lies in the range, and what block_log_reader throws, also for
/// damage it meets: the blocks before it are printed by then. After interrupted_error the output
/// ends with a complete block, too.
[[nodiscard]] std::uint64_t print_log(const print_options& options, progress& shown);

} // namespace chainbase::driver

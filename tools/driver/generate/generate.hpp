#pragma once

#include <tools/driver/generate/block_source.hpp>
#include <tools/driver/generate/branch_generator.hpp>
#include <tools/interruption.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::generate {

/// What was generated.
struct generate_report {
    std::string chain;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    /// By name, the kinds of the chain.
    std::vector<std::pair<std::string, std::uint64_t>> operations_by_kind;
    std::uint64_t bytes = 0; ///< of the block log
    std::uint64_t branches = 0;
    std::uint64_t branch_blocks = 0;
    std::uint64_t bad_branches = 0;
    double seconds = 0;
    bool interrupted = false; ///< no file was left then
};
BOOST_DESCRIBE_STRUCT(generate_report, (),
                      (chain, blocks, transactions, operations, operations_by_kind, bytes, branches,
                       branch_blocks, bad_branches, seconds, interrupted))

/// Path of a generated log's branches: `<log>.forks`.
[[nodiscard]] std::filesystem::path forks_path(std::filesystem::path block_log);

/// Makes a block log, and the file of its branches if `forks` asks for some. Both appear under
/// their names when complete. Throws usage_error when one exists or the options are inconsistent,
/// and what writing them throws.
[[nodiscard]] generate_report generate_log(const chain_options& options, const fork_options& forks,
                                           const std::filesystem::path& to,
                                           const catch_interruption& signals);

/// Makes branches of an existing log. Throws as generate_log.
[[nodiscard]] generate_report generate_forks_of(const std::filesystem::path& block_log,
                                                const fork_options& forks, std::uint64_t seed,
                                                const std::filesystem::path& to,
                                                const catch_interruption& signals);

[[nodiscard]] std::string to_text(const generate_report& report);

} // namespace chainbase::generate

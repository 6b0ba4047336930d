#pragma once

#include <tools/block_log/block.hpp>
#include <tools/block_log/file.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase {

/// Blocks of a branch that lost against another one of the same height.
struct branch {
    /// The number of the last block that the branch shares with the chain.
    std::uint64_t forks_after = 0;
    /// Their numbers rise strictly and are above forks_after.
    std::vector<block> blocks;

    friend bool operator==(const branch&, const branch&) = default;
};

/// The largest number of blocks in a branch. Limits what a damaged or hostile length makes a reader
/// allocate.
inline constexpr std::size_t max_branch_blocks = 4096;
inline constexpr std::uint32_t max_branch_bytes = 64u << 20;

/// Writes branches beside a block log (README.md draws the file). Not thread-safe.
class branch_file_writer {
public:
    /// Makes a new file for branches of the named chain. Throws usage_error when the file exists or
    /// the name is empty or longer than 32 bytes, and what writing a file throws.
    branch_file_writer(const std::filesystem::path& path, std::string_view chain);

    /// Adds a branch. Throws usage_error unless it has blocks with valid numbers and forks off no
    /// earlier than the branch before; limit_error when it is too large; what writing a file
    /// throws: the file then ends with the branch before, and the call may be repeated.
    void append(const branch& next);

    /// Returns when everything is on the device, and closes the file. Nothing may be called
    /// afterwards.
    void close();

    [[nodiscard]] std::uint64_t branches() const noexcept { return branches_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return end_; }

private:
    file file_;
    std::uint64_t end_ = 0;
    std::uint64_t branches_ = 0;
    std::uint64_t last_fork_ = 0;
};

/// Reads the branches of a file in the order of their fork points.
///
/// Every branch is verified before it is returned. Not thread-safe.
class branch_file_reader {
public:
    /// Throws io_error when the file cannot be opened, format_error when it is no branch file, has
    /// another format version, or belongs to another chain than `expected_chain` (empty: any);
    /// damaged_error when its header is cut or altered.
    explicit branch_file_reader(const std::filesystem::path& path,
                                std::string_view expected_chain = {});

    [[nodiscard]] const std::string& chain() const noexcept { return chain_; }

    /// The next branch; nothing at the end of the file. Throws damaged_error naming file, byte and
    /// fault when a record is cut, altered, too large or out of order; the position then does not
    /// move.
    [[nodiscard]] std::optional<branch> next();

private:
    [[noreturn]] void fail(const std::string& reason) const;

    file file_;
    std::string chain_;
    std::uint64_t size_ = 0;
    std::uint64_t position_ = 0;
    std::uint64_t last_fork_ = 0;
};

} // namespace chainbase

#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/block_log/block_log_writer.hpp>

#include <tests/tools/temporary_folder.hpp>

#include <random>
#include <vector>

namespace chainbase::test {

inline constexpr const char* sample_chain = "sample-chain";

inline bytes random_bytes(std::mt19937_64& random, std::size_t most) {
    bytes result(random() % (most + 1));
    for (std::byte& one : result)
        one = static_cast<std::byte>(random() % 7); // few values: something to compress
    return result;
}

inline transaction random_transaction(std::mt19937_64& random) {
    transaction result;
    for (auto left = random() % 4; left > 0; --left)
        result.operations.push_back(random_bytes(random, 30));
    return result;
}

/// Blocks with rising numbers that have gaps and do not begin at 1.
inline std::vector<block> sample_blocks(std::size_t count, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::vector<block> result;
    std::uint64_t number = 1000;
    for (std::size_t i = 0; i < count; ++i) {
        number += 1 + random() % 3;
        block one{number, static_cast<std::int64_t>(1'458'835'200 + 3 * number), {}};
        for (auto left = random() % 4; left > 0; --left)
            one.transactions.push_back(random_transaction(random));
        result.push_back(std::move(one));
    }
    return result;
}

/// Every block in a record of its own unless `batch_bytes` says otherwise.
inline void write_log(const std::filesystem::path& path, const std::vector<block>& blocks,
                      std::uint32_t batch_bytes = 0) {
    auto writer = block_log_writer::create(path, sample_chain, {3, batch_bytes});
    for (const block& one : blocks)
        writer.append(one);
    writer.close();
}

inline std::vector<block> read_all(block_log_stream stream) {
    std::vector<block> result;
    while (auto next = stream.next())
        result.push_back(std::move(*next));
    return result;
}

inline std::vector<block> read_log(const std::filesystem::path& path) {
    return read_all(block_log_reader(path, sample_chain).stream());
}

inline std::vector<block> first_of(const std::vector<block>& blocks, std::size_t count) {
    return {blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(count)};
}

} // namespace chainbase::test

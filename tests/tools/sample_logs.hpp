#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/block_log/block_log_writer.hpp>

#include <tests/support/captured_log.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/temporary_folder.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::test {

inline constexpr const char* sample_chain = "sample-chain";

/// Blocks with rising numbers that have gaps and do not begin at 1: up to three transactions of up
/// to three operations each.
inline std::vector<block> sample_blocks(std::size_t count, std::uint64_t seed = 1) {
    random_source random(seed);
    std::vector<block> result;
    for (std::uint64_t number = 1000; result.size() < count;) {
        number += 1 + random.below(3);
        block one{number, static_cast<std::int64_t>(1'458'835'200 + 3 * number), {}};
        one.transactions.resize(random.below(4));
        for (transaction& each : one.transactions) {
            each.operations.resize(random.below(4));
            for (bytes& operation : each.operations) {
                operation.resize(random.below(31));
                for (std::byte& some : operation)
                    some = static_cast<std::byte>(random.below(7)); // something to compress
            }
        }
        result.push_back(std::move(one));
    }
    return result;
}

inline std::vector<block> first_of(const std::vector<block>& blocks, std::size_t count) {
    return {blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// Every block in a record of its own unless `batch_bytes` says otherwise.
inline void write_log(const std::filesystem::path& path, const std::vector<block>& blocks,
                      std::uint32_t batch_bytes = 0, std::string_view chain = sample_chain) {
    auto writer = block_log_writer::create(path, chain, {3, batch_bytes});
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

/// A log in a folder of its own, with a block in each record unless it is told otherwise.
struct sample_log {
    temporary_folder folder{memory_or_disk()};
    std::filesystem::path path = folder / "log";
    std::vector<block> blocks;
    std::string whole;                 ///< the log's bytes
    std::string index;                 ///< and its index'
    std::vector<std::size_t> ends{64}; ///< of the header and of each record
    block_log_options how{3, 0, nullptr};

    explicit sample_log(std::size_t count, std::uint32_t batch_bytes = 0, std::uint64_t seed = 1)
        : blocks(sample_blocks(count, seed)) {
        how.batch_bytes = batch_bytes;
        write_log(path, blocks, batch_bytes);
        remember();
    }
    /// Its bytes and its index' are what is in the files.
    void remember() {
        whole = read_all(path);
        index = read_all(index_path(path));
        ends.resize(1);
        const block_log_reader reader(path);
        for (std::size_t record = 0; record < reader.records(); ++record)
            ends.push_back(reader.end_of_record(record));
    }
    /// One bit of the payload of each of these records, counted from 0, is another one.
    void flip_in(std::initializer_list<std::size_t> records) const {
        std::string content = read_all(path);
        for (const std::size_t record : records)
            content[ends[record] + 34] ^= 1;
        write_all(path, content);
    }
    [[nodiscard]] std::string record(std::size_t i) const {
        return whole.substr(ends[i], ends[i + 1] - ends[i]);
    }
    [[nodiscard]] block_log_writer open() const {
        return block_log_writer::open(path, sample_chain, how);
    }
    void remove_index() const { std::filesystem::remove(index_path(path)); }
    void remove_mark() const { std::filesystem::remove(synced_path(path)); }
};

} // namespace chainbase::test

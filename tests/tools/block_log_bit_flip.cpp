#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// True when reading says that something is wrong: an exception of ours or the torn-end warning.
/// Whatever is delivered before must be a prefix of the truth.
bool detected(const std::filesystem::path& path, const std::vector<block>& truth) {
    const captured_log log;
    std::vector<block> seen;
    try {
        block_log_stream stream = block_log_reader(path, sample_chain).stream();
        while (auto next = stream.next())
            seen.push_back(std::move(*next));
    } catch (const chainbase::error&) {
        REQUIRE(seen == first_of(truth, seen.size()));
        return true;
    }
    REQUIRE(seen == first_of(truth, seen.size()));
    return log.says("the end is torn");
}

std::string message_of(const std::filesystem::path& path) {
    try {
        (void)read_log(path);
    } catch (const damaged_error& damage) {
        return damage.what();
    }
    return "no damage found";
}

void check_says(const std::string& message, const std::vector<std::string>& parts) {
    CAPTURE(message);
    for (const std::string& part : parts)
        CHECK(message.find(part) != std::string::npos);
}

} // namespace

TEST_CASE("every flipped bit of a log is detected, with and without an index") {
    const auto blocks = sample_blocks(6);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(path, blocks, 60);
    const std::string whole = read_file(path);
    const std::string index = read_file(index_path(path));
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        write_file(path, flipped);
        write_file(index_path(path), index);
        REQUIRE(detected(path, blocks));
        std::filesystem::remove(index_path(path));
        REQUIRE(detected(path, blocks));
        REQUIRE(read_file(path) == flipped);
    }
}

TEST_CASE("damage in the middle names file, block and byte, and says what to do") {
    const auto blocks = sample_blocks(10);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(path, first_of(blocks, 4));
    const std::size_t fifth = read_file(path).size();
    std::filesystem::remove(path);
    write_log(path, blocks);
    std::string damaged = read_file(path);
    damaged[fifth + 33] ^= 1;
    write_file(path, damaged);

    const std::string at = "byte " + std::to_string(fifth);
    check_says(message_of(path),
               {path.string(), at, "good copy", "block " + std::to_string(blocks[4].number)});
    std::filesystem::remove(index_path(path));
    check_says(message_of(path), {path.string(), at, "good copy",
                                  "the block after " + std::to_string(blocks[3].number),
                                  "valid again from block " + std::to_string(blocks[5].number)});
}

TEST_CASE("the blocks before a damaged one are still readable through the index") {
    const auto blocks = sample_blocks(10);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(path, blocks);
    std::string damaged = read_file(path);
    damaged[damaged.size() / 2] ^= 1;
    write_file(path, damaged);
    const block_log_reader reader(path);
    CHECK(reader.read(blocks[0].number) == blocks[0]);
    CHECK(reader.read(blocks[9].number) == blocks[9]);
    CHECK_THROWS_AS(read_all(reader.stream()), damaged_error);
}

TEST_CASE("a valid record far behind the damage is found wherever the search windows end") {
    const temporary_folder folder;
    const auto path = folder / "log";
    std::mt19937_64 random(1);
    bytes incompressible((1 << 20) + 8);
    for (std::byte& one : incompressible)
        one = static_cast<std::byte>(random());
    // The search begins at byte 65 and reads 1 MiB at a time: let the second record begin at,
    // before and behind the border, so that its first bytes lie on both sides of it.
    const auto write_blocks = [&](std::size_t size) {
        std::filesystem::remove(path);
        const bytes operation(incompressible.begin(),
                              incompressible.begin() + static_cast<std::ptrdiff_t>(size));
        write_log(path, {{1, 0, {{{operation}}}}});
        const std::size_t second = read_file(path).size();
        auto writer = block_log_writer::open(path, sample_chain, {3, 0});
        writer.append({2, 0, {}});
        writer.close();
        return second;
    };
    const std::size_t border = 65 + (1 << 20);
    const std::size_t sample = (1 << 20) - 500;
    const std::size_t frame = write_blocks(sample) - sample;
    for (std::size_t second = border - 5; second <= border + 1; ++second) {
        REQUIRE(write_blocks(second - frame) == second);
        std::string damaged = read_file(path);
        damaged[1000] ^= 1;
        write_file(path, damaged);
        std::filesystem::remove(index_path(path));
        check_says(message_of(path),
                   {"valid again from block 2 at byte " + std::to_string(second)});
    }
}

TEST_CASE("damage that is full of record beginnings is searched as fast as any other") {
    const temporary_folder folder;
    const auto path = folder / "log";
    std::mt19937_64 random(1);
    bytes incompressible(8 << 20);
    for (std::byte& one : incompressible)
        one = static_cast<std::byte>(random());
    write_log(path, {{1, 0, {{{incompressible}}}}, {2, 0, {}}});
    std::string damaged = read_file(path);
    const std::string header = damaged.substr(64, 8); // the magic number and a length that fits
    for (std::size_t at = 1000; at < (8 << 20); at += header.size())
        damaged.replace(at, header.size(), header);
    write_file(path, damaged);
    std::filesystem::remove(index_path(path));
    check_says(message_of(path), {"byte 64", "valid again from block 2"});
}

TEST_CASE("a repeated, swapped or missing record is damage, not a shorter log") {
    const auto blocks = sample_blocks(3);
    const temporary_folder folder;
    std::vector<std::string> records;
    std::string whole;
    for (std::size_t count = 0; count <= blocks.size(); ++count) {
        const auto path = folder / std::to_string(count);
        write_log(path, first_of(blocks, count));
        records.push_back(read_file(path).substr(whole.size()));
        whole += records.back();
    }
    const auto path = folder / "log";
    write_file(path, whole + records[3]);
    check_says(message_of(path), {"out of order"});
    write_file(path, records[0] + records[2] + records[1] + records[3]);
    check_says(message_of(path), {"out of order"});
    write_file(path, records[0] + records[1].substr(1) + records[2] + records[3]);
    check_says(message_of(path), {"the first block is expected"});
}

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/mutation.hpp>
#include <tests/tools/sample_blocks.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// The input decoded and encoded again; nothing when it is refused with the promised error.
std::optional<bytes> recode(byte_view input) {
    try {
        return encode_block(decode_block(input));
    } catch (const damaged_error& damage) {
        REQUIRE(std::string(damage.what()).find("block") != std::string::npos);
        REQUIRE(std::string(damage.what()).find("byte ") != std::string::npos);
        return {};
    }
}

} // namespace

TEST_CASE("mutated blocks decode to themselves or throw damaged_error") {
    const std::uint64_t seed = test_seed(20160324);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    std::size_t accepted = 0;
    for (const block& original : sample_blocks(200, seed)) {
        for (int round = 0; round < 200; ++round) {
            const bytes mutated = mutate(random, encode_block(original));
            const auto again = recode(mutated);
            REQUIRE(again.value_or(mutated) == mutated);
            accepted += again.has_value() ? 1 : 0;
        }
    }
    CHECK(accepted > 0); // a flipped byte of an operation is not the codec's to notice
}

TEST_CASE("random bytes decode to themselves or throw damaged_error") {
    const std::uint64_t seed = test_seed(20160324);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 20'000; ++round) {
        bytes input(random() % 40);
        for (std::byte& one : input)
            one = static_cast<std::byte>(random());
        REQUIRE(recode(input).value_or(input) == input);
    }
}

TEST_CASE("a mutated log delivers a prefix of the truth and only typed errors") {
    const std::uint64_t seed = test_seed(20160324);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto blocks = sample_blocks(30, seed);
    const temporary_folder folder;
    const auto path = folder / "log";
    write_log(path, blocks, 150);
    const std::string whole = read_file(path);
    const std::string index = read_file(index_path(path));
    const captured_log quiet;
    for (int round = 0; round < 3000; ++round) {
        const bytes original(bytes_of(whole).begin(), bytes_of(whole).end());
        const bytes mutated = mutate(random, original);
        write_file(path, text_of(mutated));
        if (random() % 2 == 0)
            write_file(index_path(path), index);
        else
            std::filesystem::remove(index_path(path));
        std::vector<block> seen;
        try {
            const block_log_reader reader(path, sample_chain);
            block_log_stream stream = reader.stream();
            while (auto next = stream.next())
                seen.push_back(std::move(*next));
            REQUIRE(seen.size() == reader.count());
        } catch (const chainbase::error&) {
        }
        REQUIRE(seen == first_of(blocks, seen.size()));
        REQUIRE(read_file(path) == text_of(mutated));
    }
}

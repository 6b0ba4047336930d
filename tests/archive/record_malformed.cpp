// Bytes that are no record: only typed errors, naming type, field and offset; no reading outside.
#include <cstring>
#include <memory>

#include "support.hpp"

using namespace archive_test;

namespace {

/// The bytes at the very end of a heap block, so that a sanitizer sees a read behind them.
struct exact_copy {
    explicit exact_copy(bytes_view bytes) : size(bytes.size()), memory(new std::byte[size]) {
        if (size != 0) std::memcpy(memory.get(), bytes.data(), size);
    }
    operator bytes_view() const { return {memory.get(), size}; }
    std::size_t size;
    std::unique_ptr<std::byte[]> memory;
};

/// Whether the bytes are a record; anything thrown but the two typed errors ends the test.
bool decodes(bytes_view bytes) {
    post p;
    try {
        decode(bytes, p);
    } catch (const damaged_error&) {
        return false;
    } catch (const schema_error&) {
        return false;
    }
    // Bytes that are accepted are the encoding of what they gave: there is only one.
    REQUIRE(same(record_of(p), bytes));
    return true;
}

void view_all(bytes_view bytes) {
    try {
        const record_view<post> view(bytes);
        (void)view.get<&post::tags>();
        (void)view.get<&post::shares>();
        (void)view.get<&post::last>().get<&price::inverted>();
        for (const price& each : view.get<&post::prices>())
            (void)each;
    } catch (const damaged_error&) {
    } catch (const schema_error&) {
    }
}

} // namespace

TEST_CASE("every prefix of a record, and a record with bytes behind it, is refused") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    byte_buffer record = record_of(random_post(random));
    for (std::size_t size = 0; size < record.size(); ++size) {
        const exact_copy cut(bytes_view(record).first(size));
        REQUIRE_FALSE(decodes(cut));
        view_all(cut);
    }
    REQUIRE(decodes(record));
    record.push_back(std::byte{0});
    REQUIRE_FALSE(decodes(record));
}

TEST_CASE("changed bytes give typed errors or another record, never anything else") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    int accepted = 0;
    for (int i = 0; i < 30000; ++i) {
        byte_buffer record = record_of(random_post(random));
        for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes)
            record[4 + random.below(record.size() - 4)] = std::byte(random.bits());
        if (random.one_in(4)) record.resize(random.below(record.size()));
        const exact_copy bytes(record);
        accepted += decodes(bytes);
        view_all(bytes);
    }
    CHECK(accepted > 0); // changed numbers are records too: the test reaches both sides
}

TEST_CASE("random bytes behind a right fingerprint give typed errors") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    for (int i = 0; i < 30000; ++i) {
        byte_buffer record(4 + random.below(120));
        for (std::byte& byte : record)
            byte = random.one_in(2) ? std::byte{0} : std::byte(random.bits());
        archive::detail::store_little(record.data(), record_fingerprint<post>);
        const exact_copy bytes(record);
        decodes(bytes);
        view_all(bytes);
    }
}

TEST_CASE("the error names type, field and offset") {
    post p;
    p.author = "alice";
    byte_buffer record = record_of(p);
    record[8] = std::byte{200};
    CHECK_THROWS_WITH(decode(record, p), Catch::Contains("archive_test::post") &&
                                             Catch::Contains("field author") &&
                                             Catch::Contains("offset 12"));
    record[8] = std::byte{5};
    record[14] = std::byte{0}; // a fixed_string cannot hold a zero byte
    CHECK_THROWS_WITH(decode(record, p), Catch::Contains("field author"));
}

struct flags {
    price inner;
};
BOOST_DESCRIBE_STRUCT(flags, (), (inner))

TEST_CASE("a bool is 0 or 1, and nested fields are named with their path") {
    flags f;
    byte_buffer record = record_of(f);
    record.back() = std::byte{2};
    CHECK_THROWS_WITH(decode(record, f), Catch::Contains("field inner.inverted"));
}

TEST_CASE("a count without elements behind it allocates nothing") {
    post p;
    byte_buffer record = record_of(p);
    const auto voters = record_view<post>(record).get<&post::voters>();
    REQUIRE(voters.empty());
    // The count of voters stands before the other empty sequences, the price and the shares.
    const std::size_t at = record.size() - (2 * (4 + 2)) - (8 + 1) - 3 * 4;
    archive::detail::store_little(record.data() + at, std::uint32_t{0xffffffff});
    CHECK_THROWS_WITH(decode(record, p), Catch::Contains("field voters"));
    CHECK_THROWS_WITH((void)record_view<post>(record).get<&post::picture>(),
                      Catch::Contains("field voters"));
}

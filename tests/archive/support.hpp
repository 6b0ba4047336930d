#pragma once

#include <archive/record/record.hpp>
#include <archive/store.hpp>
#include <chainbase/fixed_string.hpp>
#include <chainbase/id.hpp>

#include <boost/describe.hpp>
#include <catch2/catch.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace archive_test {

using namespace chainbase;
using namespace chainbase::archive;
using chainbase::test::new_seed;
using chainbase::test::random_source;
using chainbase::test::scratch_folder;
using chainbase::test::seeded;

/// Random bytes of limited length, often zero, one or 0xff: the boundary cases of escapes.
inline std::string random_bytes(random_source& random, std::uint32_t longest) {
    std::string bytes(random.below(longest + 1), '\0');
    for (char& c : bytes)
        c = random.one_in(2) ? "\x00\x01\xff\xfe"[random.below(4)]
                             : static_cast<char>(random.below(256));
    return bytes;
}

/// With the interface of shared vectors: read by data() and size(), assigned from a span.
template <typename E>
class span_vector {
public:
    span_vector() = default;
    span_vector& operator=(std::span<const E> elements) {
        elements_.assign(elements.begin(), elements.end());
        return *this;
    }
    const E* data() const { return elements_.data(); }
    std::size_t size() const { return elements_.size(); }
    friend bool operator==(const span_vector&, const span_vector&) = default;

private:
    std::vector<E> elements_;
};

enum class mode : std::int16_t { draft = -1, open, paid };

struct beneficiary {
    fixed_string<16> account;
    std::uint16_t weight = 0;
    friend bool operator==(const beneficiary&, const beneficiary&) = default;
};
BOOST_DESCRIBE_STRUCT(beneficiary, (), (account, weight))

struct price {
    std::int64_t base = 0;
    bool inverted = false;
    friend bool operator==(const price&, const price&) = default;
};
BOOST_DESCRIBE_STRUCT(price, (), (base, inverted))

/// One field of every kind a record can hold.
struct post {
    id<post> number;
    fixed_string<16> author;
    std::string body;
    std::uint8_t depth = 0;
    std::int32_t net_votes = 0;
    std::uint64_t reward = 0;
    bool locked = false;
    mode state = mode::open;
    std::array<std::uint8_t, 20> transaction{};
    std::array<std::string, 2> tags;
    span_vector<std::uint64_t> voters;
    span_vector<std::byte> picture;
    span_vector<price> prices;
    price last;
    std::array<beneficiary, 2> shares;
    friend bool operator==(const post&, const post&) = default;
};
BOOST_DESCRIBE_STRUCT(post, (),
                      (number, author, body, depth, net_votes, reward, locked, state, transaction,
                       tags, voters, picture, prices, last, shares))

inline fixed_string<16> random_author(random_source& random) {
    std::string text(random.below(17), 'a');
    for (char& c : text)
        c = static_cast<char>(1 + random.below(255));
    return std::string_view(text);
}

inline price random_price(random_source& random) {
    return {static_cast<std::int64_t>(random.next()), random.one_in(2)};
}

inline post random_post(random_source& random) {
    post p;
    p.number = id<post>(static_cast<std::uint32_t>(random.next()));
    p.author = random_author(random);
    p.body = random_bytes(random, 40);
    p.depth = static_cast<std::uint8_t>(random.next());
    p.net_votes = static_cast<std::int32_t>(random.next());
    p.reward = random.next();
    p.locked = random.one_in(2);
    p.state = static_cast<mode>(static_cast<int>(random.below(3)) - 1);
    for (auto& byte : p.transaction)
        byte = static_cast<std::uint8_t>(random.next());
    for (auto& tag : p.tags)
        tag = random_bytes(random, 10);
    std::vector<std::uint64_t> voters(random.below(5));
    for (auto& voter : voters)
        voter = random.next();
    p.voters = voters;
    const std::string picture = random_bytes(random, 9);
    p.picture = as_bytes(picture);
    std::vector<price> prices(random.below(4));
    for (auto& each : prices)
        each = random_price(random);
    p.prices = prices;
    p.last = random_price(random);
    for (auto& share : p.shares)
        share = {random_author(random), static_cast<std::uint16_t>(random.next())};
    return p;
}

template <typename T>
byte_buffer record_of(const T& object) {
    byte_buffer buffer;
    encode(object, buffer);
    return buffer;
}

} // namespace archive_test

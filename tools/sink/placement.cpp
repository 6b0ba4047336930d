#include <tools/sink/placement.hpp>

#include <cstddef>
#include <string_view>

namespace chainbase::sink {

namespace {

/// HASH_PARTITION_SEED of PostgreSQL.
constexpr std::uint64_t partition_seed = 0x7A5B'2236'7996'DCFD;

/// Bob Jenkins' lookup3 of 2006, as PostgreSQL has it: a seed of 64 bits, and both b and c as the
/// result.
class lookup3 {
public:
    lookup3(std::size_t bytes, std::uint64_t seed) noexcept
        : a_(0x9E37'79B9U + static_cast<std::uint32_t>(bytes) + 3'923'095U), b_(a_), c_(a_) {
        if (seed == 0) return;
        a_ += static_cast<std::uint32_t>(seed >> 32);
        b_ += static_cast<std::uint32_t>(seed);
        mix();
    }

    [[nodiscard]] std::uint64_t of(std::uint32_t number) noexcept {
        a_ += number;
        return end();
    }
    [[nodiscard]] std::uint64_t of(std::string_view bytes) noexcept {
        constexpr std::size_t block = 12;
        for (; bytes.size() >= block; bytes.remove_prefix(block)) {
            a_ += word(bytes, 0);
            b_ += word(bytes, 4);
            c_ += word(bytes, 8);
            mix();
        }
        a_ += word(bytes, 0);
        b_ += word(bytes, 4);
        c_ += word(bytes, 8) << 8; // its lowest byte is for the length
        return end();
    }

private:
    /// Four bytes, the first one lowest; zeros behind the end.
    static std::uint32_t word(std::string_view bytes, std::size_t at) noexcept {
        std::uint32_t found = 0;
        for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i)
            found |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
        return found;
    }
    static constexpr std::uint32_t rotated(std::uint32_t x, int by) noexcept {
        return x << by | x >> (32 - by);
    }
    void mix() noexcept {
        a_ = (a_ - c_) ^ rotated(c_, 4), c_ += b_;
        b_ = (b_ - a_) ^ rotated(a_, 6), a_ += c_;
        c_ = (c_ - b_) ^ rotated(b_, 8), b_ += a_;
        a_ = (a_ - c_) ^ rotated(c_, 16), c_ += b_;
        b_ = (b_ - a_) ^ rotated(a_, 19), a_ += c_;
        c_ = (c_ - b_) ^ rotated(b_, 4), b_ += a_;
    }
    std::uint64_t end() noexcept {
        c_ = (c_ ^ b_) - rotated(b_, 14);
        a_ = (a_ ^ c_) - rotated(c_, 11);
        b_ = (b_ ^ a_) - rotated(a_, 25);
        c_ = (c_ ^ b_) - rotated(b_, 16);
        a_ = (a_ ^ c_) - rotated(c_, 4);
        b_ = (b_ ^ a_) - rotated(a_, 14);
        c_ = (c_ ^ b_) - rotated(b_, 24);
        return std::uint64_t{b_} << 32 | c_;
    }

    std::uint32_t a_, b_, c_;
};

/// hashint8extended(), which gives numbers of fewer bits what theirs give.
std::uint64_t hash_of_number(std::int64_t number) noexcept {
    const auto low = static_cast<std::uint32_t>(number);
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(number) >> 32);
    return lookup3(sizeof low, partition_seed).of(low ^ (number >= 0 ? high : ~high));
}

/// hashtextextended() for a collation that is deterministic.
std::uint64_t hash_of_text(std::string_view text) noexcept {
    return lookup3(text.size(), partition_seed).of(text);
}

/// hash_combine64() of the hash of no column yet.
std::uint64_t hash_of_row(std::uint64_t of_column) noexcept {
    return of_column + 0x49A0'F4DD'15E5'A8E3;
}

} // namespace

std::uint32_t shard_of(const value& of, std::uint32_t shards) {
    const std::uint64_t hash =
        of.what == value::kind::text ? hash_of_text(of.text) : hash_of_number(of.as_int64());
    return static_cast<std::uint32_t>(hash_of_row(hash) % shards);
}

bool can_distribute(const column& by) {
    if (by.is_nullable) return false;
    switch (by.kind) {
    case column_kind::small:
    case column_kind::integer:
    case column_kind::big:
    case column_kind::text:
        return true;
    default:
        return false;
    }
}

} // namespace chainbase::sink

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct SHA256state_st;

namespace chainbase {

/// 32 bytes of SHA-256 (FIPS 180-4).
using sha256_digest = std::array<std::byte, 32>;

/// Incremental SHA-256 through OpenSSL, which uses the processor's SHA instructions. For one
/// thread; one hasher serves for any number of digests.
class sha256 {
public:
    /// Throws std::bad_alloc.
    sha256();
    void add(std::span<const std::byte> bytes) noexcept;
    /// The digest of all that was added since the last one.
    [[nodiscard]] sha256_digest finish() noexcept;
    /// The digest of `bytes` alone. Requires that nothing was added since the last one.
    [[nodiscard]] sha256_digest of(std::span<const std::byte> bytes) noexcept {
        add(bytes);
        return finish();
    }

private:
    struct release {
        void operator()(SHA256state_st* context) const noexcept;
    };
    std::unique_ptr<SHA256state_st, release> context_;
};

/// 64 hexadecimal digits.
[[nodiscard]] std::string hex(const sha256_digest& digest);

} // namespace chainbase

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace chainbase {

/// 32 bytes of SHA-256 (FIPS 180-4).
using sha256_digest = std::array<std::byte, 32>;

/// SHA-256 of bytes that come in pieces, through OpenSSL, which uses the processor's instructions
/// for it. For one thread; one hasher serves for any number of digests, which is cheaper than a new
/// one for each.
class sha256 {
public:
    /// Throws std::bad_alloc, and error when OpenSSL refuses it.
    sha256();
    /// Throws error when OpenSSL refuses it.
    void add(std::span<const std::byte> bytes);
    /// The digest of all that was added since the last one. Throws as add().
    [[nodiscard]] sha256_digest finish();
    /// The digest of `bytes` alone. Throws as add().
    [[nodiscard]] sha256_digest of(std::span<const std::byte> bytes) {
        add(bytes);
        return finish();
    }

private:
    struct release {
        void operator()(evp_md_ctx_st* context) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, release> context_;
};

/// 64 hexadecimal digits.
[[nodiscard]] std::string hex(const sha256_digest& digest);

} // namespace chainbase

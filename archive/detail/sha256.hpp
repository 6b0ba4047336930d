#pragma once

#include <archive/bytes.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

struct evp_md_ctx_st;

namespace chainbase::archive::detail {

using sha256_digest = std::array<std::byte, 32>;

/// SHA-256 (FIPS 180-4) of bytes that come in pieces. Throws std::bad_alloc, and error when
/// OpenSSL refuses it.
class sha256 {
public:
    sha256();
    void add(bytes_view bytes);
    /// The digest of all that was added. Nothing may be added afterwards.
    [[nodiscard]] sha256_digest finish();

private:
    struct release {
        void operator()(evp_md_ctx_st* context) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, release> context_;
};

[[nodiscard]] std::string hex(const sha256_digest& digest);

} // namespace chainbase::archive::detail

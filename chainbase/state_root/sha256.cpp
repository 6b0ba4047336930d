// These functions are deprecated in OpenSSL 3, but their replacement (EVP) makes a new context for
// each digest, which takes as long as hashing the 64 bytes of most digests here.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <chainbase/state_root/sha256.hpp>

#include <openssl/sha.h>

namespace chainbase {

void sha256::release::operator()(SHA256state_st* context) const noexcept {
    delete context;
}

sha256::sha256() : context_(new SHA256_CTX) {
    SHA256_Init(context_.get());
}

void sha256::add(std::span<const std::byte> bytes) noexcept {
    SHA256_Update(context_.get(), bytes.data(), bytes.size());
}

sha256_digest sha256::finish() noexcept {
    sha256_digest digest;
    SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), context_.get());
    SHA256_Init(context_.get());
    return digest;
}

std::string hex(const sha256_digest& digest) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : digest) {
        text += digits[std::to_integer<unsigned>(byte >> 4)];
        text += digits[std::to_integer<unsigned>(byte & std::byte(15))];
    }
    return text;
}

} // namespace chainbase

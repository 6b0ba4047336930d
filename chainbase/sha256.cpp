#include <chainbase/sha256.hpp>
#include <pool_allocator/error.hpp>

#include <openssl/evp.h>

#include <new>

namespace chainbase {

namespace {

void require(int worked) {
    if (worked != 1) throw error("SHA-256: OpenSSL refuses it; check its configuration");
}

} // namespace

void sha256::release::operator()(evp_md_ctx_st* context) const noexcept {
    EVP_MD_CTX_free(context);
}

sha256::sha256() : context_(EVP_MD_CTX_new()) {
    if (!context_) throw std::bad_alloc();
    require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void sha256::add(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

sha256_digest sha256::finish() {
    sha256_digest digest;
    require(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                               nullptr));
    require(EVP_DigestInit_ex(context_.get(), nullptr, nullptr)); // the same algorithm again
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

#include <chainbase/state_root/tree_hash.hpp>

#include <array>
#include <cassert>
#include <cstring>

namespace chainbase::state_root {

namespace {

constexpr std::byte leaf_tag{0};
constexpr std::byte node_tag{1};
constexpr std::byte group_tag{2};
constexpr std::byte key_tag{3};

/// The bytes of one digest, laid out before they are hashed: one call is cheaper than several.
class preimage {
public:
    explicit preimage(std::byte tag) noexcept { bytes_[size_++] = tag; }
    void add(const sha256_digest& one) noexcept {
        std::memcpy(&bytes_[size_], one.data(), one.size());
        size_ += one.size();
    }
    void add(std::span<const sha256_digest> all) noexcept {
        for (const sha256_digest& one : all)
            add(one);
    }
    void add(std::uint16_t number) noexcept {
        bytes_[size_++] = static_cast<std::byte>(number);
        bytes_[size_++] = static_cast<std::byte>(number >> 8);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_, size_}; }

private:
    std::byte bytes_[3 + 10 * sizeof(sha256_digest)];
    std::size_t size_ = 0;
};

} // namespace

sha256_digest tree_hash::key(std::string_view type, std::uint32_t id) {
    std::array<std::byte, 5> begin{key_tag};
    for (unsigned i = 0; i < 4; ++i)
        begin[1 + i] = static_cast<std::byte>(id >> (8 * i));
    sha256_.add(begin);
    sha256_.add(std::as_bytes(std::span(type)));
    return sha256_.finish();
}

sha256_digest tree_hash::leaf(const sha256_digest& key, const sha256_digest& content) {
    preimage of(leaf_tag);
    of.add(key);
    of.add(content);
    return sha256_.of(of.bytes());
}

sha256_digest tree_hash::group(std::span<const sha256_digest> children) {
    assert(!children.empty() && children.size() <= 4);
    if (children.size() == 1) return children.front();
    preimage of(group_tag);
    of.add(children);
    return sha256_.of(of.bytes());
}

sha256_digest tree_hash::node_of_parts(std::uint16_t branches,
                                       std::span<const sha256_digest> parts) {
    assert(parts.size() <= 10);
    preimage of(node_tag);
    of.add(branches);
    of.add(parts);
    return sha256_.of(of.bytes());
}

sha256_digest tree_hash::node(std::uint16_t branches, std::span<const sha256_digest> children) {
    assert(children.size() == count_of(branches));
    if (!is_grouped(branches)) return node_of_parts(branches, children);
    std::array<sha256_digest, 4> groups;
    std::size_t count = 0;
    for (unsigned number = 0; number < 4; ++number) {
        const auto size =
            std::size_t{count_of(static_cast<std::uint16_t>(group_of(branches, number)))};
        if (size == 0) continue;
        groups[count++] = group(children.first(size));
        children = children.subspan(size);
    }
    return node_of_parts(branches, std::span(groups).first(count));
}

} // namespace chainbase::state_root

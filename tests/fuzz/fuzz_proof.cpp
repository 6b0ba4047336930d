// Proofs of presence and absence against a trusted root: any bytes, or a patched proof of an
// object. A proof shows an object only with its content, shows absence only of a missing object,
// and only in the bytes that prove() makes.
//
// Input: the queried id (2 bytes), then flags and the rest, as in patches.hpp. Flags: bit 0, the
// rest is the claimed leaf (32 bytes) and the proof; 1, no leaf is claimed; 2, the type is the
// other one; 3 and 4, which tree; 5, the type is one that the root does not commit to. Patches of
// file 0 change the proof; 1, continue from that place with another object's proof; 2, query
// another id; 3, claim another leaf.

#include <chainbase/state_root/state_tree.hpp>

#include <tests/fuzz/patches.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::proof_result;
using state_root::state_tree;

namespace {

using proof = std::vector<std::byte>;

constexpr std::array<std::string_view, 2> names{"account", "post"};
constexpr std::string_view unknown_name = "vote";

sha256_digest leaf_of(std::string_view type, std::uint32_t id) {
    sha256 hash;
    hash.add(std::as_bytes(std::span(type)));
    return hash.of(std::as_bytes(std::span(&id, 1)));
}

/// A tree of objects of two types, with even ids below `end`.
class known_tree {
public:
    explicit known_tree(std::uint32_t end) : end_(end) {
        for (std::size_t type = 0; type < names.size(); ++type) {
            std::vector<state_root::leaf_update> all;
            for (std::uint32_t id = 0; id < end; id += 2)
                all.push_back({id, leaf_of(names[type], id)});
            tree_.update(type, all);
        }
        root_ = tree_.root();
    }

    [[nodiscard]] bool has(std::uint32_t id) const noexcept { return id % 2 == 0 && id < end_; }
    /// Of a type that the root does not commit to: a proof of another one.
    [[nodiscard]] proof prove(std::string_view type, std::uint32_t id) const {
        return tree_.prove(tree_.number_of(type).value_or(0), id);
    }
    [[nodiscard]] const sha256_digest& root() const noexcept { return root_; }

private:
    std::uint32_t end_;
    state_tree tree_{{names.begin(), names.end()}};
    sha256_digest root_{};
};

/// Three levels of pages, two, one; an empty tree.
const known_tree& tree(unsigned number) {
    static const known_tree all[]{known_tree(600), known_tree(40), known_tree(2), known_tree(0)};
    return all[number];
}

/// The query.
struct question {
    std::string_view type;
    std::uint32_t id;
    std::optional<sha256_digest> leaf;
    proof bytes;
};

void require(bool condition) {
    if (!condition) std::abort();
}

void patch(question& of, const patches::patch& one, const known_tree& in) {
    proof& bytes = of.bytes;
    const std::size_t at = bytes.empty() ? 0 : one.byte % bytes.size();
    const auto id = static_cast<std::uint32_t>(one.number());
    switch (one.file % 4) {
    case 0:
        if (one.content.empty()) return bytes.resize(at);
        for (std::size_t i = 0; i < one.content.size() && at + i < bytes.size(); ++i)
            bytes[at + i] = static_cast<std::byte>(one.content[i]);
        return;
    case 1: {
        const proof other = in.prove(of.type, id);
        bytes.resize(at);
        if (at < other.size())
            bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(at), other.end());
        return;
    }
    case 2:
        of.id = id;
        return;
    default:
        of.leaf = leaf_of(of.type, id);
        if (one.content.size() == of.leaf->size())
            std::memcpy(of.leaf->data(), one.content.data(), one.content.size());
    }
}

/// Any bytes.
void read_all(question& of, std::span<const std::uint8_t> from) {
    of.leaf.emplace();
    const std::size_t known = std::min(from.size(), of.leaf->size());
    if (known != 0) std::memcpy(of.leaf->data(), from.data(), known);
    if (known < of.leaf->size()) of.leaf = leaf_of(of.type, of.id);
    const auto rest = std::as_bytes(from.subspan(known));
    of.bytes.assign(rest.begin(), rest.end());
}

void check(const question& asked, const known_tree& in) {
    const proof right = in.prove(asked.type, asked.id);
    const proof_result found =
        state_tree::verify(in.root(), asked.type, asked.id, asked.leaf, asked.bytes);
    if (asked.type == unknown_name) return require(found == proof_result::invalid);
    const bool is_right = asked.leaf == leaf_of(asked.type, asked.id);
    if (found == proof_result::included) require(in.has(asked.id) && is_right);
    if (found == proof_result::excluded) require(!in.has(asked.id));
    const bool shows = !in.has(asked.id) || is_right;
    require((found != proof_result::invalid) == (shows && asked.bytes == right));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const auto id = static_cast<std::uint32_t>(data[0] | data[1] << 8U);
    patches input(data + 2, size - 2);
    const known_tree& in = tree(input.flags() >> 3U & 3U);
    question asked{input.flag(5) ? unknown_name : names[input.flag(2)], id, std::nullopt, {}};
    if (input.flag(0)) {
        read_all(asked, input.rest());
    } else {
        asked.leaf = leaf_of(asked.type, id);
        asked.bytes = in.prove(asked.type, id);
        while (const auto one = input.next())
            patch(asked, *one, in);
    }
    if (input.flag(1)) asked.leaf.reset();
    asked.bytes.shrink_to_fit();
    check(asked, in);
    return 0;
}

#include <chainbase/state_root/proof.hpp>
#include <chainbase/state_root/tree_hash.hpp>
#include <pool_allocator/base/error.hpp>

#include <boost/container/static_vector.hpp>
#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace chainbase::state_root {

namespace {

constexpr std::byte proof_format{1};

enum class ending : std::uint8_t { object, nothing, another };

using digests = boost::container::static_vector<sha256_digest, branches_per_node>;

/// The digests of a step, in order, for a node that hashes by groups.
struct grouping {
    /// For a node with these branches and the child at `digit`.
    grouping(std::uint16_t branches, unsigned digit)
        : branches_(branches), has_child(branches >> digit & 1),
          is_grouped(tree_hash::is_grouped(branches)), own_group(digit / 4),
          own_place(below(branches, digit)),
          place_in_group(below(tree_hash::group_of(branches, own_group), digit % 4)) {}

    /// How many sibling digests the step has.
    [[nodiscard]] std::size_t siblings() const {
        if (!is_grouped) return count_of(branches_) - (has_child ? 1 : 0);
        return others_of_group() + groups() - (has_child ? 1 : 0);
    }
    /// The number of other children in the child's group.
    [[nodiscard]] std::size_t others_of_group() const {
        return has_child ? size_of(own_group) - 1 : 0;
    }
    [[nodiscard]] std::size_t size_of(unsigned group) const {
        return count_of(static_cast<std::uint16_t>(tree_hash::group_of(branches_, group)));
    }
    [[nodiscard]] std::size_t groups() const {
        std::size_t count = 0;
        for (unsigned group = 0; group < 4; ++group)
            count += size_of(group) != 0;
        return count;
    }
    /// The index of the child's group among the non-empty groups.
    [[nodiscard]] std::size_t place_of_group() const {
        std::size_t place = 0;
        for (unsigned group = 0; group < own_group; ++group)
            place += size_of(group) != 0;
        return place;
    }

    std::uint16_t branches_;
    bool has_child;
    bool is_grouped;
    unsigned own_group;
    unsigned own_place;
    unsigned place_in_group;

private:
    /// How many branches there are before `digit`.
    [[nodiscard]] static unsigned below(unsigned branches, unsigned digit) {
        return count_of(static_cast<std::uint16_t>(branches & ((1u << digit) - 1)));
    }
};

/// The step of a proof for a node.
digests siblings_of(const node_view& node, unsigned digit, tree_hash& hash) {
    const grouping by(node.branches(), digit);
    digests children;
    for (unsigned place = 0; place < node.size(); ++place)
        children.push_back(node.digest(place));
    if (!by.is_grouped) {
        if (by.has_child) children.erase(children.begin() + by.own_place);
        return children;
    }
    digests found;
    digests groups;
    std::span<const sha256_digest> rest(children.data(), children.size());
    for (unsigned group = 0; group < 4; ++group) {
        const auto members = rest.first(by.size_of(group));
        rest = rest.subspan(members.size());
        if (members.empty()) continue;
        if (group != by.own_group || !by.has_child) {
            groups.push_back(hash.group(members));
            continue;
        }
        for (std::size_t place = 0; place < members.size(); ++place)
            if (place != by.place_in_group) found.push_back(members[place]);
    }
    found.insert(found.end(), groups.begin(), groups.end());
    return found;
}

/// The digest of a node from what a step has of it, and the child's. Requires as many siblings as
/// the branches ask for.
sha256_digest node_of(std::uint16_t branches, unsigned digit, digests siblings,
                      const std::optional<sha256_digest>& own, tree_hash& hash) {
    const grouping by(branches, digit);
    if (!by.is_grouped) {
        if (own) siblings.insert(siblings.begin() + by.own_place, *own);
        return hash.node_of_parts(branches, siblings);
    }
    if (!own) return hash.node_of_parts(branches, siblings);
    const auto others = static_cast<std::ptrdiff_t>(by.others_of_group());
    digests group(siblings.begin(), siblings.begin() + others);
    group.insert(group.begin() + by.place_in_group, *own);
    digests groups(siblings.begin() + others, siblings.end());
    groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(by.place_of_group()),
                  hash.group(group));
    return hash.node_of_parts(branches, groups);
}

class writer {
public:
    void add(std::byte one) { bytes_.push_back(one); }
    void add(std::uint16_t number) {
        std::byte two[2];
        boost::endian::store_little_u16(reinterpret_cast<unsigned char*>(two), number);
        bytes_.insert(bytes_.end(), std::begin(two), std::end(two));
    }
    void add(const sha256_digest& digest) {
        bytes_.insert(bytes_.end(), digest.begin(), digest.end());
    }
    [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/// A reader that fails when the bytes run out.
class reader {
public:
    explicit reader(std::span<const std::byte> bytes) : rest_(bytes) {}

    std::byte byte() { return take(1) ? last_[0] : std::byte{0}; }
    std::uint16_t number() {
        if (!take(2)) return 0;
        return boost::endian::load_little_u16(reinterpret_cast<const unsigned char*>(last_.data()));
    }
    sha256_digest digest() {
        sha256_digest one{};
        if (take(one.size())) std::memcpy(one.data(), last_.data(), one.size());
        return one;
    }
    /// Whether everything was read and nothing was missing.
    [[nodiscard]] bool is_read() const noexcept { return good_ && rest_.empty(); }
    [[nodiscard]] bool is_good() const noexcept { return good_; }

private:
    bool take(std::size_t bytes) {
        good_ = good_ && rest_.size() >= bytes;
        if (!good_) return false;
        last_ = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return true;
    }
    std::span<const std::byte> rest_;
    std::span<const std::byte> last_;
    bool good_ = true;
};

struct step {
    std::uint16_t branches;
    digests siblings;
};

/// Parses a proof; nothing when it is malformed.
struct parts {
    std::vector<step> steps;
    ending end = ending::nothing;
    sha256_digest other_key{};
    sha256_digest other_content{};

    static std::optional<parts> of(std::span<const std::byte> proof, const sha256_digest& key) {
        reader from(proof);
        if (from.byte() != proof_format) return std::nullopt;
        parts all;
        const auto levels = std::to_integer<unsigned>(from.byte());
        if (levels > max_levels) return std::nullopt;
        for (unsigned level = 0; level < levels && from.is_good(); ++level) {
            step& one = all.steps.emplace_back(step{from.number(), {}});
            for (std::size_t left = grouping(one.branches, digit(key, level)).siblings();
                 left != 0 && from.is_good(); --left)
                one.siblings.push_back(from.digest());
        }
        const auto end = std::to_integer<unsigned>(from.byte());
        if (end > static_cast<unsigned>(ending::another)) return std::nullopt;
        all.end = static_cast<ending>(end);
        if (all.end == ending::another) {
            all.other_key = from.digest();
            all.other_content = from.digest();
        }
        if (!from.is_read()) return std::nullopt;
        return all;
    }
};

/// The root computed from the steps and the leaf at their end; nothing when they are inconsistent.
std::optional<sha256_digest> root_of(const parts& proof, const sha256_digest& key,
                                     std::optional<sha256_digest> leaf, tree_hash& hash) {
    if (proof.steps.empty()) {
        if (leaf) return std::nullopt;
        return sha256_digest{};
    }
    for (std::size_t level = proof.steps.size(); level-- != 0;) {
        const step& one = proof.steps[level];
        const unsigned branch = digit(key, static_cast<unsigned>(level));
        const bool has_child = one.branches >> branch & 1;
        if (has_child != leaf.has_value()) return std::nullopt;
        leaf = node_of(one.branches, branch, one.siblings, leaf, hash);
    }
    return leaf;
}

/// The path from the root towards a key.
struct way {
    writer steps;
    std::uint8_t levels = 0;
    std::optional<child> end; ///< the leaf at its end

    static way to(const sha256_digest& key, const node_source& tree, tree_hash& hash) {
        way found;
        for (std::optional<node_ref> at = tree.root(); at; ++found.levels) {
            const node_view node = tree.node_at(*at, found.levels);
            const unsigned branch = digit(key, found.levels);
            found.steps.add(node.branches());
            for (const sha256_digest& one : siblings_of(node, branch, hash))
                found.steps.add(one);
            at.reset();
            if (!node.has(branch)) continue;
            const child next = node.at_digit(branch);
            if (next.is_leaf)
                found.end = next;
            else
                at = node_ref(next.reference);
        }
        return found;
    }
};

} // namespace

std::vector<std::byte> prove(const node_source& tree, std::string_view type, std::uint32_t id,
                             const content_of& content) {
    tree_hash hash;
    const sha256_digest key = hash.key(type, id);
    way found = way::to(key, tree, hash);
    writer proof;
    proof.add(proof_format);
    proof.add(std::byte{found.levels});
    proof.bytes().insert(proof.bytes().end(), found.steps.bytes().begin(),
                         found.steps.bytes().end());
    const auto end = [&](ending how) { proof.add(static_cast<std::byte>(how)); };
    if (!found.end) {
        end(ending::nothing);
    } else if (const std::string_view name = tree.type_name(found.end->type);
               name == type && found.end->reference == id) {
        end(ending::object);
    } else {
        end(ending::another);
        proof.add(hash.key(name, found.end->reference));
        proof.add(content(name, found.end->reference));
    }
    return std::move(proof.bytes());
}

proof_result verify(const sha256_digest& root, std::string_view type, std::uint32_t id,
                    const std::optional<sha256_digest>& content, std::span<const std::byte> proof) {
    tree_hash hash;
    const sha256_digest key = hash.key(type, id);
    const auto found = parts::of(proof, key);
    if (!found) return proof_result::invalid;
    std::optional<sha256_digest> leaf;
    if (found->end == ending::object) {
        if (!content) return proof_result::invalid;
        leaf = hash.leaf(key, *content);
    } else if (found->end == ending::another) {
        const auto levels = static_cast<unsigned>(found->steps.size());
        if (found->other_key == key || !begin_alike(found->other_key, key, levels))
            return proof_result::invalid;
        leaf = hash.leaf(found->other_key, found->other_content);
    }
    if (root_of(*found, key, leaf, hash) != root) return proof_result::invalid;
    return found->end == ending::object ? proof_result::included : proof_result::excluded;
}

} // namespace chainbase::state_root

#include <chainbase/state_root/state_tree.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <array>
#include <new>

namespace chainbase::state_root {

namespace {

constexpr std::byte format_of_proofs{2};
constexpr unsigned highest = 32; ///< height of a tree of ids

// What a proof says of its object: whether the way of its id leads to a leaf of the type's tree.
constexpr std::byte is_within{0};
constexpr std::byte is_beyond{1};

/// height:u8, then a bit for each digest of the path that is something, and those.
void append_path(const merkle_path& path, std::vector<std::byte>& to) {
    to.push_back(static_cast<std::byte>(path.size()));
    for (std::size_t first = 0; first < path.size(); first += 8) {
        unsigned bits = 0;
        for (std::size_t i = first; i < std::min(first + 8, path.size()); ++i)
            if (path[i] != no_digest) bits |= 1u << (i - first);
        to.push_back(static_cast<std::byte>(bits));
    }
    for (const sha256_digest& one : path)
        if (one != no_digest) to.insert(to.end(), one.begin(), one.end());
}

/// Reads a proof. Once there is too little or too much of something, everything is nothing.
class proof_reader {
public:
    explicit proof_reader(std::span<const std::byte> proof) : left_(proof) {}

    [[nodiscard]] std::byte byte() {
        const auto taken = take(1);
        return taken.empty() ? std::byte{} : taken.front();
    }
    [[nodiscard]] sha256_digest digest() {
        sha256_digest read{};
        const auto taken = take(sizeof read);
        std::ranges::copy(taken, read.begin());
        return read;
    }
    /// A digest that is left out where it is nothing must not be written as nothing: there is one
    /// way to write a proof.
    [[nodiscard]] merkle_path path() {
        const auto height = std::to_integer<unsigned>(byte());
        if (height > highest || height % 4 != 0) is_good_ = false;
        if (!is_good_) return {};
        merkle_path read(height);
        const auto bits = take((height + 7) / 8);
        for (std::size_t i = 0; i < 8 * bits.size(); ++i) {
            if ((std::to_integer<unsigned>(bits[i / 8]) >> i % 8 & 1) == 0) continue;
            if (i >= height) {
                is_good_ = false;
                break;
            }
            read[i] = digest();
            if (read[i] == no_digest) is_good_ = false;
        }
        return read;
    }
    /// Whether all was read, and nothing is left.
    [[nodiscard]] bool has_ended() const noexcept { return is_good_ && left_.empty(); }

private:
    [[nodiscard]] std::span<const std::byte> take(std::size_t count) {
        if (left_.size() < count) is_good_ = false;
        if (!is_good_) return {};
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }

    std::span<const std::byte> left_;
    bool is_good_ = true;
};

} // namespace

state_tree::state_tree(std::vector<std::string> types) : names_(std::move(types)) {
    std::ranges::sort(names_);
    trees_.resize(names_.size());
    over_types_ = over_types();
    has_over_types_ = true;
}

std::optional<std::size_t> state_tree::number_of(std::string_view type) const noexcept {
    const auto found = std::ranges::lower_bound(names_, type);
    if (found == names_.end() || *found != type) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
}

void state_tree::update(std::size_t type, std::span<const leaf_update> updates, thread_pool* pool) {
    const type_changes alone{type, updates};
    update({&alone, 1}, pool);
}

void state_tree::update(std::span<const type_changes> changes, thread_pool* pool) {
    std::vector<id_tree::changes> all;
    for (const type_changes& one : changes)
        all.push_back({&trees_.at(one.type), one.updates});
    id_tree::update_all(all, pool, work_);
    try {
        std::vector<leaf_update> sealed_types;
        for (const type_changes& one : changes)
            sealed_types.push_back(sealed_type(one.type));
        std::ranges::sort(sealed_types, {}, &leaf_update::id);
        const id_tree::changes of_types{&over_types_, sealed_types};
        id_tree::update_all({&of_types, 1}, nullptr, work_);
    } catch (const std::bad_alloc&) {
        has_over_types_ = false; // root() makes it anew
    }
}

std::uint64_t state_tree::leaves() const noexcept {
    std::uint64_t sum = 0;
    for (const id_tree& one : trees_)
        sum += one.leaves();
    return sum;
}

std::uint64_t state_tree::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const id_tree& one : trees_)
        sum += one.bytes();
    return sum;
}

leaf_update state_tree::sealed_type(std::size_t type) const {
    return {static_cast<std::uint32_t>(type),
            sealed(trees_[type].height(), trees_[type].root(), names_[type])};
}

id_tree state_tree::over_types() const {
    std::vector<leaf_update> sealed_types;
    for (std::size_t type = 0; type < trees_.size(); ++type)
        sealed_types.push_back(sealed_type(type));
    id_tree all;
    all.update(sealed_types);
    return all;
}

sha256_digest state_tree::root() const {
    if (has_over_types_) return sealed(over_types_.height(), over_types_.root(), {});
    const id_tree all = over_types();
    return sealed(all.height(), all.root(), {});
}

std::vector<std::byte> state_tree::prove(std::size_t type, std::uint32_t id) const {
    const id_tree& objects = trees_.at(type);
    std::vector<std::byte> proof{format_of_proofs};
    if (objects.reaches(id)) {
        proof.push_back(is_within);
        append_path(objects.path(id), proof);
    } else {
        proof.push_back(is_beyond);
        proof.push_back(static_cast<std::byte>(objects.height()));
        proof.insert(proof.end(), objects.root().begin(), objects.root().end());
    }
    const auto number = static_cast<std::uint32_t>(type);
    std::array<unsigned char, sizeof number> place{};
    boost::endian::store_little_u32(place.data(), number);
    for (const unsigned char one : place)
        proof.push_back(static_cast<std::byte>(one));
    append_path(over_types().path(number), proof);
    return proof;
}

proof_result state_tree::verify(const sha256_digest& root, std::string_view type, std::uint32_t id,
                                const std::optional<sha256_digest>& leaf,
                                std::span<const std::byte> proof) {
    proof_reader from(proof);
    if (from.byte() != format_of_proofs) return proof_result::invalid;
    const std::byte kind = from.byte();
    merkle_path way;
    sha256_digest objects{};
    auto height = std::uint64_t{0};
    if (kind == is_within) {
        way = from.path();
        height = way.size();
    } else if (kind == is_beyond) {
        height = std::to_integer<std::uint64_t>(from.byte());
        if (height > highest || height % 4 != 0) return proof_result::invalid;
        objects = from.digest();
    } else {
        return proof_result::invalid;
    }
    std::uint32_t number = 0;
    for (unsigned i = 0; i < sizeof number; ++i)
        number |= std::to_integer<std::uint32_t>(from.byte()) << (8 * i);
    const merkle_path of_types = from.path();
    if (!from.has_ended()) return proof_result::invalid;
    const auto is_below = [](std::uint64_t place, std::uint64_t height_of) {
        return height_of != 0 && place >> height_of == 0;
    };
    if (is_below(id, height) != (kind == is_within) || !is_below(number, of_types.size()))
        return proof_result::invalid;

    const auto holds = [&](const sha256_digest& object) {
        const sha256_digest tree = kind == is_within ? climb(id, object, way) : objects;
        const sha256_digest of_type = sealed(static_cast<unsigned>(height), tree, type);
        return sealed(static_cast<unsigned>(of_types.size()), climb(number, of_type, of_types),
                      {}) == root;
    };
    if (leaf && *leaf != no_digest && kind == is_within && holds(*leaf))
        return proof_result::included;
    return holds(no_digest) ? proof_result::excluded : proof_result::invalid;
}

} // namespace chainbase::state_root

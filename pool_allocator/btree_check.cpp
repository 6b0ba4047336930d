#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree_images.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

using detail::cut;
using detail::free_level;
using detail::slice_at;

void btree::require_within(std::size_t bytes) const {
    const std::size_t end =
        window_header::page_bytes + std::size_t{state_.nodes.high_water} * sizeof(btree_node);
    if (state_.nodes.high_water > 1 && end > bytes)
        throw_damaged(state_.nodes.high_water - 1, "last of those in use, beyond the file's " +
                                                       std::to_string(bytes) + " bytes");
}

usage btree::measure(const window& file) noexcept {
    usage used;
    used.total = file.bytes();
    // and the slot that stays unused, once it is in the file
    used.header =
        std::min<std::uint64_t>(used.total, window_header::page_bytes + sizeof(btree_node));
    used.links = std::uint64_t{state_in(file).nodes.live - 1} * sizeof(btree_node);
    used.slack = used.total - used.header - used.links;
    used.find_holes(file);
    return used;
}

/// Walks a tree that may hold anything: every node once.
class btree::checker {
public:
    checker(const btree& tree, const finding& found) : tree_(tree), found_(found) {}

    void run() {
        const btree_state& words = tree_.state_;
        const bool is_empty = words.root == 0;
        if (words.levels > max_levels || is_empty != (words.levels == 0))
            return found_(0, std::to_string(words.levels) + " levels, and the root is node " +
                                 std::to_string(words.root));
        seen_.resize(words.nodes.high_water);
        if (!is_empty) walk(words.root, words.levels - 1, nullptr, nullptr);
        require(words.last, last_leaf_, 0, "the last leaf");
        if (last_leaf_ != 0)
            require(tree_.node_at(last_leaf_).next, 0, last_leaf_, "its neighbour");
        if (is_empty) require(words.first, 0, 0, "the first leaf");
        require(words.size, entries_, 0, "entries");
        require(words.nodes.live, reached_ + 1, 0, "nodes in use and one more");
        try {
            for (const slot_number free : words.nodes.free_slots(tree_.file_))
                if (seen_[free] || tree_.node_at(free).level != free_level)
                    found_(free, "is free and in use");
        } catch (const damaged_error& e) {
            found_(0, e.what());
        }
    }

private:
    void require(std::uint32_t is, std::uint32_t should, std::uint32_t node, const char* what) {
        if (is != should)
            found_(node, std::string(what) + " is " + std::to_string(is) + " and should be " +
                             std::to_string(should));
    }

    /// A key, or with no `whole` the first one of these bits.
    struct bound {
        btree_key bits;
        std::string whole;
    };
    [[nodiscard]] int order(const bound& a, const bound& b) const {
        const int first = tree_.order(a.bits, b.bits);
        return first != 0 ? first : a.whole.compare(b.whole);
    }

    void walk(std::uint32_t number, std::uint32_t level, const bound* low, const bound* high) {
        try {
            btree_node& node = tree_.checked(number, level);
            if (seen_[number]) return found_(number, "two nodes lead to it");
            seen_[number] = true;
            ++reached_;
            if (level == 0) return read_leaf(number, node, low, high);
            const inner_image image = tree_.inner_image_of(node);
            std::vector<bound> separators;
            for (std::uint32_t i = 0; i < image.count; ++i) {
                separators.push_back(bound_of(number, i, image.separators[i]));
                require_between(number, separators[i], i == 0 ? low : &separators[i - 1], high,
                                "separator " + std::to_string(i));
            }
            for (std::uint32_t i = 0; i <= image.count; ++i)
                walk(image.children[i], level - 1, i == 0 ? low : &separators[i - 1],
                     i == image.count ? high : &separators[i]);
        } catch (const damaged_error& e) {
            found_(number, e.what());
        }
    }

    bound bound_of(std::uint32_t node, std::uint32_t index, const separator& of) {
        bound found{of.bits, {}};
        if (of.tie == 0) return found;
        const std::string what = "separator " + std::to_string(index) + ", a tie";
        try {
            btree_wanted tie(tree_.keys_.read_whole(of.tie));
            if (tie.bits != of.bits) found_(node, what + " has other bits than its object");
            found.whole = std::move(tie.whole);
        } catch (const damaged_error& e) {
            found_(node, what + ": " + e.what());
        }
        return found;
    }

    void require_between(std::uint32_t node, const bound& key, const bound* low, const bound* high,
                         const std::string& what) {
        if ((low && order(key, *low) < 0) || (high && order(key, *high) >= 0))
            found_(node, what + " is not between the separators around it");
    }

    void read_leaf(std::uint32_t number, btree_node& node, const bound* low, const bound* high) {
        require(node.previous, last_leaf_, number, "its neighbour");
        if (last_leaf_ == 0)
            require(tree_.state_.first, number, 0, "the first leaf");
        else
            require(tree_.node_at(last_leaf_).next, number, last_leaf_, "its neighbour");
        last_leaf_ = number;
        entries_ += node.count;
        const leaf_image image = tree_.image_of(node);
        std::optional<bound> before;
        for (std::uint32_t i = 0; i < image.count; ++i) {
            const std::string what = "entry " + std::to_string(i);
            std::optional<bound> key = key_of(number, what, image.entries[i].slot);
            if (!key) continue;
            require_between(number, *key, low, high, what);
            if (before && order(*before, *key) >= 0)
                found_(number, what + " is not behind the one before it");
            if (cut(key->bits, image.shared) != image.prefix ||
                slice_at(key->bits, image.shared) != image.entries[i].slice)
                found_(number, what + " has other bits than the key of its object");
            before = std::move(key);
        }
    }

    std::optional<bound> key_of(std::uint32_t node, const std::string& what, slot_number slot) {
        try {
            bound found{tree_.keys_.read(slot), {}};
            if (tree_.is_any_length_) found.whole = tree_.keys_.read_whole(slot);
            return found;
        } catch (const damaged_error& e) {
            found_(node, what + ": " + e.what());
            return std::nullopt;
        }
    }

    const btree& tree_;
    const finding& found_;
    std::vector<bool> seen_;
    std::uint32_t reached_ = 0;
    std::uint32_t entries_ = 0;
    std::uint32_t last_leaf_ = 0;
};

void btree::check(const finding& found) const {
    checker(*this, found).run();
}

} // namespace chainbase

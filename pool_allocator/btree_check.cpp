#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree_images.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
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

    void walk(std::uint32_t number, std::uint32_t level, const btree_key* low,
              const btree_key* high) {
        try {
            btree_node& node = tree_.checked(number, level);
            if (seen_[number]) return found_(number, "two nodes lead to it");
            seen_[number] = true;
            ++reached_;
            if (level == 0) return read_leaf(number, node, low, high);
            const inner_image image = tree_.inner_image_of(node);
            for (std::uint32_t i = 0; i < image.count; ++i)
                require_between(number, image.separators[i],
                                i == 0 ? low : &image.separators[i - 1], high,
                                "separator " + std::to_string(i));
            for (std::uint32_t i = 0; i <= image.count; ++i)
                walk(image.children[i], level - 1, i == 0 ? low : &image.separators[i - 1],
                     i == image.count ? high : &image.separators[i]);
        } catch (const damaged_error& e) {
            found_(number, e.what());
        }
    }

    void require_between(std::uint32_t node, const btree_key& key, const btree_key* low,
                         const btree_key* high, const std::string& what) {
        if ((low && tree_.order(key, *low) < 0) || (high && tree_.order(key, *high) >= 0))
            found_(node, what + " is not between the separators around it");
    }

    void read_leaf(std::uint32_t number, btree_node& node, const btree_key* low,
                   const btree_key* high) {
        require(node.previous, last_leaf_, number, "its neighbour");
        if (last_leaf_ == 0)
            require(tree_.state_.first, number, 0, "the first leaf");
        else
            require(tree_.node_at(last_leaf_).next, number, last_leaf_, "its neighbour");
        last_leaf_ = number;
        entries_ += node.count;
        const leaf_image image = tree_.image_of(node);
        std::optional<btree_key> before;
        for (std::uint32_t i = 0; i < image.count; ++i) {
            const std::string what = "entry " + std::to_string(i);
            const std::optional<btree_key> read = key_of(number, what, image.entries[i].slot);
            if (!read) continue;
            const btree_key& key = *read;
            require_between(number, key, low, high, what);
            if (before && tree_.order(*before, key) >= 0)
                found_(number, what + " is not behind the one before it");
            if (cut(key, image.shared) != image.prefix ||
                slice_at(key, image.shared) != image.entries[i].slice)
                found_(number, what + " has other bits than the key of its object");
            before = key;
        }
    }

    std::optional<btree_key> key_of(std::uint32_t node, const std::string& what, slot_number slot) {
        try {
            return tree_.keys_.read(slot);
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

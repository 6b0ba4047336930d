#include <chainbase/check/tree_check.hpp>
#include <pool_allocator/compact_links.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::check {

namespace {

// Where the words of a node's links are (compact_links.hpp).
constexpr std::size_t parent_word = 0;
constexpr std::size_t left_word = 4;
constexpr std::size_t right_word = 8;
constexpr std::size_t size_word = 12;

constexpr std::int64_t none = -1;

class tree_walk {
public:
    tree_walk(object_slots& objects, const rows::type_layout::tree& of, const rows::key_reader& key,
              part_report& to)
        : objects_(objects), of_(of), key_(key), to_(to), is_reached_(objects.end(), false) {}

    void run() {
        walk();
        check_header();
        check_all_reached();
        to_.count("nodes", reached_);
        to_.count("height", height_);
        if (!key_.why_no_order().empty())
            to_.not_checked.push_back("the order: " + key_.why_no_order());
    }

private:
    /// What is known of a subtree when it was left. Not known is what hangs below a wrong link, and
    /// the black height of what was found to have two.
    struct subtree {
        std::uint32_t black = 0;
        std::uint32_t size = 0;
        bool knows_black = true;
        bool knows_size = true;
    };
    struct step {
        slot_number slot;
        enum { left, self, right } next;
        subtree below_left;
    };

    [[nodiscard]] std::uint32_t word(slot_number slot, std::size_t at) const noexcept {
        return copy_at<std::uint32_t>(objects_.node(slot) + of_.links_at + at);
    }
    [[nodiscard]] bool is_red(slot_number slot) const noexcept {
        return (word(slot, parent_word) & 1) == 0;
    }
    /// The slot that a link leads to, which may be any number; `none` for no node.
    [[nodiscard]] std::int64_t target(slot_number slot, std::size_t at) const noexcept {
        auto distance = static_cast<std::int32_t>(word(slot, at));
        if (at == parent_word) distance >>= 1;
        if (distance == links::distance<int, sizeof(int)>::none) return none;
        const std::int64_t to = std::int64_t{slot} + distance;
        return to < 0 ? INT64_MAX : to;
    }
    void add(slot_number slot, std::size_t at, std::string what) {
        objects_.add(to_, slot, of_.links_at + at, std::move(what));
    }
    static std::string text_of(std::int64_t slot) {
        return slot == none        ? std::string("nowhere")
               : slot == INT64_MAX ? std::string("before the first slot")
                                   : "to slot " + std::to_string(slot);
    }

    void walk() {
        descend(0, parent_word);
        while (!path_.empty()) {
            step& at = path_.back();
            height_ = std::max<std::uint64_t>(height_, path_.size());
            if (at.next == step::left) {
                at.next = step::self;
                descend(at.slot, left_word);
            } else if (at.next == step::self) {
                at.next = step::right;
                at.below_left = last_;
                check_order(at.slot);
                descend(at.slot, right_word);
            } else {
                last_ = leave(at.slot, at.below_left, last_);
                path_.pop_back();
            }
        }
    }

    /// Goes to where a link leads. If that is nowhere, or the link is wrong, `last_` is what is
    /// there.
    void descend(slot_number from, std::size_t link) {
        last_ = {};
        const std::int64_t to = target(from, link);
        if (to == none) return;
        const auto refuse = [&](const std::string& why) {
            add(from, link, objects_.text_of(from) + ": its link leads " + text_of(to) + why);
            last_ = {0, 0, false, false};
        };
        if (!objects_.is_live(static_cast<std::uint64_t>(to)))
            return refuse(", which is no object");
        const auto slot = static_cast<slot_number>(to);
        if (is_reached_[slot]) return refuse(", which was reached already");
        is_reached_[slot] = true;
        ++reached_;
        if (target(slot, parent_word) != from)
            add(slot, parent_word,
                objects_.text_of(slot) + ": its parent is " + objects_.text_of(from) +
                    ", its link leads " + text_of(target(slot, parent_word)));
        if (is_red(slot) && (from == 0 || is_red(from)))
            add(slot, parent_word,
                objects_.text_of(slot) + ": is red below " +
                    (from == 0 ? "nothing" : "the red " + objects_.text_of(from)));
        path_.push_back({slot, step::left, {}});
    }

    /// Non-unique keys may be equal.
    void check_order(slot_number slot) {
        if (previous_ != 0) {
            const auto order = key_.compare(objects_.value(previous_), objects_.value(slot));
            if (order && (*order > 0 || (of_.is_unique && *order == 0))) {
                objects_.hurt(previous_);
                objects_.add(to_, slot, objects_.schema().value_offset,
                             fmt::format("{}: its key is {} that of {}, which comes before it",
                                         objects_.text_of(slot), *order == 0 ? "equal to" : "below",
                                         objects_.text_of(previous_)));
            }
        } else {
            first_ = slot;
        }
        previous_ = slot;
    }

    subtree leave(slot_number slot, const subtree& left, const subtree& right) {
        subtree all;
        all.size = left.size + right.size + 1;
        all.knows_size = left.knows_size && right.knows_size;
        all.black = left.black + (is_red(slot) ? 0 : 1);
        all.knows_black = left.knows_black && right.knows_black;
        if (all.knows_black && left.black != right.black) {
            add(slot, parent_word,
                fmt::format("{}: {} black nodes below its left link, {} below its right one",
                            objects_.text_of(slot), left.black, right.black));
            all.knows_black = false;
        }
        if (of_.is_ranked && all.knows_size && word(slot, size_word) != all.size)
            add(slot, size_word,
                fmt::format("{}: counts {} nodes, its subtree has {}", objects_.text_of(slot),
                            word(slot, size_word), all.size));
        return all;
    }

    /// Slot 0 knows the root, and the first and the last node.
    void check_header() {
        if (!is_red(0)) add(0, parent_word, "the header is black");
        const auto expect = [&](std::size_t at, slot_number slot, const char* name) {
            if (target(0, at) != slot)
                add(0, at,
                    fmt::format("the {} object is in slot {}, the header's link leads {}", name,
                                slot, text_of(target(0, at))));
        };
        if (reached_ != objects_.live()) return; // then nobody knows which these are
        expect(left_word, first_, "first");
        expect(right_word, previous_, "last");
    }

    void check_all_reached() {
        std::uint64_t lost = 0;
        slot_number first = 0;
        for (slot_number slot = 1; slot < objects_.end(); ++slot) {
            if (!objects_.is_live(slot) || is_reached_[slot]) continue;
            if (lost++ == 0) first = slot;
            objects_.hurt(slot);
        }
        if (lost != 0)
            add(first, parent_word,
                fmt::format("{} objects are not reached, the first is {}", lost,
                            objects_.text_of(first)));
    }

    object_slots& objects_;
    const rows::type_layout::tree& of_;
    const rows::key_reader& key_;
    part_report& to_;
    std::vector<bool> is_reached_;
    std::vector<step> path_;
    subtree last_;
    slot_number first_ = 0;
    slot_number previous_ = 0;
    std::uint64_t reached_ = 0;
    std::uint64_t height_ = 0;
};

} // namespace

void check_tree(object_slots& objects, const rows::type_layout::tree& of,
                const rows::key_reader& key, part_report& to) {
    tree_walk(objects, of, key, to).run();
}

} // namespace chainbase::check

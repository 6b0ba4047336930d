#include <chainbase/offline/check/slot_checks.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree.hpp>
#include <pool_allocator/link_words.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::check {

namespace {

class table_walk {
public:
    table_walk(object_slots& objects, const window& file, const rows::type_layout::table& of,
               const rows::key_reader& key, part_report& to)
        : objects_(objects), file_(file), of_(of), key_(key), to_(to),
          words_(copy_at<hash_state>(objects.file().root() + of.words_at)),
          is_reached_(objects.end(), false) {}

    void run() {
        if (!is_in_file()) return;
        take_seed();
        to_.count("capacity", capacity());
        if (const auto start = first_empty())
            walk_from(*start);
        else
            add(0, {}, "no entry is free, so a search would not end");
        check_count();
        check_duplicates();
        check_all_reached();
        to_.count("entries", known_.size());
        to_.count("objects", reached_);
        to_.count("longest probe", longest_);
        if (!key_.why_no_hash().empty()) to_.not_checked.push_back("hashes: " + key_.why_no_hash());
        if (!key_.why_no_order().empty())
            to_.not_checked.push_back("whether keys are equal: " + key_.why_no_order());
    }

private:
    [[nodiscard]] std::uint64_t capacity() const noexcept {
        return std::uint64_t{1} << words_.log2_capacity;
    }
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const noexcept {
        return hash_table::area_offset(words_.log2_capacity) + i * hash_table::entry_bytes;
    }
    [[nodiscard]] hash_entry at(std::uint64_t i) const noexcept {
        return copy_at<hash_entry>(file_.base() + offset_of(i));
    }
    void add(std::uint64_t i, std::optional<slot_number> slot, std::string what) {
        finding found{part_report::file_of(file_), offset_of(i), std::move(what)};
        if (slot) {
            found.slot = *slot;
            found.object = objects_.id(*slot);
            objects_.mark_damaged(*slot);
        }
        to_.add(std::move(found));
    }
    void add_words(std::string what) {
        to_.add(objects_.file(), root_offset + of_.words_at, std::move(what));
    }

    bool is_in_file() {
        if (hash_table::fits(words_, readable(file_))) return true;
        add_words(fmt::format("a table of 2^{} entries does not fit a file of {} bytes",
                              words_.log2_capacity, readable(file_)));
        return false;
    }

    void take_seed() {
        const hash_key_words& words = hash_table::key_words(file_);
        if (words.is_whole())
            seed_ = words.seed;
        else
            to_.add(file_, root_offset, "the seed of its hashes is altered, so nothing is found");
    }

    [[nodiscard]] std::optional<std::uint64_t> first_empty() const {
        for (std::uint64_t i = 0; i < capacity(); ++i)
            if (at(i).slot == 0) return i;
        return std::nullopt;
    }

    /// Walks once around from an empty entry, so that no run of entries is split.
    void walk_from(std::uint64_t start) {
        std::uint64_t run = 0; // entries since the last empty one
        for (std::uint64_t step = 0; step < capacity(); ++step) {
            const std::uint64_t i = (start + step) & (capacity() - 1);
            const hash_entry here = at(i);
            if (here.slot == 0) {
                run = 0;
                if (here.hash != 0) add(i, {}, "an empty entry has a hash");
                continue;
            }
            check_entry(i, here, run++);
        }
    }

    void check_entry(std::uint64_t i, hash_entry here, std::uint64_t run) {
        ++entries_;
        if (!objects_.is_live(here.slot))
            return add(
                i, {},
                fmt::format("the entry leads to slot {}, which is not an object", here.slot));
        if (is_reached_[here.slot])
            return add(i, here.slot, objects_.text_of(here.slot) + ": has two entries");
        const auto hash = seed_ ? key_.hash(objects_.value(here.slot), *seed_) : std::nullopt;
        if (hash && *hash != here.hash)
            add(i, here.slot,
                fmt::format("{}: the hash of its key is {:#010x}, its entry has {:#010x}",
                            objects_.text_of(here.slot), *hash, here.hash));
        const std::uint64_t home = hash_table::home(here.hash, words_.log2_capacity);
        const std::uint64_t probes = (i - home) & (capacity() - 1);
        longest_ = std::max(longest_, std::min(probes, run));
        if (probes > run)
            add(i, here.slot,
                fmt::format("{}: a search that begins at entry {} ends before entry {}, where it "
                            "is",
                            objects_.text_of(here.slot), home, i));
        known_.push_back(here);
        walk_ring(i, here.slot);
    }

    /// All objects of the same key; of a unique one, only this.
    void walk_ring(std::uint64_t i, slot_number head) {
        for (slot_number slot = head;;) {
            is_reached_[slot] = true;
            ++reached_;
            if (!of_.ring_at) return;
            const auto next = copy_at<slot_number>(objects_.node(slot) + *of_.ring_at);
            if (!objects_.is_live(next) || (next != head && is_reached_[next]))
                return objects_.add(
                    to_, slot, *of_.ring_at,
                    fmt::format("{}: the next one of its key is slot {}, which is "
                                "{}",
                                objects_.text_of(slot), next,
                                objects_.is_live(next) ? "in another place" : "not an object"));
            const auto back = copy_at<slot_number>(objects_.node(next) + *of_.ring_at + 4);
            if (back != slot)
                objects_.add(to_, next, *of_.ring_at + 4,
                             fmt::format("{}: the one before it is in slot {}, but its link "
                                         "leads to slot {}",
                                         objects_.text_of(next), slot, back));
            if (next == head) return;
            const auto order = key_.compare(objects_.value(head), objects_.value(next));
            if (order && *order != 0)
                add(i, next,
                    objects_.text_of(next) + ": has another key than those of its ring, as " +
                        objects_.text_of(head));
            else if (objects_.id(next) < objects_.id(slot))
                add(i, next,
                    objects_.text_of(next) + ": comes in its ring after " + objects_.text_of(slot) +
                        ", which has a larger id");
            slot = next;
        }
    }

    void check_count() {
        if (entries_ == words_.used) return;
        add_words(fmt::format("{} entries are counted, but there are {}", words_.used, entries_));
    }

    /// Those of the same hash side by side: few are, unless keys are equal.
    void check_duplicates() {
        std::sort(known_.begin(), known_.end(), [](const hash_entry& a, const hash_entry& b) {
            return a.hash != b.hash ? a.hash < b.hash : a.slot < b.slot;
        });
        for (std::size_t i = 1; i < known_.size(); ++i) {
            const slot_number one = known_[i - 1].slot;
            const slot_number other = known_[i].slot;
            if (known_[i - 1].hash != known_[i].hash) continue;
            const auto order = key_.compare(objects_.value(one), objects_.value(other));
            if (!order || *order != 0) continue;
            objects_.mark_damaged(one);
            objects_.add(to_, other, objects_.schema().value_offset,
                         objects_.text_of(other) + ": has an entry of the same key as " +
                             objects_.text_of(one));
        }
    }

    void check_all_reached() {
        const auto lost = objects_.mark_unreached(is_reached_);
        if (lost.count != 0)
            add(0, lost.first,
                fmt::format("{} objects have no entry, the first is {}", lost.count,
                            objects_.text_of(lost.first)));
    }

    object_slots& objects_;
    const window& file_;
    const rows::type_layout::table& of_;
    const rows::key_reader& key_;
    part_report& to_;
    hash_state words_;
    std::optional<hash_seed> seed_; ///< empty if it is altered
    std::vector<bool> is_reached_;
    std::vector<hash_entry> known_; ///< entries that lead to an object, each to another one
    std::uint64_t entries_ = 0;
    std::uint64_t reached_ = 0;
    std::uint64_t longest_ = 0;
};

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
    using link = links::word;

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

    [[nodiscard]] std::size_t offset_of(link at) const noexcept {
        return of_.links_at + static_cast<std::size_t>(at);
    }
    [[nodiscard]] std::uint32_t word(slot_number slot, link at) const noexcept {
        return copy_at<std::uint32_t>(objects_.node(slot) + offset_of(at));
    }
    [[nodiscard]] bool is_red(slot_number slot) const noexcept {
        return links::is_red(word(slot, link::parent));
    }
    /// The slot that a link leads to, which may be any number; `none` for no node.
    [[nodiscard]] std::int64_t target(slot_number slot, link at) const noexcept {
        const std::int32_t distance = links::distance_in(word(slot, at), at);
        if (distance == links::no_node) return none;
        const std::int64_t to = std::int64_t{slot} + distance;
        return to < 0 ? INT64_MAX : to;
    }
    void add(slot_number slot, link at, std::string what) {
        objects_.add(to_, slot, offset_of(at), std::move(what));
    }
    static std::string text_of(std::int64_t slot) {
        return slot == none        ? std::string("nowhere")
               : slot == INT64_MAX ? std::string("before the first slot")
                                   : "to slot " + std::to_string(slot);
    }

    void walk() {
        descend(0, link::parent);
        while (!path_.empty()) {
            step& at = path_.back();
            height_ = std::max<std::uint64_t>(height_, path_.size());
            if (at.next == step::left) {
                at.next = step::self;
                descend(at.slot, link::left);
            } else if (at.next == step::self) {
                at.next = step::right;
                at.below_left = last_;
                check_order(at.slot);
                descend(at.slot, link::right);
            } else {
                last_ = leave(at.slot, at.below_left, last_);
                path_.pop_back();
            }
        }
    }

    /// Follows a link. If it leads nowhere, or is wrong, sets `last_` to what is known there.
    void descend(slot_number from, link by) {
        last_ = {};
        const std::int64_t to = target(from, by);
        if (to == none) return;
        const auto refuse = [&](const std::string& why) {
            add(from, by, objects_.text_of(from) + ": its link leads " + text_of(to) + why);
            last_ = {0, 0, false, false};
        };
        if (!objects_.is_live(static_cast<std::uint64_t>(to)))
            return refuse(", which is not an object");
        const auto slot = static_cast<slot_number>(to);
        if (is_reached_[slot]) return refuse(", which was reached already");
        is_reached_[slot] = true;
        ++reached_;
        if (target(slot, link::parent) != from)
            add(slot, link::parent,
                objects_.text_of(slot) + ": its parent is " + objects_.text_of(from) +
                    ", but its link leads " + text_of(target(slot, link::parent)));
        if (is_red(slot) && (from == 0 || is_red(from)))
            add(slot, link::parent,
                objects_.text_of(slot) + ": is red below " +
                    (from == 0 ? "nothing" : "the red " + objects_.text_of(from)));
        path_.push_back({slot, step::left, {}});
    }

    /// Objects of equal keys, which only a key that is not unique may have, come by their ids.
    void check_order(slot_number slot) {
        if (previous_ != 0) {
            const auto order = key_.compare(objects_.value(previous_), objects_.value(slot));
            const bool is_equal = order && *order == 0;
            const bool comes_by_id = objects_.id(previous_) < objects_.id(slot);
            if (order && (*order > 0 || (is_equal && (of_.is_unique || !comes_by_id)))) {
                objects_.mark_damaged(previous_);
                objects_.add(to_, slot, objects_.schema().value_offset,
                             fmt::format("{}: its {} that of {}, which comes before it",
                                         objects_.text_of(slot),
                                         !is_equal       ? "key is below"
                                         : of_.is_unique ? "key is equal to"
                                                         : "key is equal and its id below",
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
            add(slot, link::parent,
                fmt::format("{}: {} black nodes below its left link, {} below its right one",
                            objects_.text_of(slot), left.black, right.black));
            all.knows_black = false;
        }
        if (of_.is_ranked && all.knows_size && word(slot, link::size) != all.size)
            add(slot, link::size,
                fmt::format("{}: counts {} nodes, its subtree has {}", objects_.text_of(slot),
                            word(slot, link::size), all.size));
        return all;
    }

    /// Slot 0 knows the root, and the first and the last node.
    void check_header() {
        if (!is_red(0)) add(0, link::parent, "the header is black");
        const auto expect = [&](link at, slot_number slot, const char* name) {
            if (target(0, at) != slot)
                add(0, at,
                    fmt::format("the {} object is in slot {}, the header's link leads {}", name,
                                slot, text_of(target(0, at))));
        };
        if (reached_ != objects_.live()) return; // then it is unknown which these are
        expect(link::left, first_, "first");
        expect(link::right, previous_, "last");
    }

    void check_all_reached() {
        const auto lost = objects_.mark_unreached(is_reached_);
        if (lost.count != 0)
            add(lost.first, link::parent,
                fmt::format("{} objects are not reached, the first is {}", lost.count,
                            objects_.text_of(lost.first)));
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

/// The keys of a btree's objects; counts those of entries, each of which is read once.
class entry_keys final : public btree_keys {
public:
    entry_keys(object_slots& objects, const rows::key_reader& key,
               const rows::type_layout::flat_tree& of)
        : objects_(objects), keys_(key, of.bits, of.is_unique,
                                   [this](slot_number slot) {
                                       if (objects_.is_live(slot)) return objects_.value(slot);
                                       throw damaged_error(fmt::format(
                                           "leads to slot {}, which is not an object", slot));
                                   }),
          is_reached_(objects.end(), false) {}

    [[nodiscard]] btree_key read(slot_number slot) const override {
        const btree_key found = keys_.read(slot);
        if (is_reached_[slot])
            throw damaged_error("leads to " + objects_.text_of(slot) + ", which has two entries");
        is_reached_[slot] = true;
        ++reached_;
        return found;
    }
    [[nodiscard]] std::string read_whole(slot_number slot) const override {
        return keys_.read_whole(slot);
    }
    void prefetch(slot_number) const noexcept override {}

    [[nodiscard]] std::uint64_t reached() const noexcept { return reached_; }
    [[nodiscard]] const std::vector<bool>& is_reached() const noexcept { return is_reached_; }

private:
    object_slots& objects_;
    rows::slot_bits keys_;
    mutable std::vector<bool> is_reached_;
    mutable std::uint64_t reached_ = 0;
};

} // namespace

void check_table(object_slots& objects, const window& file, const rows::type_layout::table& of,
                 const rows::key_reader& key, part_report& to) {
    table_walk(objects, file, of, key, to).run();
}

void check_btree(object_slots& objects, window& file, const rows::type_layout::flat_tree& of,
                 const rows::key_reader& key, part_report& to) {
    const entry_keys keys(objects, key, of);
    try {
        const btree tree(file, keys, of.bits, nullptr);
        tree.require_within(readable(file));
        tree.check([&](std::uint32_t node, const std::string& what) {
            const std::size_t in_file = btree::geometry.first_slot + node * sizeof(btree_node);
            to.add(file, node == 0 ? root_offset : in_file, fmt::format("node {}: {}", node, what));
        });
        to.count("entries", keys.reached());
        to.count("levels", btree::state_in(file).levels);
        to.count("nodes", btree::state_in(file).nodes.live - 1);
    } catch (const damaged_error& e) {
        to.add(file, root_offset, e.what());
    }
    const auto lost = objects.mark_unreached(keys.is_reached());
    if (lost.count != 0)
        to.add(file, root_offset,
               fmt::format("{} objects are not reached, the first is {}", lost.count,
                           objects.text_of(lost.first)));
}

void check_tree(object_slots& objects, const rows::type_layout::tree& of,
                const rows::key_reader& key, part_report& to) {
    tree_walk(objects, of, key, to).run();
}

} // namespace chainbase::check

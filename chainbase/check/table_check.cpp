#include <chainbase/check/table_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::check {

namespace {

/// An entry of the table (hash_table.hpp).
struct entry {
    slot_number slot;
    std::uint32_t hash;
};

class table_walk {
public:
    table_walk(object_slots& objects, const window& file, const rows::type_layout::table& of,
               const rows::key_reader& key, part_report& to)
        : objects_(objects), file_(file), of_(of), key_(key), to_(to),
          words_(copy_at<hash_state>(objects.file().root() + of.words_at)),
          is_reached_(objects.end(), false) {}

    void run() {
        if (!is_in_file()) return;
        to_.count("capacity", capacity());
        if (const auto start = first_empty())
            walk_from(*start);
        else
            add(0, {}, "no entry is free, so that a search would not end");
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
    /// An area lies at its own length.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const noexcept {
        return (capacity() + i) * hash_table::entry_bytes;
    }
    [[nodiscard]] entry at(std::uint64_t i) const noexcept {
        return copy_at<entry>(file_.base() + offset_of(i));
    }
    void add(std::uint64_t i, std::optional<slot_number> slot, std::string what) {
        finding found{part_report::file_of(file_), offset_of(i), std::move(what)};
        if (slot) {
            found.slot = *slot;
            found.object = objects_.id(*slot);
            objects_.hurt(*slot);
        }
        to_.add(std::move(found));
    }
    void add_words(std::string what) {
        to_.add(objects_.file(), root_offset + of_.words_at, std::move(what));
    }

    bool is_in_file() {
        const bool is_possible = words_.log2_capacity >= hash_table::min_log2 &&
                                 words_.log2_capacity <= hash_table::max_log2;
        if (is_possible && offset_of(capacity()) <= readable(file_)) return true;
        add_words(fmt::format("a table of 2^{} entries is not in a file of {} bytes",
                              words_.log2_capacity, readable(file_)));
        return false;
    }

    [[nodiscard]] std::optional<std::uint64_t> first_empty() const {
        for (std::uint64_t i = 0; i < capacity(); ++i)
            if (at(i).slot == 0) return i;
        return std::nullopt;
    }

    /// Once around, from an entry that is empty: so a run of entries is never cut.
    void walk_from(std::uint64_t start) {
        std::uint64_t run = 0; // entries since the last empty one
        for (std::uint64_t step = 0; step < capacity(); ++step) {
            const std::uint64_t i = (start + step) & (capacity() - 1);
            const entry here = at(i);
            if (here.slot == 0) {
                run = 0;
                if (here.hash != 0) add(i, {}, "an empty entry has a hash");
                continue;
            }
            check_entry(i, here, run++);
        }
    }

    void check_entry(std::uint64_t i, entry here, std::uint64_t run) {
        ++entries_;
        if (!objects_.is_live(here.slot))
            return add(i, {},
                       fmt::format("the entry leads to slot {}, which is no object", here.slot));
        if (is_reached_[here.slot])
            return add(i, here.slot, objects_.text_of(here.slot) + ": has two entries");
        const auto hash = key_.hash(objects_.value(here.slot));
        if (hash && *hash != here.hash)
            add(i, here.slot,
                fmt::format("{}: the hash of its key is {:#010x}, its entry has {:#010x}",
                            objects_.text_of(here.slot), *hash, here.hash));
        const std::uint64_t home = here.hash >> (32 - words_.log2_capacity);
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
                                objects_.is_live(next) ? "in another place" : "no object"));
            const auto back = copy_at<slot_number>(objects_.node(next) + *of_.ring_at + 4);
            if (back != slot)
                objects_.add(to_, next, *of_.ring_at + 4,
                             fmt::format("{}: the one before it is in slot {}, its link leads to "
                                         "slot {}",
                                         objects_.text_of(next), slot, back));
            if (next == head) return;
            const auto order = key_.compare(objects_.value(head), objects_.value(next));
            if (order && *order != 0)
                add(i, next,
                    objects_.text_of(next) + ": has another key than those of its ring, as " +
                        objects_.text_of(head));
            slot = next;
        }
    }

    void check_count() {
        if (entries_ == words_.used) return;
        add_words(fmt::format("{} entries are counted, {} are there", words_.used, entries_));
    }

    /// Those of the same hash side by side: few are, unless keys are equal.
    void check_duplicates() {
        std::sort(known_.begin(), known_.end(), [](const entry& a, const entry& b) {
            return a.hash != b.hash ? a.hash < b.hash : a.slot < b.slot;
        });
        for (std::size_t i = 1; i < known_.size(); ++i) {
            const slot_number one = known_[i - 1].slot;
            const slot_number other = known_[i].slot;
            if (known_[i - 1].hash != known_[i].hash) continue;
            const auto order = key_.compare(objects_.value(one), objects_.value(other));
            if (!order || *order != 0) continue;
            objects_.hurt(one);
            objects_.add(to_, other, objects_.schema().value_offset,
                         objects_.text_of(other) + ": has an entry of the same key as " +
                             objects_.text_of(one));
        }
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
            add(0, first,
                fmt::format("{} objects have no entry, the first is {}", lost,
                            objects_.text_of(first)));
    }

    object_slots& objects_;
    const window& file_;
    const rows::type_layout::table& of_;
    const rows::key_reader& key_;
    part_report& to_;
    hash_state words_;
    std::vector<bool> is_reached_;
    std::vector<entry> known_; ///< entries that lead to an object, each to another one
    std::uint64_t entries_ = 0;
    std::uint64_t reached_ = 0;
    std::uint64_t longest_ = 0;
};

} // namespace

void check_table(object_slots& objects, const window& file, const rows::type_layout::table& of,
                 const rows::key_reader& key, part_report& to) {
    table_walk(objects, file, of, key, to).run();
}

} // namespace chainbase::check

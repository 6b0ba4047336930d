#pragma once

#include <archive/record/described_record.hpp>
#include <archive/record/record.hpp>
#include <chainbase/feed/entry.hpp>
#include <chainbase/offline/rows/type_rows.hpp>
#include <chainbase/segment/mapped_segment.hpp>

#include <tests/support/mismatch.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace chainbase::test {

/// The records of all objects, by type and id.
using records = std::map<std::pair<std::uint32_t, std::uint32_t>, archive::byte_buffer>;

inline records records_of(const mapped_segment& state) {
    records all;
    rows::segment_buffers::files files{};
    std::size_t number = 0;
    state.buffers().each_window([&](const window& file) { files[number++] = &file; });
    const rows::segment_buffers buffers(files);
    for (std::uint32_t type = 0; type < state.windows().size(); ++type) {
        const type_schema& schema = state.types().entries()[type].schema;
        const type_windows& from = *state.windows()[type];
        const archive::described_record record(schema);
        const rows::slot_reader objects(schema, *from.objects, *from.ids);
        for (std::uint32_t id = 0; id < objects.next_id(); ++id)
            if (const slot_number slot = objects.slot_of(id))
                record.append(objects.value(slot), buffers, all[{type, id}]);
    }
    return all;
}

/// What a follower keeps.
class told_objects {
public:
    explicit told_objects(records begin = {}, revision_number revision = 0)
        : objects_(std::move(begin)), revision_(revision) {}

    /// Throws mismatch when an entry does not fit what it follows.
    void take(const feed::entry& one) {
        const name of{one.revision, one.serial};
        if (one.what == feed::entry::kind::irreversible) {
            const auto newest = std::ranges::find(blocks_, of);
            if (newest != blocks_.end()) {
                blocks_.erase(blocks_.begin(), std::next(newest));
                is_sealed_ = true;
            } else if (blocks_.empty() && one.revision == revision_) {
                is_sealed_ = true; // where it began, and not a block before that
            }
            ++told;
            return;
        }
        for (const feed::object_change& each : one.changes)
            apply(each, one.before(each), one.after(each));
        revision_ = one.revision;
        if (one.what == feed::entry::kind::block) return blocks_.push_back(of);
        expect(blocks_.empty() ? !is_sealed_ : blocks_.back() == of, "pops another block");
        if (!blocks_.empty()) blocks_.pop_back();
        revision_ = blocks_.empty() ? one.revision - 1 : blocks_.back().first;
        ++pops;
    }
    [[nodiscard]] const records& objects() const noexcept { return objects_; }
    /// Objects, by type, that are in the archive alone, as far as was told.
    [[nodiscard]] const auto& archived() const noexcept { return archived_; }
    [[nodiscard]] revision_number revision() const noexcept { return revision_; }

    std::uint64_t pops = 0, told = 0;

private:
    void apply(const feed::object_change& of, archive::bytes_view before,
               archive::bytes_view after) {
        using kind = feed::object_change::kind;
        const auto at = objects_.find({of.type, of.id});
        const bool is_new = of.what == kind::created || of.what == kind::unarchived;
        const bool goes = of.what == kind::removed || of.what == kind::archived;
        expect((at != objects_.end()) == !is_new, "not as it was there");
        if (at != objects_.end()) expect(archive::same(at->second, before), "not what it was");
        expect(after.empty() == goes, "not as it is there");
        const std::pair<std::uint32_t, std::uint32_t> object{of.type, of.id};
        if (of.what == kind::archived) expect(archived_.insert(object).second, "was there");
        if (of.what == kind::unarchived) expect(archived_.erase(object) == 1, "was not there");
        if (after.empty())
            objects_.erase(at);
        else
            objects_[{of.type, of.id}] = {after.begin(), after.end()};
    }

    records objects_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> archived_;
    using name = std::pair<revision_number, std::uint32_t>; ///< and serial

    std::vector<name> blocks_; ///< that may be popped
    bool is_sealed_ = false;   ///< nothing older may
    revision_number revision_ = 0;
};

} // namespace chainbase::test

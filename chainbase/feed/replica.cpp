#include <chainbase/feed/replica.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace chainbase::feed {

namespace {

using kind = object_change::kind;

bool leaves_memory(const object_change& one) noexcept {
    return one.what == kind::removed || one.what == kind::archived;
}

bool comes_to_memory(const object_change& one) noexcept {
    return one.what == kind::created || one.what == kind::unarchived;
}

} // namespace

void replica::enter(std::unique_ptr<copied_type> type) {
    types_.insert_or_assign(type->name, std::move(type));
}

void replica::require_all_in_records(const type_schema& schema) {
    const archive::described_record record(schema);
    if (!record.undescribed().empty())
        throw usage_error(fmt::format("{}: a record does not have {}, so it cannot be copied; "
                                      "describe all of its members",
                                      schema.name, fmt::join(record.undescribed(), ", ")));
}

void replica::throw_missing(const std::string& type, std::uint32_t id) {
    throw damaged_error(fmt::format("{} {}: is not here, though the followed state changes it; "
                                    "this is no copy of it: make it anew from a snapshot",
                                    type, id));
}

void replica::throw_other(const std::string& type, std::uint32_t id) {
    throw damaged_error(fmt::format("{} {}: is another than the followed state says it was; "
                                    "this is no copy of it: make it anew from a snapshot",
                                    type, id));
}

replica::copied_type* replica::type_of(std::uint32_t number, const std::deque<type_schema>& types) {
    while (by_number_.size() < types.size()) {
        const auto found = types_.find(types[by_number_.size()].name);
        by_number_.push_back(found == types_.end() ? nullptr : found->second.get());
    }
    copied_type* const found = by_number_.at(number);
    if (found || left_out_.contains(types[number].name)) return found;
    throw schema_error(types[number].name +
                       ": a type of the followed state that this program does not copy; follow it "
                       "with the program that writes it");
}

/// What a block skips it created and removed.
void replica::require_near(const copied_type& type, std::uint32_t id) const {
    constexpr std::uint32_t most_skipped = 1U << 24;
    const std::uint32_t next = type.next_id();
    if (id <= next || id - next <= most_skipped) return;
    throw damaged_error(fmt::format("{} {}: {} ids are skipped in one block, which no state does; "
                                    "make the copy anew from a snapshot",
                                    type.name, id, id - next));
}

void replica::require_follows(const entry& next) const {
    const revision_number now = own_.revision();
    const bool is_pop = next.what == entry::kind::pop;
    if (next.revision == now ? !is_pop || now > own_.committed_revision()
                             : !is_pop && next.revision == now + 1)
        return;
    if (is_pop && next.revision <= own_.committed_revision())
        throw too_far_behind_error(fmt::format(
            "the followed state undid revision {}, and here {} can no longer be undone; "
            "make the copy anew from a snapshot",
            next.revision, own_.committed_revision()));
    throw usage_error(
        fmt::format("an entry of revision {} does not follow revision {}", next.revision, now));
}

void replica::apply(const entry& next, const std::deque<type_schema>& types,
                    const end_of_block& end) {
    if (next.what == entry::kind::irreversible)
        return own_.commit(std::min(next.revision, own_.revision()));
    const bool is_pop = next.what == entry::kind::pop;
    const revision_number popped = std::exchange(popped_, is_pop ? next.revision : -1);
    // What was merged into a block that had been told of has a pop of its own.
    if (is_pop && popped == next.revision && own_.revision() == popped - 1) return;
    require_follows(next);
    if (is_pop) return own_.undo();
    const bool is_merged = next.revision == own_.revision();
    session changed = own_.start_session();
    change(next, types);
    if (end)
        end(changed, is_merged);
    else if (is_merged)
        changed.squash();
    else
        changed.push();
}

/// Rows are written while the objects are there. Objects whose new keys others still have are taken
/// out when all others have theirs, and come back, the last one first, so that each has its slot
/// again.
void replica::change(const entry& by, const std::deque<type_schema>& types) {
    std::map<copied_type*, std::vector<std::uint32_t>> archived;
    std::vector<std::pair<copied_type*, const object_change*>> waiting;
    for (const object_change& one : by.changes) {
        copied_type* const type = type_of(one.type, types);
        if (!type) continue;
        if (one.what == kind::archived) archived[type].push_back(one.id);
        if (one.what == kind::modified) waiting.emplace_back(type, &one);
    }
    for (const auto& [type, ids] : archived)
        type->write_rows(ids);
    for (const object_change& one : by.changes)
        if (copied_type* const type = type_of(one.type, types); type && leaves_memory(one))
            type->remove(one.id, by.before(one));

    std::erase_if(waiting, [&](const auto& one) {
        try {
            one.first->modify(one.second->id, by.before(*one.second), by.after(*one.second));
            return true;
        } catch (const duplicate_key_error&) {
            return false;
        }
    });
    for (const auto& [type, one] : waiting)
        type->remove(one->id, by.before(*one));
    for (; !waiting.empty(); waiting.pop_back())
        waiting.back().first->create(waiting.back().second->id, by.after(*waiting.back().second));

    for (const object_change& one : by.changes)
        if (copied_type* const type = type_of(one.type, types); type && comes_to_memory(one)) {
            require_near(*type, one.id);
            type->create(one.id, by.after(one));
        }
    for (const entry::next_id& one : by.next_ids)
        if (copied_type* const type = type_of(one.type, types)) {
            require_near(*type, one.id);
            type->skip_ids(one.id);
        }
}

} // namespace chainbase::feed

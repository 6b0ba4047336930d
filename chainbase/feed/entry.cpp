#include <chainbase/feed/entry.hpp>

namespace chainbase::feed {

entry pop_of(const entry& block) {
    entry made{entry::kind::pop, block.revision, block.serial, {}, {}};
    made.changes.reserve(block.changes.size());
    made.content.reserve(block.content.size());
    for (const object_change& each : block.changes) {
        using kind = object_change::kind;
        const kind what = each.what == kind::created   ? kind::removed
                          : each.what == kind::removed ? kind::created
                                                       : kind::modified;
        object_change undone{each.type, each.id, what, made.content.size(), 0, 0};
        archive::append(made.content, block.after(each));
        undone.after_at = made.content.size();
        archive::append(made.content, block.before(each));
        undone.end = made.content.size();
        made.changes.push_back(undone);
    }
    return made;
}

} // namespace chainbase::feed

#include <chainbase/feed/entry.hpp>

namespace chainbase::feed {

namespace {

using kind = object_change::kind;

kind undone(kind what) noexcept {
    switch (what) {
    case kind::created:
        return kind::removed;
    case kind::removed:
        return kind::created;
    case kind::archived:
        return kind::unarchived;
    case kind::unarchived:
        return kind::archived;
    case kind::modified:
        break;
    }
    return what;
}

} // namespace

entry pop_of(const entry& block) {
    entry made{entry::kind::pop, block.revision, block.serial, {}, {}};
    made.changes.reserve(block.changes.size());
    made.content.reserve(block.content.size());
    for (const object_change& each : block.changes) {
        object_change back{each.type, each.id, undone(each.what), made.content.size(), 0, 0};
        archive::append(made.content, block.after(each));
        back.after_at = made.content.size();
        archive::append(made.content, block.before(each));
        back.end = made.content.size();
        made.changes.push_back(back);
    }
    return made;
}

} // namespace chainbase::feed

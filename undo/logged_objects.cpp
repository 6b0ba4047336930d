#include <undo/logged_objects.hpp>

#include <new>
#include <utility>

namespace chainbase {

void logged_objects::grow() {
    displaced_ = 0;
    if (entries_.size() >= max_entries) return;
    std::vector<entry> larger;
    try {
        larger.resize(entries_.size() * 4);
    } catch (const std::bad_alloc&) {
        return; // a smaller cache only logs more
    }
    std::swap(entries_, larger);
    for (const entry& e : larger)
        if (e.epoch != 0) entries_[slot_of(e.address)] = e;
}

} // namespace chainbase

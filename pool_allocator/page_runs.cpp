#include <pool_allocator/page_runs.hpp>

#include <cassert>
#include <utility>

namespace chainbase {

page_runs::page_runs(window&& opened, bool create)
    : file_(std::move(opened)), root_(file_.root(), sizeof(state)) {
    if (create) words() = {0, 1, 0};
}

void page_runs::attach(write_barrier& barrier) {
    barrier_ = &barrier;
    barrier.expect_root();
}

void page_runs::touch() {
    barrier_->reserve(write_barrier::record_bytes(sizeof(state)));
    barrier_->touch(root_);
}

void page_runs::store(free_run& run, free_run value) {
    barrier_->reserve(write_barrier::record_bytes(sizeof run));
    barrier_->record(&run, sizeof run);
    run = value;
}

void page_runs::set_next(slot_number before, slot_number next) {
    if (before == 0)
        words().first_free = next;
    else
        store(run_at(before), {next, run_at(before).pages});
}

slot_number page_runs::take_free(std::uint32_t pages) {
    slot_number before = 0;
    for (slot_number page = words().first_free; page != 0; page = run_at(page).next) {
        const free_run run = run_at(page);
        if (run.pages > pages) { // the end of the run, so that the list need not change
            store(run_at(page), {run.next, run.pages - pages});
            return page + run.pages - pages;
        }
        if (run.pages == pages) {
            set_next(before, run.next);
            return page;
        }
        before = page;
    }
    return 0;
}

slot_number page_runs::allocate(std::uint32_t pages) {
    fault::reach(fault::point::slot);
    touch();
    if (const slot_number found = take_free(pages)) {
        barrier_->record_long(address(found), std::size_t{pages} * page_bytes);
        words().live += pages;
        return found;
    }
    const slot_number first = words().end;
    file_.grow_to((std::size_t{first} + pages) * page_bytes);
    words().end += pages;
    words().live += pages;
    return first;
}

void page_runs::free(slot_number first, std::uint32_t pages) {
    touch();
    slot_number before = 0;
    slot_number after = words().first_free;
    while (after != 0 && after < first) {
        before = after;
        after = run_at(after).next;
    }
    free_run merged{after, pages};
    if (after == first + pages) merged = {run_at(after).next, pages + run_at(after).pages};
    if (before != 0 && before + run_at(before).pages == first) {
        store(run_at(before), {merged.next, run_at(before).pages + merged.pages});
    } else {
        store(run_at(first), merged);
        set_next(before, first);
    }
    words().live -= pages;
}

usage page_runs::measure() const noexcept {
    usage used;
    used.total = file_.bytes();
    used.header = page_bytes;
    used.values = std::uint64_t{words().live} * page_bytes;
    used.slack = used.total - used.header - used.values;
    used.slots_live = words().live;
    used.slots_free = words().end - 1 - words().live;
    used.slots_never_used = used.total / page_bytes - words().end;
    return used;
}

void page_runs::trim() {
    file_.shrink_to(std::size_t{words().end} * page_bytes);
}

} // namespace chainbase

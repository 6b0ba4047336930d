#include <pool_allocator/page_runs.hpp>

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

auto page_runs::find_free(std::uint32_t pages) const noexcept -> place {
    place at{0, words().first_free};
    while (at.run != 0 && run_at(at.run).pages < pages)
        at = {at.run, run_at(at.run).next};
    return at;
}

slot_number page_runs::append(std::uint32_t pages) {
    const slot_number first = words().end;
    file_.grow_to((std::size_t{first} + pages) * page_bytes);
    barrier_->written(address(first), std::size_t{pages} * page_bytes);
    words().end += pages;
    words().live += pages;
    return first;
}

slot_number page_runs::allocate(std::uint32_t pages) {
    fault::reach(fault::point::slot);
    touch();
    const place found = find_free(pages);
    if (found.run == 0) return append(pages);
    const free_run run = run_at(found.run);
    const slot_number first = found.run + run.pages - pages; // its end: the list need not change
    // What may fail comes before the run leaves the list: a modifier may catch it and go on.
    file_.fill_holes(std::size_t{first} * page_bytes, std::size_t{pages} * page_bytes);
    barrier_->record_long(address(first), std::size_t{pages} * page_bytes);
    if (first == found.run)
        set_next(found.before, run.next);
    else
        store(run_at(found.run), {run.next, run.pages - pages});
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
    used.find_holes(file_);
    used.slots_live = words().live;
    used.slots_free = words().end - 1 - words().live;
    used.slots_never_used = used.total / page_bytes - words().end;
    return used;
}

auto page_runs::last_free() const noexcept -> place {
    place at{0, words().first_free};
    while (at.run != 0 && run_at(at.run).next != 0)
        at = {at.run, run_at(at.run).next};
    return at;
}

void page_runs::settle() {
    const place last = last_free();
    if (last.run == 0 || last.run + run_at(last.run).pages != words().end) return;
    touch();
    set_next(last.before, 0);
    words().end = last.run;
}

void page_runs::trim() {
    file_.shrink_to(std::size_t{words().end} * page_bytes);
    for (slot_number page = words().first_free; page != 0; page = run_at(page).next)
        file_.punch((std::size_t{page} + 1) * page_bytes,
                    (std::size_t{run_at(page).pages} - 1) * page_bytes);
}

} // namespace chainbase

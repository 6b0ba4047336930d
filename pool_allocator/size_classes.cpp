#include <pool_allocator/base/error.hpp>
#include <pool_allocator/size_classes.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace chainbase {

page_runs::page_runs(window&& opened, bool create)
    : file_(std::move(opened)), root_(file_.root(), sizeof(runs_words)) {
    if (create) words() = {0, 1, 0};
}

void page_runs::attach(write_barrier& barrier) {
    barrier_ = &barrier;
    barrier.expect_root();
}

void page_runs::touch() {
    barrier_->reserve(write_barrier::record_bytes(sizeof(runs_words)));
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

void page_runs::throw_bad_run(slot_number page, std::uint32_t pages) const {
    throw damaged_error(file_.file() + ": a reference leads to " + std::to_string(pages) +
                        " pages at page " + std::to_string(page) + ", of " +
                        std::to_string(words().end) + "; run chainbase-inspect check");
}

free_run page_runs::checked_run(slot_number page) const {
    if (page >= words().end) throw_bad_run(page, 0);
    const free_run run = run_at(page);
    const std::uint64_t end = std::uint64_t{page} + run.pages;
    if (run.pages == 0 || end > words().end || (run.next != 0 && run.next <= end))
        throw_bad_run(page, run.pages);
    return run;
}

auto page_runs::find_free(std::uint32_t pages) const -> place {
    place at{0, words().first_free};
    while (at.run != 0) {
        const free_run run = checked_run(at.run);
        if (run.pages >= pages) break;
        at = {at.run, run.next};
    }
    return at;
}

slot_number page_runs::append(std::uint32_t pages) {
    const slot_number first = words().end;
    file_.grow_to((std::size_t{first} + pages) * page_bytes);
    barrier_->first_use_long(address(first), std::size_t{pages} * page_bytes);
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
    const slot_number first = found.run + run.pages - pages; // the run's end: list unchanged
    // All that may fail comes before the run leaves the list: a modifier may catch the error and go
    // on.
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
    if (first == 0 || std::uint64_t{first} + pages > words().end) throw_bad_run(first, pages);
    touch();
    slot_number before = 0;
    slot_number after = words().first_free;
    while (after != 0 && after < first) {
        before = after;
        after = checked_run(after).next;
    }
    free_run merged{after, pages};
    if (after == first + pages) merged = {checked_run(after).next, pages + run_at(after).pages};
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

auto page_runs::last_free() const -> place {
    place at{0, words().first_free};
    while (at.run != 0) {
        const slot_number next = checked_run(at.run).next;
        if (next == 0) break;
        at = {at.run, next};
    }
    return at;
}

void page_runs::prepare_trim() {
    const place last = last_free();
    if (last.run == 0 || last.run + run_at(last.run).pages != words().end) return;
    touch();
    set_next(last.before, 0);
    words().end = last.run;
}

void page_runs::trim() {
    file_.shrink_to(std::size_t{words().end} * page_bytes);
    free_run run{};
    for (slot_number page = words().first_free; page != 0; page = run.next) {
        run = checked_run(page);
        file_.punch((std::size_t{page} + 1) * page_bytes,
                    (std::size_t{run.pages} - 1) * page_bytes);
    }
}

namespace {

window open_window(const address_space& addresses, std::uint32_t index, const std::string& file,
                   const window::geometry& shape, window::mode how) {
    if (how == window::mode::create) return window::create({&addresses, index}, file, shape);
    return window::open({&addresses, index}, file, shape, how);
}

std::uint32_t pages_for(std::size_t length) noexcept {
    return static_cast<std::uint32_t>((length + page_runs::page_bytes - 1) / page_runs::page_bytes);
}

} // namespace

size_classes::size_class::size_class(window&& opened, bool create)
    : file(std::move(opened)), state(*reinterpret_cast<pool_state*>(file.root())),
      slots(file, state), root(&state, sizeof state) {
    // The pool reads the file only when it reserves slots: a reader touches no page here.
    if (create) state = {0, 1, 1}; // slot 0 stays unused, so that 0 means none
}

size_classes::size_classes(const address_space& addresses, const std::string& folder,
                           window::mode how) {
    const bool create = how == window::mode::create;
    for (std::size_t c = 0; c < class_count; ++c) {
        const auto index = static_cast<std::uint32_t>(first_window + c);
        const auto file = folder + ("/buffers." + std::to_string(bytes_of_class(c)));
        classes_[c] = std::make_unique<size_class>(
            open_window(addresses, index, file, geometry(c), how), create);
    }
    runs_ =
        std::make_unique<page_runs>(open_window(addresses, first_window + class_count,
                                                folder + "/buffers.runs", page_runs::geometry, how),
                                    create);
}

void size_classes::attach(write_barrier& barrier) {
    barrier_ = &barrier;
    for (std::size_t c = 0; c < class_count; ++c)
        barrier.expect_root();
    runs_->attach(barrier);
    barrier.attach(*this);
}

void size_classes::touch(size_class& c) {
    barrier_->reserve(write_barrier::record_bytes(c.root.bytes()));
    barrier_->touch(c.root);
}

buffer_handle size_classes::allocate(std::span<const std::byte> content) {
    if (content.empty()) return {};
    if (content.size() > UINT32_MAX)
        throw limit_error("a shared buffer holds less than 4 GiB, not " +
                          std::to_string(content.size()) + " bytes");
    const auto length = static_cast<std::uint32_t>(content.size());
    if (content.size() > largest_class) {
        const slot_number page = runs_->allocate(pages_for(length));
        std::memcpy(runs_->address(page), content.data(), length);
        return buffer_handle::make(page, length);
    }
    size_class& c = *classes_[class_of(length)];
    const std::size_t slot_bytes = c.file.header().slot_bytes;
    c.slots.reserve();
    if (c.state.free_head != 0 && slot_bytes > window_header::page_bytes) // may be punched
        c.file.fill_holes(c.offset_of(c.state.free_head), slot_bytes);
    barrier_->reserve(write_barrier::record_bytes(c.root.bytes()) +
                      write_barrier::record_bytes(slot_bytes));
    touch(c);
    void* buffer = c.state.take();
    std::memcpy(buffer, content.data(), length);
    return buffer_handle::make(c.state.slot_of(buffer), length);
}

void size_classes::expect_free(std::size_t count) {
    const std::size_t needed = collected_.size() + count;
    if (needed > collected_.capacity())
        collected_.reserve(std::max({std::size_t{16}, needed, 2 * collected_.capacity()}));
}

void size_classes::free_later(buffer_handle buffer) {
    if (buffer.length() == 0) return;
    collected_.push_back(buffer);
    barrier_->defer();
}

void size_classes::free_later_in(std::span<const std::byte> values, const buffer_layout& of) {
    const std::size_t before = collected_.size();
    try {
        collect(values, of);
        expect_free(1);
    } catch (...) {
        collected_.resize(before);
        throw;
    }
}

void size_classes::collect(std::span<const std::byte> values, const buffer_layout& of) {
    const auto range = address_space::containing(runs_->file().base());
    of.each_handle(values.size(), [&](std::size_t at, const buffer_layout& inner) {
        buffer_handle buffer;
        std::memcpy(&buffer, values.data() + at, sizeof buffer);
        if (buffer.bits == 0) return;
        if (!inner.is_flat()) {
            require_used(buffer);
            collect({locate(range, buffer), buffer.length()}, inner);
        }
        collected_.push_back(buffer);
        barrier_->defer();
    });
}

void size_classes::finish() {
    for (const buffer_handle buffer : collected_)
        free_now(buffer);
    collected_.clear();
}

void size_classes::free_now(buffer_handle buffer) {
    if (buffer.length() > largest_class) {
        runs_->free(buffer.slot(), pages_for(buffer.length()));
        return;
    }
    require_used(buffer);
    size_class& c = *classes_[class_of(buffer.length())];
    touch(c);
    barrier_->reserve(write_barrier::record_bytes(sizeof(slot_number)));
    c.state.give(c.state.address(buffer.slot()));
}

void size_classes::require_used(buffer_handle buffer) const {
    const bool is_run = buffer.length() > largest_class;
    const window& file =
        is_run ? runs_->file() : classes_[class_of(std::max(buffer.length(), 1U))]->file;
    const std::uint64_t slots = is_run ? pages_for(buffer.length()) : 1;
    const std::uint64_t used =
        is_run ? runs_->end() : classes_[class_of(std::max(buffer.length(), 1U))]->state.high_water;
    if (buffer.in_segment() && buffer.length() != 0 && buffer.slot() + slots <= used) return;
    throw damaged_error(file.file() + ": a buffer of " + std::to_string(buffer.length()) +
                        " bytes is in slot " + std::to_string(buffer.slot()) + ", of " +
                        std::to_string(used) + "; run chainbase-inspect check");
}

usage size_classes::measure_class(std::size_t c) const noexcept {
    const size_class& cls = *classes_[c];
    const std::uint64_t slot = bytes_of_class(c);
    usage used;
    used.total = cls.file.bytes();
    used.header = window_header::page_bytes;
    used.slots_live = cls.state.live - 1;
    used.slots_free = cls.state.free();
    const std::uint64_t slots = (used.total - used.header) / slot;
    used.slots_never_used = slots > cls.state.high_water ? slots - cls.state.high_water : 0;
    used.values = used.slots_live * slot;
    used.slack = used.total - used.header - used.values;
    used.find_holes(cls.file);
    return used;
}

usage size_classes::measure() const noexcept {
    usage sum = runs_->measure();
    for (std::size_t c = 0; c < class_count; ++c)
        sum += measure_class(c);
    return sum;
}

void size_classes::prepare_trim() {
    for (const auto& c : classes_)
        prepare_trim(*c);
    runs_->prepare_trim();
}

void size_classes::prepare_trim(size_class& c) {
    std::vector<slot_number> free = c.state.free_slots(c.file);
    if (free.empty()) return;
    slot_number end = c.state.high_water;
    for (; !free.empty() && free.back() == end - 1; --end)
        free.pop_back();
    touch(c);
    c.state.thread_free_slots(free, end);
}

void size_classes::trim() {
    for (const auto& c : classes_)
        trim(*c);
    runs_->trim();
}

void size_classes::trim(size_class& c) {
    // Slot 0 is never stored to: without other slots it need not be in the file.
    const slot_number end = c.state.high_water;
    c.file.shrink_to(end > 1 ? c.offset_of(end) : window_header::page_bytes);
    c.slots.refresh();
    const std::size_t slot_bytes = c.file.header().slot_bytes;
    if (slot_bytes <= window_header::page_bytes) return;
    for (const slot_number slot : c.state.free_slots(c.file))
        c.file.punch(c.offset_of(slot) + sizeof(slot_number), slot_bytes - sizeof(slot_number));
}

void size_classes::sync() {
    each_window([](window& file) { file.sync(); });
}

} // namespace chainbase

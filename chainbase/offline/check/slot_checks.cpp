#include <chainbase/offline/check/slot_checks.hpp>
#include <pool_allocator/pool.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace chainbase::check {

namespace {

class pool_walk {
public:
    pool_walk(const window& file, part_report& to)
        : file_(file), to_(to), words_(copy_at<pool_state>(file.root())) {}

    pool_facts run(bool has_own_slot) {
        check_counts(has_own_slot);
        walk_free_list();
        to_.count("live", words_.live > 0 ? words_.live - 1 : 0);
        to_.count("free", free_);
        to_.count("slots used", facts_.end - 1);
        return std::move(facts_);
    }

private:
    static constexpr std::uint64_t word(std::size_t offset) noexcept {
        return root_offset + offset;
    }
    void add(std::uint64_t offset, std::string what) {
        facts_.is_sound = false;
        to_.add(file_, offset, std::move(what));
    }
    [[nodiscard]] std::uint64_t offset_of(slot_number slot) const noexcept {
        const window_header& h = file_.header();
        return h.first_slot + std::uint64_t{slot} * h.slot_bytes;
    }

    void check_counts(bool has_own_slot) {
        const std::uint64_t slots =
            (readable(file_) - window_header::page_bytes) / file_.header().slot_bytes;
        // Slot 0 of a class of buffers is never stored to and need not be there.
        const std::uint64_t capacity = has_own_slot ? slots : std::max<std::uint64_t>(slots, 1);
        const std::uint64_t used = words_.high_water;
        if (used == 0 || used > capacity)
            add(word(offsetof(pool_state, high_water)), std::to_string(used) +
                                                            " slots were used, but the file has " +
                                                            std::to_string(capacity));
        facts_.end = static_cast<slot_number>(std::max<std::uint64_t>(std::min(used, capacity), 1));
        facts_.is_whole = slots >= facts_.end;
        facts_.live = words_.live;
        facts_.is_free.assign(facts_.end, false);
        if (words_.live == 0 || words_.live > used)
            add(word(offsetof(pool_state, live)),
                std::to_string(words_.live) + " slots are in use, of " + std::to_string(used));
    }

    void walk_free_list() {
        std::uint64_t link = word(offsetof(pool_state, free_head));
        for (slot_number slot = words_.free_head; slot != 0;) {
            if (slot >= facts_.end)
                return add(link, "the free list leads to slot " + std::to_string(slot) + ", of " +
                                     std::to_string(facts_.end));
            if (facts_.is_free[slot])
                return add(link, "the free list comes to slot " + std::to_string(slot) + " again");
            facts_.is_free[slot] = true;
            ++free_;
            link = offset_of(slot);
            slot = copy_at<slot_number>(file_.base() + link);
        }
        if (facts_.is_sound && free_ != words_.free())
            add(link, "the free list has " + std::to_string(free_) + " slots, the counts say " +
                          std::to_string(words_.free()));
    }

    const window& file_;
    part_report& to_;
    pool_state words_;
    pool_facts facts_;
    std::uint64_t free_ = 0;
};

} // namespace

pool_facts check_pool(const window& file, bool has_own_slot, part_report& to) {
    return pool_walk(file, to).run(has_own_slot);
}

std::uint64_t object_slots::live() const noexcept {
    return static_cast<std::uint64_t>(std::count(is_live_.begin(), is_live_.end(), true));
}

object_slots::unreached object_slots::mark_unreached(const std::vector<bool>& reached) {
    unreached lost;
    for (slot_number slot = 1; slot < end(); ++slot) {
        if (!is_live(slot) || reached[slot]) continue;
        if (lost.count++ == 0) lost.first = slot;
        mark_damaged(slot);
    }
    return lost;
}

std::uint64_t object_slots::whole() const noexcept {
    std::uint64_t count = 0;
    for (slot_number slot = 1; slot < end(); ++slot)
        count += is_live(slot) && !is_damaged_[slot];
    return count;
}

void object_slots::add(part_report& to, slot_number slot, std::size_t at, std::string what) {
    finding found{part_report::file_of(file_), offset_of(slot) + at, std::move(what)};
    if (slot != 0) {
        found.slot = slot;
        found.object = id(slot);
        mark_damaged(slot);
    }
    to.add(std::move(found));
}

namespace {

constexpr std::size_t runs = size_classes::class_count;

} // namespace

buffer_check::buffer_check(const mapped_state& state) : pools_(size_classes::window_count) {
    const stopwatch timed(report_);
    report_.name = "buffers";
    if (!state.is_mapped()) return;
    for (std::size_t number = 0; number < pools_.size(); ++number) {
        pool& one = pools_[number];
        one.file = state.buffers(number);
        one.first = number == runs ? 0 : window_header::page_bytes;
        one.slot_bytes =
            number == runs ? page_runs::page_bytes : size_classes::bytes_of_class(number);
        report_.enter(number == runs ? "buffers.runs" : fmt::format("buffers.{}", one.slot_bytes));
        if (!one.file)
            report_.parts.back().not_checked.emplace_back("its file could not be opened");
        else if (number == runs)
            check_runs();
        else
            check_class(number);
        one.is_referred.assign(one.facts.end, false);
    }
}

void buffer_check::check_class(std::size_t number) {
    pools_[number].facts = check_pool(*pools_[number].file, false, report_.parts.back());
}

void buffer_check::check_runs() {
    const window& file = *pools_[runs].file;
    part_report& to = report_.parts.back();
    pool_facts& facts = pools_[runs].facts;
    const auto words = copy_at<runs_words>(file.root());
    const std::uint64_t pages = readable(file) / page_runs::page_bytes;
    if (words.end == 0 || words.end > pages) {
        facts.is_sound = false;
        to.add(file, root_offset + offsetof(runs_words, end),
               fmt::format("{} pages were used, but the file has {}", words.end, pages));
    }
    facts.end = static_cast<slot_number>(std::clamp<std::uint64_t>(words.end, 1, pages));
    facts.is_free.assign(facts.end, false);
    walk_free_runs(file, to, facts);
    const auto free =
        static_cast<std::uint64_t>(std::count(facts.is_free.begin(), facts.is_free.end(), true));
    facts.live = std::uint64_t{words.live} + 1; // as a pool counts, its own page included
    if (facts.is_sound && free + facts.live != facts.end) {
        facts.is_sound = false;
        to.add(
            file, root_offset + offsetof(runs_words, live),
            fmt::format("{} pages are in use and {} free, of {}", words.live, free, facts.end - 1));
    }
    to.count("live", words.live);
    to.count("free", free);
}

/// Free runs rise and are not adjacent, so the walk ends.
void buffer_check::walk_free_runs(const window& file, part_report& to, pool_facts& facts) {
    std::uint64_t link = root_offset + offsetof(runs_words, first_free);
    std::uint64_t least = 1;
    for (slot_number at = copy_at<runs_words>(file.root()).first_free; at != 0;) {
        const auto run = at < facts.end ? copy_at<free_run>(file.base() + std::size_t{at} * 4096)
                                        : free_run{0, 0};
        if (at < least || run.pages == 0 || std::uint64_t{at} + run.pages > facts.end) {
            facts.is_sound = false;
            return to.add(file, link,
                          fmt::format("the list of free runs leads to {} pages at page {}, of {}",
                                      run.pages, at, facts.end));
        }
        for (std::uint32_t i = 0; i < run.pages; ++i)
            facts.is_free[at + i] = true;
        least = std::uint64_t{at} + run.pages + 1;
        link = std::uint64_t{at} * page_runs::page_bytes;
        at = run.next;
    }
}

auto buffer_check::place_of(buffer_handle handle) noexcept -> std::optional<place> {
    const std::uint64_t length = handle.length();
    if (!handle.in_segment() || length == 0 || handle.slot() == 0) return std::nullopt;
    if (length <= size_classes::largest_class)
        return place{size_classes::class_of(length), handle.slot(), 1};
    return place{runs, handle.slot(), (length + page_runs::page_bytes - 1) / page_runs::page_bytes};
}

bool buffer_check::holds(const place& at) const noexcept {
    return pools_[at.number].file && at.slot + at.slots <= pools_[at.number].facts.end;
}

std::optional<std::span<const std::byte>> buffer_check::content(buffer_handle handle) const {
    if (handle.bits == 0) return std::span<const std::byte>();
    const auto at = place_of(handle);
    if (!at || !holds(*at)) return std::nullopt;
    const pool& in = pools_[at->number];
    return std::span(in.file->base() + in.first + at->slot * in.slot_bytes, handle.length());
}

std::string buffer_check::refer(buffer_handle handle) {
    if (handle.bits == 0) return {};
    const auto at = place_of(handle);
    if (!at) return fmt::format("{:#018x} is not a buffer", handle.bits);
    pool& in = pools_[at->number];
    if (!in.file) return {}; // its missing file is reported already
    const std::string name = fmt::format("{}, slot {}", in.file->name(), at->slot);
    if (!holds(*at))
        return fmt::format("{}: {} bytes there are beyond the {} slots in use", name,
                           handle.length(), in.facts.end);
    for (std::uint64_t i = 0; i < at->slots; ++i) {
        if (in.facts.is_free[at->slot + i]) return name + ": the buffer is free";
        if (in.is_referred[at->slot + i])
            return name + ": another object refers to the buffer, too";
    }
    for (std::uint64_t i = 0; i < at->slots; ++i)
        in.is_referred[at->slot + i] = true;
    ++in.references;
    in.slots += at->slots;
    in.bytes += handle.length();
    return {};
}

void buffer_check::finish(std::size_t number, bool knows_all_objects) {
    const pool& one = pools_[number];
    part_report& to = report_.parts[number];
    if (!one.file) return;
    to.count("referred to", one.references);
    to.count("bytes", one.bytes);
    if (!knows_all_objects) return;
    std::uint64_t lost = 0;
    slot_number first = 0;
    for (slot_number slot = 1; slot < one.facts.end; ++slot) {
        if (one.facts.is_free[slot] || one.is_referred[slot]) continue;
        if (lost++ == 0) first = slot;
    }
    to.count("nobody's", lost);
    if (lost == 0) return;
    finding found{part_report::file_of(*one.file), one.first + first * one.slot_bytes,
                  fmt::format("{} slots are neither free nor used by an object, the first is {}",
                              lost, first)};
    found.slot = first;
    to.add(std::move(found));
}

part_report buffer_check::finish(bool knows_all_objects) {
    std::uint64_t references = 0;
    std::uint64_t bytes = 0;
    for (std::size_t number = 0; number < pools_.size(); ++number) {
        finish(number, knows_all_objects);
        references += pools_[number].references;
        bytes += pools_[number].bytes;
    }
    if (!knows_all_objects && !report_.parts.empty())
        report_.not_checked.emplace_back("whether every buffer belongs to an object");
    report_.count("buffers", references);
    report_.count("bytes", bytes);
    return std::move(report_);
}

} // namespace chainbase::check

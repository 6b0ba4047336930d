#include <chainbase/check/buffer_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chainbase::check {

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
               fmt::format("{} pages were used, and the file has {}", words.end, pages));
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

/// They rise and do not touch, so the walk ends.
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
    if (!at) return fmt::format("{:#018x} is no buffer", handle.bits);
    pool& in = pools_[at->number];
    if (!in.file) return {}; // that its file is missing is said
    const std::string name = fmt::format("{}, slot {}", in.file->name(), at->slot);
    if (!holds(*at))
        return fmt::format("{}: {} bytes there are beyond the {} slots in use", name,
                           handle.length(), in.facts.end);
    for (std::uint64_t i = 0; i < at->slots; ++i) {
        if (in.facts.is_free[at->slot + i]) return name + ": the buffer is free";
        if (in.is_referred[at->slot + i]) return name + ": the buffer is another object's, too";
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
    finding found{
        part_report::file_of(*one.file), one.first + first * one.slot_bytes,
        fmt::format("{} slots are neither free nor any object's, the first is {}", lost, first)};
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
        report_.not_checked.emplace_back("whether every buffer is an object's");
    report_.count("buffers", references);
    report_.count("bytes", bytes);
    return std::move(report_);
}

} // namespace chainbase::check

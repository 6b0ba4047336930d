#include <archive/statistics.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/inspect/top/views.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <string>
#include <utility>

/// The tables of the dashboard and their building blocks.
namespace chainbase::inspect {

namespace {

using cell = sortable_table::cell;

/// @name Cells that sort by their displayed value
/// @{
cell text(std::string name) {
    return {std::move(name), std::nullopt};
}

cell nothing() {
    return {"-", std::nullopt, text_style::dim};
}

cell whole(std::uint64_t number) {
    return {grouped(number), static_cast<double>(number)};
}

cell bytes(std::uint64_t number) {
    return {short_bytes(static_cast<double>(number)), static_cast<double>(number)};
}

cell bytes(const std::optional<std::uint64_t>& number) {
    return number ? bytes(*number) : nothing();
}

cell duration(double ns) {
    return {duration_in_words(ns / 1e9), ns};
}
/// Increase per second; nothing for a restarted counter.
cell rate(std::uint64_t now, const std::uint64_t* before, double seconds) {
    if (!before || seconds <= 0 || now < *before) return nothing();
    const double figure = static_cast<double>(now - *before) / seconds;
    return {short_number(figure), figure};
}
/// @}

/// An archive operation with measured times.
struct named_times {
    const char* name;
    archive::times_summary archive::statistics_summary::* times;
};

/// The lookups, by outcome.
constexpr named_times lookup_times[] = {
    {"hits in memory", &archive::statistics_summary::hits_in_memory},
    {"hits in the archive", &archive::statistics_summary::hits_in_archive},
    {"misses", &archive::statistics_summary::misses},
    {"known misses", &archive::statistics_summary::known_misses},
};

using archive::statistics_summary;

struct named_count {
    const char* name;
    std::uint64_t statistics_summary::* count;
    bool is_bytes = false;
    bool is_sum = true; ///< it only grows, so its rate is meaningful
};

constexpr named_count archive_counts[] = {
    {"rows handed over", &statistics_summary::rows_put},
    {"rows that were there already", &statistics_summary::rows_unchanged},
    {"rows erased", &statistics_summary::rows_erased},
    {"bytes of rows and keys", &statistics_summary::bytes_put, true},
    {"bytes of records", &statistics_summary::record_bytes_put, true},
    {"objects that left memory", &statistics_summary::objects_handed_over},
    {"largest batch, rows", &statistics_summary::largest_batch_rows, false, false},
    {"largest batch, bytes", &statistics_summary::largest_batch_bytes, true, false},
    {"calls that failed", &statistics_summary::failures},
};

cell byte_rate(std::uint64_t now, std::uint64_t before, double seconds) {
    if (seconds <= 0 || now < before) return nothing();
    const double figure = static_cast<double>(now - before) / seconds;
    return {short_bytes(figure), figure};
}

void add_count(sortable_table& to, const named_count& what, const top_sample& sample) {
    const std::uint64_t now = sample.now.archive->figures.*what.count;
    cell a_second = nothing();
    if (sample.archive_before && what.is_sum) {
        const std::uint64_t before = (*sample.archive_before).*what.count;
        a_second = what.is_bytes ? byte_rate(now, before, sample.seconds)
                                 : rate(now, &before, sample.seconds);
    }
    to.add({text(what.name), what.is_bytes ? bytes(now) : whole(now), a_second, nothing()});
}

void add_lookups(sortable_table& to, const top_sample& sample) {
    const statistics_summary& all = sample.now.archive->figures;
    std::uint64_t asked = 0;
    for (const named_times& each : lookup_times)
        asked += (all.*each.times).count;
    for (const named_times& each : lookup_times) {
        const std::uint64_t count = (all.*each.times).count;
        const std::uint64_t* const before =
            sample.archive_before ? &((*sample.archive_before).*each.times).count : nullptr;
        const double share =
            asked == 0 ? 0 : static_cast<double>(count) / static_cast<double>(asked);
        to.add({text(std::string("lookups: ") + each.name), whole(count),
                rate(count, before, sample.seconds),
                asked == 0 ? nothing() : cell{percent(share, 1), share}});
    }
}

sortable_table archive_table(const view_content& content) {
    sortable_table table({{"since the archive was opened"}, {"count"}, {"a second"}, {"share"}});
    const top_sample& sample = content.sample;
    if (!sample.now.archive) return table;
    add_lookups(table, sample);
    for (const named_count& each : archive_counts)
        add_count(table, each, sample);
    return table;
}

sortable_table checkpoint_table(const view_content& content) {
    sortable_table table({{"made", /*is_text=*/true},
                          {"age"},
                          {"generation"},
                          {"revision"},
                          {"irreversible"},
                          {"bytes"},
                          {"redo log", /*is_text=*/true}});
    const auto now = std::chrono::system_clock::to_time_t(content.sample.now.time);
    for (const checkpoint_info& one : content.sample.checkpoints) {
        const double seconds = static_cast<double>(std::max<std::int64_t>(0, now - one.time));
        const auto number = [](std::int64_t figure) {
            return cell{std::to_string(figure), static_cast<double>(figure)};
        };
        table.add({{fmt::format("{:%F %T} UTC", fmt::gmtime(std::time_t{one.time})),
                    static_cast<double>(one.time)},
                   duration(seconds * 1e9),
                   whole(one.generation),
                   number(one.revision),
                   number(one.irreversible_revision),
                   bytes(one.bytes),
                   text(one.redo_log ? "follows it" : "none")});
    }
    return table;
}

using archive::latency_histogram;

/// The archive's times since it was opened.
void add_times(sortable_table& to, std::string name, const named_times& what,
               const top_sample& sample) {
    const archive::times_summary& all = sample.now.archive->figures.*what.times;
    const std::uint64_t* const before =
        sample.archive_before ? &((*sample.archive_before).*what.times).count : nullptr;
    std::vector<cell> row{text(std::move(name)), whole(all.count),
                          rate(all.count, before, sample.seconds)};
    for (const std::uint64_t each :
         {all.p50_ns, all.p99_ns, all.p999_ns, all.longest_ns, all.total_ns})
        row.push_back(all.count == 0 ? nothing() : duration(static_cast<double>(each)));
    to.add(std::move(row));
}

/// Ages sampled while in progress.
void add_seen(sortable_table& to, const char* name, const latency_histogram& seen) {
    const archive::latency_reading all = seen.read();
    std::vector<cell> row{text(name), whole(all.count()), nothing()};
    for (const std::uint64_t ns :
         {all.quantile(0.5), all.quantile(0.99), all.quantile(0.999), all.longest_ns()}) {
        const double figure = static_cast<double>(ns);
        row.push_back(all.count() == 0 ? nothing() : cell{duration_in_words(figure / 1e9), figure});
    }
    row.push_back(nothing());
    to.add(std::move(row));
}

constexpr named_times other_times[] = {
    {"hand-over: rows made", &statistics_summary::encodings},
    {"hand-over: rows written", &statistics_summary::batches},
    {"hand-over: waited for", &statistics_summary::waits},
    {"hand-over: left memory", &statistics_summary::removals},
    {"archive: synced", &statistics_summary::syncs},
};

sortable_table latency_table(const view_content& content) {
    sortable_table table(
        {{"what"}, {"count"}, {"a second"}, {"p50"}, {"p99"}, {"p99.9"}, {"longest"}, {"in all"}});
    add_seen(table, "write turns under way *", content.locks.write_turns);
    add_seen(table, "writer waits under way *", content.locks.writer_waits);
    add_seen(table, "read turns under way *", content.locks.read_turns);
    add_seen(table, "reader waits under way *", content.locks.reader_waits);
    if (!content.sample.now.archive) return table;
    for (const named_times& each : lookup_times)
        add_times(table, std::string("lookup: ") + each.name, each, content.sample);
    for (const named_times& each : other_times)
        add_times(table, each.name, each, content.sample);
    return table;
}

using doing = lock_report::doing;

cell standing(doing what, bool is_alive, const char* inside) {
    const std::string word = in_words(what, inside);
    if (!is_alive) return {fmt::format("{}, and dead", word), std::nullopt, text_style::bad};
    return {word, std::nullopt,
            what == doing::waiting  ? text_style::warning
            : what == doing::inside ? text_style::good
                                    : text_style::plain};
}

cell age(doing what, double seconds) {
    return what == doing::idle ? nothing() : cell{duration_in_words(seconds), seconds};
}

sortable_table lock_table(const view_content& content) {
    sortable_table table(
        {{"who"}, {"process"}, {"thread"}, {"is", /*is_text=*/true}, {"for"}, {"slot"}});
    const lock_report& locks = content.sample.now.locks;
    if (locks.writer.process != 0)
        table.add({text(locks.writer.is_alive ? "(writer)" : "(last writer)"),
                   whole(locks.writer.process), nothing(),
                   locks.writer.is_alive || locks.writer.what != doing::idle
                       ? standing(locks.writer.what, locks.writer.is_alive, "writing")
                       : text("gone"),
                   age(locks.writer.what, locks.writer.seconds), nothing()});
    for (const lock_report::of_reader& one : locks.readers)
        table.add({text(printable(one.name)), whole(one.process), whole(one.thread),
                   one.has_snapshot && one.is_alive ? text("snapshot")
                                                    : standing(one.what, one.is_alive, "reading"),
                   age(one.what, one.seconds), whole(one.slot)});
    return table;
}

text_style style_of_growth(double figure) {
    return figure == 0 ? text_style::dim : text_style::plain;
}

std::uint64_t in_use(const measured& part) {
    return part.bytes.header + part.bytes.links + part.bytes.values;
}

/// The columns from `in use` on.
void add_bytes(std::vector<cell>& row, const measured& part, const state_growth::part* gained,
               const view_content& content) {
    const double all = static_cast<double>(content.sample.now.state.total().file_bytes);
    const double share = all == 0 ? 0 : static_cast<double>(part.file_bytes) / all;
    row.push_back(bytes(in_use(part)));
    row.push_back(gained ? cell{gained_bytes(gained->used_bytes), gained->used_bytes,
                                style_of_growth(gained->used_bytes)}
                         : nothing());
    row.push_back(bytes(part.bytes.slack));
    row.push_back(bytes(part.bytes.punched));
    row.push_back(bytes(part.file_bytes));
    row.push_back({percent(share, 1) + " " + bar_of(share, 8, content.is_unicode), share});
    row.push_back(bytes(part.cached.resident));
    row.push_back(bytes(part.cached.dirty));
    row.push_back(bytes(part.cached.missing));
}

void add_type(sortable_table& to, const type_report& type, const state_growth::part* gained,
              const view_content& content) {
    std::vector<cell> row{text(printable(type.name)), whole(type.objects)};
    row.push_back(gained ? cell{gained_number(gained->objects), gained->objects,
                                style_of_growth(gained->objects)}
                         : nothing());
    add_bytes(row, type.total(), gained, content);
    to.add(std::move(row));
}

void add_part(sortable_table& to, const char* name, const measured& part,
              const view_content& content) {
    std::vector<cell> row{{name, std::nullopt, text_style::dim}, nothing(), nothing()};
    add_bytes(row, part, nullptr, content);
    to.add(std::move(row));
}

sortable_table memory_table(const view_content& content) {
    sortable_table table({{"type"},
                          {"objects"},
                          {"a minute"},
                          {"in use"},
                          {"a minute"},
                          {"slack"},
                          {"punched"},
                          {"files"},
                          {"share"},
                          {"in memory"},
                          {"dirty"},
                          {"missing"}});
    const state_report& state = content.sample.now.state;
    const std::vector<state_growth::part>& gained = content.sample.growth.types;
    for (std::size_t each = 0; each < state.types.size(); ++each)
        add_type(table, state.types[each],
                 each < gained.size() && content.sample.growth.seconds > 0 ? &gained[each]
                                                                           : nullptr,
                 content);
    add_part(table, "(buffers)", state.buffers_total(), content);
    add_part(table, "(undo log)", state.log, content);
    add_part(table, "(header)", state.header, content);
    return table;
}

} // namespace

sortable_table table_of(view which, const view_content& content) {
    switch (which) {
    case view::memory:
        return memory_table(content);
    case view::latencies:
        return latency_table(content);
    case view::locks:
        return lock_table(content);
    case view::archive:
        return archive_table(content);
    case view::checkpoints:
        break;
    }
    return checkpoint_table(content);
}

sortable_table::order default_order(view which) {
    if (which == view::memory) return {3, false};
    return {};
}

std::string note_of(view which, const view_content& content) {
    const top_sample& sample = content.sample;
    switch (which) {
    case view::memory:
        return sample.growth.seconds > 0
                   ? fmt::format("a minute: measured over {:.0f} s", sample.growth.seconds)
                   : "a minute: with the next sample";
    case view::latencies:
        return fmt::format(
            "* their time so far, by ticks, at {} looks; the rest: since the archive was opened",
            grouped(content.locks.looks()));
    case view::locks:
        return sample.now.locks.readers.empty() ? "no readers" : "";
    case view::archive:
        return sample.now.archive ? "" : "no process has counted for an archive of this state";
    case view::checkpoints:
        break;
    }
    return sample.checkpoints.empty() ? "no checkpoint is there" : "";
}

} // namespace chainbase::inspect

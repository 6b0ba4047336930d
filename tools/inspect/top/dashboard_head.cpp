#include <tools/inspect/text_table.hpp>
#include <tools/inspect/top/dashboard_head.hpp>
#include <tools/inspect/top/figures.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::inspect {

namespace {

using doing = lock_report::doing;

styled_line begin(const char* label) {
    return {{fmt::format("{:<12}", label), text_style::dim}};
}

void add(styled_line& to, std::string text, text_style style = text_style::plain) {
    to.push_back({std::move(text), style});
}

std::string rate_text(double figure, const char* of) {
    return fmt::format("{} {}/s", short_number(figure), of);
}

styled_text condition_text(const state_report& state) {
    const std::string writer = printable(state.writer);
    switch (state.condition) {
    case condition::closed:
        return {"closed", text_style::plain};
    case condition::writer_running:
        return {fmt::format("writer running, process {}", writer), text_style::good};
    case condition::writer_died:
        return {fmt::format("the last writer died, process {}", writer), text_style::bad};
    }
    return {"unknown", text_style::bad};
}

styled_text writer_text(const lock_report::of_writer& writer) {
    if (!writer.is_alive) return {"no writer", text_style::dim};
    const std::string since = short_age(writer.seconds);
    if (writer.what == doing::idle) return {"writer idle", text_style::plain};
    if (writer.what == doing::inside) return {"writing " + since, text_style::good};
    return {"writer waits " + since, text_style::warning};
}

std::string readers_text(const lock_report& locks) {
    std::size_t reading = 0;
    std::size_t waiting = 0;
    for (const lock_report::of_reader& one : locks.readers) {
        reading += one.what == doing::inside ? 1 : 0;
        waiting += one.what == doing::waiting ? 1 : 0;
    }
    return fmt::format("readers {}: {} inside, {} waiting", locks.readers.size(), reading, waiting);
}

} // namespace

styled_line condition_line(const top_sample& sample) {
    const state_report& state = sample.now.state;
    styled_line line = begin("state");
    line.push_back(condition_text(state));
    add(line, fmt::format("   revision {}, irreversible {}, {} to undo", state.revision,
                          state.irreversible_revision, grouped(state.sessions)));
    if (!state.consistent) add(line, "   read in an operation", text_style::warning);
    return line;
}

styled_line rates_line(const top_sample& sample) {
    styled_line line = begin("rates");
    if (!sample.rates) {
        add(line, "with the next sample", text_style::dim);
        return line;
    }
    const live_rates& rates = *sample.rates;
    add(line, rate_text(rates.revisions, "blocks") + "   ");
    add(line, rate_text(rates.operations, "changes") + "   ", text_style::title);
    add(line, rate_text(rates.objects, "objects") + "   ");
    add(line, "files " + gained_bytes(rates.growth) + "/s");
    return line;
}

styled_line history_line(const std::deque<double>& operations, std::size_t columns,
                         bool is_unicode) {
    styled_line line = begin("changes/s");
    const double most = operations.empty() ? 0 : *std::ranges::max_element(operations);
    const std::string note = "  most " + short_number(most);
    const std::size_t used = columns_of(line) + note.size();
    if (columns <= used) return line;
    add(line, sparkline(operations, columns - used, is_unicode), text_style::good);
    add(line, note, text_style::dim);
    return line;
}

styled_line memory_line(const top_sample& sample, bool is_unicode) {
    const measured total = sample.now.state.total();
    const double files = static_cast<double>(total.file_bytes);
    const double used =
        static_cast<double>(total.bytes.header + total.bytes.links + total.bytes.values);
    styled_line line = begin("memory");
    add(line, bar_of(files == 0 ? 0 : used / files, 16, is_unicode), text_style::good);
    add(line, fmt::format(" {} of {} in use, {}/min, log {}, punched {}", short_bytes(used),
                          short_bytes(files), gained_bytes(sample.growth.whole.used_bytes),
                          short_bytes(static_cast<double>(sample.now.state.log.bytes.values)),
                          short_bytes(static_cast<double>(total.bytes.punched))));
    return line;
}

styled_line locks_line(const top_sample& sample, const lock_watch& watch) {
    styled_line line = begin("locks");
    line.push_back(writer_text(sample.now.locks.writer));
    add(line, "   " + readers_text(sample.now.locks));
    const lock_watch::shares& last = watch.last();
    if (last.looks == 0) return line;
    const auto share = [&last](std::uint64_t seen) {
        return percent(static_cast<double>(seen), static_cast<double>(last.looks));
    };
    add(line, "   busy " + share(last.writing), text_style::dim);
    if (last.writer_waiting > 0)
        add(line, ", writer waits " + share(last.writer_waiting), text_style::warning);
    if (last.readers_waiting > 0)
        add(line, ", readers wait " + share(last.readers_waiting), text_style::warning);
    return line;
}

styled_line archive_line(const top_sample& sample) {
    styled_line line = begin("archive");
    if (!sample.now.archive) {
        add(line, "none has counted", text_style::dim);
        return line;
    }
    const archive::statistics_summary& all = sample.now.archive->figures;
    const std::uint64_t finds = all.hits_in_archive.count + all.misses.count;
    if (sample.rates)
        add(line, rate_text(sample.rates->archive_finds, "lookups") + "   " +
                      rate_text(sample.rates->archive_rows, "rows handed over") + "   ");
    const double found = static_cast<double>(all.hits_in_archive.count);
    if (finds == 0)
        add(line, "nothing looked for there yet", text_style::dim);
    else
        add(line, fmt::format("{} of {} found, p99 {}", percent(found, static_cast<double>(finds)),
                              grouped(finds),
                              short_time(static_cast<double>(all.hits_in_archive.p99_ns))));
    if (all.failures > 0)
        add(line, fmt::format("   {} calls failed", grouped(all.failures)), text_style::bad);
    return line;
}

styled_line checkpoint_line(const top_sample& sample) {
    styled_line line = begin("checkpoint");
    if (sample.checkpoints.empty()) {
        add(line, "none", text_style::dim);
        return line;
    }
    const auto now = std::chrono::system_clock::to_time_t(sample.now.time);
    const checkpoint_info& newest = sample.checkpoints.front();
    const auto age = std::max<std::int64_t>(0, now - newest.time);
    add(line, fmt::format("{} old, revision {} ({} behind), {}",
                          short_time(1e9 * static_cast<double>(age)), newest.revision,
                          grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(
                              0, sample.now.state.revision - newest.revision))),
                          short_bytes(static_cast<double>(newest.bytes))));
    if (sample.checkpoints.size() > 1)
        add(line, fmt::format(", {} after the one before",
                              short_time(1e9 * static_cast<double>(newest.time -
                                                                   sample.checkpoints[1].time))));
    if (newest.has_redo_log) add(line, ", a redo log follows");
    return line;
}

} // namespace chainbase::inspect

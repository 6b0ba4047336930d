#include <chainbase/feed/feed_files.hpp>
#include <chainbase/feed/follower.hpp>
#include <chainbase/feed/log_reader.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/feed/feed_cursors.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace {

using feed::entry;
using feed::log_reader;
using feed::object_change;

struct feed_call : state_call {
    bool is_followed = false;
    bool shows_cursors = false;
    std::string cursor;
    std::string dropped;
    std::optional<revision_number> from;
};

std::string_view name_of(object_change::kind what) {
    switch (what) {
    case object_change::kind::created:
        return "created";
    case object_change::kind::modified:
        return "modified";
    case object_change::kind::removed:
        return "removed";
    case object_change::kind::archived:
        return "archived";
    case object_change::kind::unarchived:
        return "unarchived";
    }
    return "unknown";
}

std::string_view name_of(entry::kind what) {
    switch (what) {
    case entry::kind::block:
        return "block";
    case entry::kind::pop:
        return "pop";
    case entry::kind::irreversible:
        return "irreversible";
    }
    return "unknown";
}

/// Prints entries, each as soon as it is read.
class feed_printer {
public:
    feed_printer(const std::deque<type_schema>& types, bool as_json)
        : types_(types), as_json_(as_json) {}

    /// `position`: behind it in the feed's files; nothing when it was read elsewhere.
    void print(const entry& one, std::optional<feed::feed_position> position) {
        text_.clear();
        if (as_json_)
            add_json(one, position);
        else
            add_text(one);
        print_or_throw(text_, "call again");
    }

private:
    [[nodiscard]] std::string object(std::uint32_t type, archive::bytes_view record) {
        if (record.empty()) return "null";
        while (formats_.size() <= type)
            formats_.emplace_back(types_[formats_.size()]);
        return formats_[type].text_of(record).json;
    }
    void add_json(const entry& one, std::optional<feed::feed_position> position) {
        const auto to = std::back_inserter(text_);
        fmt::format_to(to, "{{\"{}\":{}", name_of(one.what), one.revision);
        if (one.what != entry::kind::irreversible) {
            text_ += ",\"changes\":[";
            for (std::size_t i = 0; i < one.changes.size(); ++i) {
                const object_change& each = one.changes[i];
                fmt::format_to(to,
                               "{}{{\"type\":\"{}\",\"id\":{},\"change\":\"{}\",\"before\":{},"
                               "\"after\":{}}}",
                               i == 0 ? "" : ",", types_[each.type].name, each.id,
                               name_of(each.what), object(each.type, one.before(each)),
                               object(each.type, one.after(each)));
            }
            text_ += ']';
        }
        if (position) fmt::format_to(to, ",\"position\":{}", *position);
        text_ += "}\n";
    }
    void add_text(const entry& one) {
        const auto to = std::back_inserter(text_);
        fmt::format_to(to, "{} {}\n", name_of(one.what), one.revision);
        for (const object_change& each : one.changes)
            fmt::format_to(
                to, "  {} {} {} {}\n", name_of(each.what), types_[each.type].name, each.id,
                object(each.type, one.after(each).empty() ? one.before(each) : one.after(each)));
    }

    const std::deque<type_schema>& types_;
    bool as_json_;
    std::string text_;
    std::deque<row_format> formats_; ///< by number of the type
};

exit_code drop_cursor(const feed_call& asked) {
    disk& on = disk::of_system();
    const std::filesystem::path folder = feed::feed_folder(asked.state);
    if (!feed::feed_cursor::exists(on, folder, asked.dropped))
        throw usage_error(folder.string() + ": there is no cursor '" + asked.dropped +
                          "'; --cursors lists them");
    feed::feed_cursor::remove(on, folder, asked.dropped);
    return exit_code::done;
}

/// Prints what there is, or with --follow until a signal; calls keep() where all of that is
/// printed.
template <typename From, typename Position, typename Keep>
exit_code print_entries(From& from, const feed_call& asked, const char* none, Position&& position,
                        Keep&& keep) {
    constexpr std::chrono::milliseconds pause{5};
    constexpr std::uint64_t most_unkept = 1'000;
    const catch_interruption interruption;
    feed_printer printer(from.types(), asked.json);
    entry one;
    std::uint64_t count = 0;
    std::uint64_t kept = 0;
    for (;;) {
        const bool is_over = catch_interruption::caught();
        const bool is_there = !is_over && from.next(one);
        if (is_there) {
            printer.print(one, position());
            ++count;
        }
        if (count > kept && (!is_there || count - kept == most_unkept)) {
            keep();
            kept = count;
        }
        if (is_over) return asked.is_followed ? exit_code::done : exit_code::interrupted;
        if (is_there) continue;
        if (!asked.is_followed) {
            if (count == 0) spdlog::info("{}: {}", asked.state, none);
            return exit_code::done;
        }
        std::this_thread::sleep_for(pause);
    }
}

/// From where the cursor is; a new one begins at the newest block.
exit_code print_for_cursor(const feed_call& asked) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    feed::follower from(asked.state, asked.cursor);
    while (from.is_new()) {
        try {
            const snapshot begin(asked.state);
            from.begin_at(begin);
            spdlog::info("{}: cursor '{}' begins after revision {}", asked.state, asked.cursor,
                         begin.revision());
        } catch (const busy_error&) { // its block was undone
            if (std::chrono::steady_clock::now() > until) throw;
        }
    }
    return print_entries(
        from, asked, "nothing was told since; --follow tells of what comes",
        [&] { return std::optional(from.position()); }, [&] { from.keep(); });
}

exit_code run_feed(const feed_call& asked) {
    if (!asked.dropped.empty()) return drop_cursor(asked);
    if (asked.shows_cursors) {
        const feed_cursors found = feed_cursors::read(asked.state);
        print_or_throw(asked.json ? as_json(found) : as_text(found), "call again");
        return exit_code::done;
    }
    try {
        if (!asked.cursor.empty()) return print_for_cursor(asked);
        if (asked.from) {
            feed::follower from(asked.state, *asked.from);
            return print_entries(
                from, asked, "that was not told yet; --follow tells of it when it is",
                [&] { return std::optional(from.position()); }, [] {});
        }
        log_reader from(asked.state, log_reader::start::irreversible);
        return print_entries(
            from, asked, "no block can be undone; --follow tells of those that come",
            [] { return std::optional<feed::feed_position>(); }, [] {});
    } catch (const too_old_error& problem) {
        spdlog::error("{}", problem.what());
    } catch (const feed::too_far_behind_error& problem) {
        spdlog::error("{}{}", problem.what(), asked.from ? "" : "; --drop removes the cursor");
    }
    return exit_code::moved;
}

} // namespace

feed_cursors feed_cursors::read(const std::filesystem::path& state) {
    disk& on = disk::of_system();
    const std::filesystem::path folder = feed::feed_folder(state);
    const std::vector<feed::feed_position> files = feed::entries_files(on, folder);
    feed_cursors found;
    if (!files.empty()) {
        found.begin = files.front();
        found.end = feed::feed_head(on, folder).end();
    }
    for (const std::string& name : feed::feed_cursor::names(on, folder)) {
        try {
            const auto now = feed::feed_cursor(on, folder, name, disk::mode::read).now();
            found.cursors.push_back({name, now, found.end - std::min(found.end, now.at)});
        } catch (const error&) {
            if (feed::feed_cursor::exists(on, folder, name)) throw; // else it was dropped
        }
    }
    return found;
}

std::string as_text(const feed_cursors& found) {
    if (found.cursors.empty()) return "no cursors: nothing is written for followers\n";
    text_table table({"cursor", "revision", "behind"});
    for (const feed_cursors::cursor& one : found.cursors)
        table.add({one.name, one.now.has_begun ? std::to_string(one.now.revision) : "not begun",
                   bytes_in_words(one.behind)});
    return table.text();
}

std::string as_json(const feed_cursors& found) {
    json cursors = json::array();
    for (const feed_cursors::cursor& one : found.cursors)
        cursors.push_back({{"name", one.name},
                           {"position", one.now.at},
                           {"has_begun", one.now.has_begun},
                           {"revision", one.now.revision},
                           {"behind", one.behind}});
    return line_of({{"schema_version", 1},
                    {"begin", found.begin},
                    {"end", found.end},
                    {"cursors", std::move(cursors)}}) +
           "\n";
}

void declare_feed(command& verb) {
    const auto asked = declare_look<feed_call>(verb, run_feed);
    verb.add_flag("--follow", asked->is_followed,
                  "Go on with each new block, until a signal ends it");
    verb.add_flag("--json", asked->json, "Print JSON lines, with objects before and after");
    auto& cursor =
        verb.add_option(
                "--cursor", asked->cursor,
                "Print from where this cursor is, and move it on; the node keeps for it what it "
                "has not read. A new one begins at the newest block")
            .value_name("NAME");
    verb.add_option("--from", asked->from,
                    "Print what the feed's files have from this revision on, for no cursor")
        .value_name("REVISION")
        .excludes(cursor);
    verb.add_flag("--cursors", asked->shows_cursors,
                  "Print who follows the feed's files, and how far each is behind");
    verb.add_option("--drop", asked->dropped,
                    "Remove this cursor: what it has not read is no longer kept for it")
        .value_name("NAME");
}

} // namespace chainbase::inspect

#include <chainbase/offline/snapshot_file/loading.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/standby/beginning.hpp>
#include <tools/driver/sync/served_feed.hpp>
#include <tools/inspect/snapshot/state_writer.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace chainbase::driver {

namespace fs = std::filesystem;

namespace {

using begin_clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{10};

/// A block may be undone, or not told yet, when the snapshot is taken.
void begin_feed(const fs::path& primary, feed::follower& feed) {
    for (const auto until = begin_clock::now() + patience;;) {
        try {
            const snapshot begin(primary.string());
            return feed.begin_at(begin);
        } catch (const busy_error&) {
            if (begin_clock::now() > until || catch_interruption::caught()) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
}

/// Whether a block that the driver applied ends with this entry.
bool ends_with(const feed::entry& one, const std::deque<type_schema>& types,
               const begin_of_copy& begin) {
    return one.what == feed::entry::kind::block &&
           std::ranges::any_of(one.changes, [&](const feed::object_change& each) {
               if (each.what != feed::object_change::kind::created ||
                   types[each.type].name != "applied_block")
                   return false;
               const archive::record_view<applied_block> made(one.after(each));
               return made.get<&applied_block::number>() == begin.block &&
                      to_string(block_id{made.get<&applied_block::id_high>(),
                                         made.get<&applied_block::id_low>()}) == begin.id;
           });
}

/// A snapshot of a block that can no longer be undone, and its place in the feed: a copy cannot go
/// back behind it.
feed::feed_position write_irreversible(const fs::path& primary, feed::follower& feed,
                                       const fs::path& folder) {
    while (!catch_interruption::caught()) {
        if (fs::exists(folder / "manifest")) snapshot_file::make_unfinished(folder);
        begin_feed(primary, feed);
        inspect::row_source from(primary);
        const snapshot_file::manifest all = inspect::write_snapshot(from, {folder, {}}).all;
        const auto block = all.block.value_or(snapshot_file::manifest::block_name{});
        spdlog::info("{}: a snapshot of {} as of block {}; waits until that can no longer be "
                     "undone",
                     folder.string(), primary.string(), block.number);
        if (const auto place = place_behind({block.number, block.id, all.revision}, feed))
            return *place;
    }
    throw interrupted_error("interrupted before there is a snapshot; the same call begins anew");
}

} // namespace

std::optional<feed::feed_position> place_behind(const begin_of_copy& begin, feed::follower& feed) {
    std::optional<feed::feed_position> found;
    if (feed.revision() == begin.revision) found = feed.position();
    feed::entry one;
    auto until = begin_clock::now() + patience;
    while (!catch_interruption::caught() && begin_clock::now() < until) {
        try {
            if (!feed.next(one)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
        } catch (const feed::too_far_behind_error&) { // its end
            if (!found) throw;
            break;
        }
        until = begin_clock::now() + patience;
        if (ends_with(one, feed.types(), begin))
            found = feed.position();
        else if (one.what == feed::entry::kind::pop && one.revision <= begin.revision)
            found.reset();
        else if (one.what == feed::entry::kind::irreversible && one.revision >= begin.revision)
            break;
    }
    return found;
}

void offer_snapshot(const fs::path& state, const fs::path& folder) {
    if (fs::exists(folder / "manifest")) return;
    feed::follower keeping(state, served_feed::cursor_of_snapshot);
    (void)write_irreversible(state, keeping, folder);
}

fs::path snapshot_beside(const fs::path& state) {
    return state.string() + ".standby-snapshot";
}

feed::feed_position copy_state(const fs::path& primary, feed::follower& feed,
                               const following_options& options) {
    const fs::path folder = snapshot_beside(options.state);
    const feed::feed_position place = write_irreversible(primary, feed, folder);
    snapshot_file::loading_options how;
    how.threads = std::max(1U, std::thread::hardware_concurrency());
    how.limits.readers_group = options.state_settings.group;
    how.limits.memory_folder = options.state_settings.memory_folder;
    progress shown("loading");
    how.tell = shown.as_callback();
    how.on_kept = [&] { shown.keeps_what_is_done(); };
    (void)load_as(snapshot_file::folder_reader(folder), options.state, std::move(how));
    fs::remove_all(folder);
    return place;
}

} // namespace chainbase::driver

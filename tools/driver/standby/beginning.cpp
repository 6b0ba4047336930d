#include <chainbase/offline/snapshot_file/loading.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/standby/beginning.hpp>
#include <tools/driver/sync/messages.hpp>
#include <tools/driver/sync/served_feed.hpp>
#include <tools/inspect/snapshot/state_writer.hpp>
#include <tools/progress.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace chainbase::driver {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds patience{10};

/// A block may be undone, or not told yet, when the snapshot is taken.
void begin_feed(const fs::path& primary, feed::follower& feed) {
    for (const auto until = std::chrono::steady_clock::now() + patience;;) {
        try {
            const snapshot begin(primary.string());
            return feed.begin_at(begin);
        } catch (const busy_error&) {
            if (std::chrono::steady_clock::now() > until) throw;
        }
    }
}

/// Whether a block that the driver applied ends with this entry.
bool ends_with(const feed::entry& one, const std::deque<type_schema>& types,
               const block_place& block) {
    return one.what == feed::entry::kind::block &&
           std::ranges::any_of(one.changes, [&](const feed::object_change& each) {
               if (each.what != feed::object_change::kind::created ||
                   types[each.type].name != "applied_block")
                   return false;
               const archive::record_view<applied_block> made(one.after(each));
               return made.get<&applied_block::number>() == block.number &&
                      made.get<&applied_block::id_high>() == block.id.high &&
                      made.get<&applied_block::id_low>() == block.id.low;
           });
}

} // namespace

void copy_state(const fs::path& primary, feed::follower& feed, const following_options& options) {
    begin_feed(primary, feed);
    const fs::path folder = options.state.string() + ".snapshot";
    {
        inspect::row_source from(primary);
        spdlog::info("{}: made of a snapshot of {}", options.state.string(), primary.string());
        (void)inspect::write_snapshot(from, {folder, {}, std::max(1U, options.threads)});
    }
    snapshot_file::loading_options how;
    how.threads = std::max(1U, options.threads);
    how.limits.readers_group = options.state_settings.group;
    how.limits.memory_folder = options.state_settings.memory_folder;
    progress shown("loading");
    how.tell = shown.as_callback();
    (void)load_as(snapshot_file::folder_reader(folder), options.state, std::move(how));
    fs::remove_all(folder);
}

void offer_snapshot(const fs::path& state, const fs::path& folder) {
    if (fs::exists(folder / "manifest")) return;
    feed::follower keeping(state, served_feed::cursor_of_snapshot);
    begin_feed(state, keeping);
    inspect::row_source from(state);
    spdlog::info("{}: written, a snapshot of {}; the feed keeps what follows it", folder.string(),
                 state.string());
    (void)inspect::write_snapshot(from, {folder, {}});
}

feed::feed_position place_behind(chain_state& copy, feed::follower& feed,
                                 const std::function<bool()>& goes_on) {
    const block_place head{copy.head(), copy.head_id()};
    feed::feed_position found = feed.position();
    bool is_found = copy.state().revision() == feed.revision();
    feed::entry one;
    for (auto until = std::chrono::steady_clock::now() + patience; goes_on();) {
        if (feed.next(one)) {
            until = std::chrono::steady_clock::now() + patience;
            if (ends_with(one, feed.types(), head)) {
                found = feed.position();
                is_found = true;
            }
        } else if (is_found || std::chrono::steady_clock::now() > until) {
            break;
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    if (is_found) return found;
    throw damaged_error(fmt::format(
        "{}: the feed that it is to follow does not tell of its {}; move it away, and call "
        "again: it is made anew",
        copy.state().state(), in_words(head)));
}

} // namespace chainbase::driver

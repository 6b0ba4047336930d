#include <chainbase/offline/backup.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/sync/snapshot_peers.hpp>
#include <tools/driver/sync/snapshot_start.hpp>
#include <tools/progress.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;
using snapshot_file::folder_reader;
using snapshot_file::folder_writer;
using snapshot_file::manifest;

namespace {

void say_what_is_not_proven(const snapshot_options& how, const manifest& all, std::size_t votes,
                            std::size_t peers) {
    const std::vector<std::string> types = how.trusted.not_covered(all);
    if (types.empty()) return;
    spdlog::warn("the trusted root does not commit to {}: their objects are as {} of {} peers say "
                 "(--trusted-name proves them)",
                 fmt::join(types, ", "), votes, peers);
}

/// Fetches what is missing in the folder.
void collect(const snapshot_options& how, const following_options& options, program_types& types,
             const std::set<sha256_digest>& unusable, snapshot_figures& figures) {
    if (options.peers.empty())
        throw usage_error(how.folder.string() + ": is no whole snapshot, and there is no peer to "
                                                "complete it; name one with --peer HOST:PORT");
    std::optional<folder_writer> to; // outlives those who use it
    snapshot_peers peers(how, options, types, unusable);
    for (;;) {
        const manifest& all = peers.choose();
        spdlog::info(
            "snapshot {}, block {}: {} objects in {} chunks, {}, offered by {} of {} peers",
            hex(all.name()), all.block ? all.block->number : 0, all.objects(), all.chunks(),
            bytes_in_words(all.bytes()), peers.votes(), options.peers.size());
        say_what_is_not_proven(how, all, peers.votes(), options.peers.size());
        if (!to) to.emplace(how.folder);
        if (peers.fetch(*to, all)) {
            to->finish(all);
            break;
        }
        spdlog::warn("snapshot {} cannot be completed; another one is looked for", hex(all.name()));
    }
    figures.fetched_chunks += to->so_far().written;
    figures.fetched_bytes += peers.fetched_bytes();
    figures.kept_chunks = to->so_far().kept;
    figures.dropped_peers = peers.given_up();
}

void load_into_state(const folder_reader& from, const following_options& options,
                     snapshot_figures& figures) {
    const state_options& settings = options.state_settings;
    snapshot_file::loading_options how;
    how.threads = std::max(1U, std::thread::hardware_concurrency());
    how.limits.readers_group = settings.group;
    how.limits.memory_folder = settings.memory_folder;
    if (settings.archive) how.archive = archive::to_string(*settings.archive);
    progress shown("loading");
    how.tell = shown.as_callback();
    how.on_kept = [&] { shown.keeps_what_is_done(); };
    const auto loaded = load_as(from, options.state, std::move(how));
    figures.objects = loaded.objects + loaded.archived;
}

/// Whether a chunk is not what the manifest says.
bool has_bad_chunk(const folder_reader& from) {
    const std::vector<listed_chunk> all = chunks_of(from.manifest());
    progress shown("verifying");
    std::uint64_t done = 0;
    std::size_t number = 0;
    bool found = false;
    made_in_order(
        all.size(), std::max(1U, std::thread::hardware_concurrency()),
        [&](std::size_t at) {
            try {
                static_cast<void>(from.content(*all[at].type, *all[at].entry));
                return true;
            } catch (const damaged_error&) {
                return false;
            } catch (const io_error&) {
                return false;
            }
        },
        [&](bool is_good) {
            found = found || !is_good;
            shown.advance(done += all[number++].entry->bytes, from.manifest().bytes());
        });
    return found;
}

/// Whether the snapshot, not this machine or the caller, is at fault.
bool is_of_snapshot(const error& problem) {
    return dynamic_cast<const damaged_error*>(&problem) != nullptr ||
           dynamic_cast<const duplicate_key_error*>(&problem) != nullptr ||
           dynamic_cast<const schema_error*>(&problem) != nullptr;
}

/// Whether a whole snapshot in the folder was made a state. Else it is unfinished now: chunks that
/// are damaged are fetched again, or, where the manifest is at fault, another one is chosen.
bool load_whole(const snapshot_options& how, const following_options& options, program_types& types,
                std::set<sha256_digest>& unusable, snapshot_figures& figures) {
    std::optional<folder_reader> from;
    const auto can_mend = [&](const error& problem) {
        if (options.peers.empty() || catch_interruption::caught()) return false;
        const bool is_bad = !from || has_bad_chunk(*from);
        if (!is_bad && !is_of_snapshot(problem)) return false;
        if (!is_bad) unusable.insert(from->manifest().name());
        spdlog::warn("{}; peers are asked for what is right", problem.what());
        snapshot_file::make_unfinished(how.folder);
        return true;
    };
    try {
        from.emplace(how.folder);
    } catch (const damaged_error& problem) {
        if (can_mend(problem)) return false;
        throw;
    }
    const manifest& all = from->manifest();
    how.trusted.require(all, how.folder.string());
    require_known_chain(all.chain);
    try {
        types.require(all, how.folder.string());
        load_into_state(*from, options, figures);
    } catch (const error& problem) {
        if (can_mend(problem)) return false;
        throw;
    }
    figures.name = hex(all.name());
    figures.block = all.block ? all.block->number : 0;
    figures.chunks = all.chunks();
    figures.not_proven = how.trusted.not_covered(all);
    return true;
}

} // namespace

std::optional<snapshot_figures> start_from_snapshot(const snapshot_options& how,
                                                    const following_options& options) {
    if (!how.trusted.root && !how.trusted.name)
        throw usage_error("--from-snapshot: nothing says which snapshot is right; name the state "
                          "root of a block that you trust with --trusted-root");
    if (chain_state::is_in(options.state)) {
        spdlog::info("{}: the state is there, so no snapshot is needed", options.state.string());
        return std::nullopt;
    }
    if (fs::exists(fs::symlink_status(options.state)))
        throw usage_error(options.state.string() + ": exists, and holds no state; remove it, or "
                                                   "choose another name");
    archive::require_outside(options.state, how.folder, "snapshot");
    const auto begin = clock::now();
    snapshot_figures figures;
    program_types types;
    std::set<sha256_digest> unusable;
    do
        if (!fs::exists(how.folder / "manifest")) collect(how, options, types, unusable, figures);
    while (!load_whole(how, options, types, unusable, figures));
    figures.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    spdlog::info("{}: made of snapshot {}, block {}, in {}", options.state.string(), figures.name,
                 figures.block, duration_in_words(figures.seconds));
    return figures;
}

} // namespace chainbase::driver

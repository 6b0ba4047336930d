#include <archive/open_archive.hpp>
#include <chainbase/object/value_type.hpp>
#include <chainbase/offline/backup.hpp>
#include <chainbase/offline/bulk_load/key_loaders.hpp>
#include <chainbase/offline/snapshot_copy.hpp>
#include <chainbase/offline/unfinished_state.hpp>
#include <chainbase/state_root/recorded_root.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <pool_allocator/base/unfinished_name.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/root/root_record.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/snapshot/state_writer.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace fs = std::filesystem;
using snapshot_file::chunk_content;
using snapshot_file::chunk_entry;
using snapshot_file::chunk_plan;
using snapshot_file::folder_writer;
using snapshot_file::manifest;
using snapshot_file::piece;
using snapshot_file::type_entry;

namespace {

constexpr unsigned piece_height = 12;
constexpr std::uint32_t piece_ids = 1U << piece_height;

/// What the driver says of the chain, if the state is of it.
void note_chain(row_source& state, manifest& to) {
    const auto newest = [&](const char* type) -> std::optional<json> {
        if (!state.has(type)) return std::nullopt;
        const rows::type_rows of = state.of(type);
        for (std::uint32_t id = of.slots().next_id(); id-- != 0;)
            if (const slot_number slot = of.slots().slot_of(id)) {
                std::string text;
                row_format(of.schema()).append_json(text, of.slots().value(slot), of.buffers());
                return json::parse(text);
            }
        return std::nullopt;
    };
    if (const auto one = newest("chain_identity"); one && one->contains("chain"))
        to.chain = one->at("chain").is_string() ? one->at("chain").get<std::string>() : "";
    const auto block = newest("applied_block");
    if (block && block->contains("number") && block->contains("id_high") &&
        block->contains("id_low"))
        to.block = {block->at("number").get<std::uint64_t>(),
                    fmt::format("{:016x}{:016x}", block->at("id_high").get<std::uint64_t>(),
                                block->at("id_low").get<std::uint64_t>())};
}

/// The root that the state recorded for its revision; nothing if there is none, or it was turned
/// off.
std::optional<root_record> current_root(row_source& state) {
    if (!state.has(state_root::recorded_root::type_name)) return std::nullopt;
    try {
        root_record found = root_record::of(state);
        if (found.recorded.revision == state.revision()) return found;
    } catch (const usage_error&) { // nothing is recorded
    }
    return std::nullopt;
}

/// The chunks of some rows of a type, and how high their tree is.
struct cut_rows {
    std::vector<chunk_entry> chunks;
    std::uint64_t objects = 0;
    std::uint64_t archived = 0;
    std::optional<std::uint32_t> highest;
};

/// Pieces of a type: its rows, and those of the archive whose objects were removed.
struct read_piece {
    piece objects;
    piece removed;
    std::optional<std::uint32_t> highest; ///< of `objects`
    std::optional<std::uint32_t> highest_removed;
};

/// One attempt to write a state as of its newest block.
class snapshot_attempt {
public:
    snapshot_attempt(row_source& state, snapshot_file::chunk_sink& to, unsigned threads)
        : state_(state), to_(to), threads_(threads), archive_(open_archive(state)) {
        shown_.keeps_what_is_done();
    }

    manifest run() {
        manifest all;
        std::vector<std::string> names;
        std::optional<root_record> root;
        state_.take_turn([&] {
            row_source& from = state_.source();
            all = {};
            names.clear();
            ids_ = 0;
            note_chain(from, all);
            root = current_root(from);
            for (const type_schema* schema : from.types())
                if (!snapshot_file::is_of_archive(schema->name)) {
                    rows::require_sound_layout(*schema);
                    names.push_back(schema->name);
                    ids_ += from.of(schema->name).slots().next_id();
                }
        });
        std::ranges::sort(names);
        all.revision = state_.revision();
        if (const auto kind = archive::kind_of(state_.source().origin() / "archive"))
            all.archive = archive::to_string(*kind);
        if (root) all.state_root = root->recorded.root;
        for (const std::string& name : names)
            all.types.push_back(write_type(name, root ? root->find(name) : nullptr));
        state_.take_turn([] {}); // confirms that rows of an archive in memory are of it, too
        return all;
    }

private:
    type_entry write_type(const std::string& name, const state_root::committed_type* root) {
        type_entry one;
        state_.take_turn([&] { one.schema = state_.source().of(name).schema(); });
        type_records all(state_, name, archive_.get(), type_records::places::with_removed);
        warn_of(all, name);
        warn_of_keys(one.schema);
        cut_rows removed;
        cut_rows objects;
        cut(all, objects, removed);
        one.next_id = all.end();
        one.is_committed = root != nullptr;
        one.objects = objects.objects;
        one.archived = objects.archived;
        one.height = objects.highest ? snapshot_file::tree_height(*objects.highest) : 0;
        one.chunks = std::move(objects.chunks);
        one.removed = std::move(removed.chunks);
        one.root = one.computed_root();
        if (const auto layout = all.row_layout()) {
            one.row_layout = *layout;
            one.archive_keys = archive_->tables()[table_called(*archive_, name)->value].key_names;
        }
        if (root && (root->root != one.root || root->height != one.height))
            throw damaged_error(fmt::format("{}: the objects of {} are not those of the state's "
                                            "root; `chainbase-inspect root {} --verify` names them",
                                            state_.source().state().string(), name,
                                            state_.source().state().string()));
        return one;
    }

    void warn_of(const type_records& all, const std::string& name) const {
        for (const std::string& field : all.record().undescribed())
            spdlog::warn("{}.{}: the catalogue does not say what its bytes mean; they are taken as "
                         "they are, and may differ between machines",
                         name, field);
    }

    void warn_of_keys(const type_schema& schema) const {
        for (const type_schema::key& key : schema.keys)
            if (bulk_load::is_computed(schema, key))
                spdlog::warn("{}.{}: a function of the program computes this key, so the snapshot "
                             "can be verified and compared, but not loaded if it has such objects",
                             schema.name, key.name);
    }

    void cut(type_records& all, cut_rows& objects, cut_rows& removed) {
        chunk_plan plan([&](const piece& one) { objects.chunks.push_back(to_.put(one)); });
        chunk_plan plan_of_removed(
            [&](const piece& one) { removed.chunks.push_back(to_.put(one)); });
        const std::size_t count = (std::size_t{all.end()} + piece_ids - 1) / piece_ids;
        made_in_order(
            count, threads_, [&](std::size_t number) { return read(all, number); },
            [&](read_piece&& one) {
                take(std::move(one.objects), one.highest, plan, objects);
                take(std::move(one.removed), one.highest_removed, plan_of_removed, removed);
                done_ += piece_ids;
                shown_.advance(done_, std::max(ids_, done_));
            });
        if (objects.highest) plan.finish(snapshot_file::tree_height(*objects.highest));
        if (removed.highest) plan_of_removed.finish(snapshot_file::tree_height(*removed.highest));
    }

    static void take(piece one, std::optional<std::uint32_t> highest, chunk_plan& plan,
                     cut_rows& to) {
        if (!highest) return;
        to.highest = highest;
        to.objects += one.content.objects();
        to.archived += one.content.archived();
        plan.add(std::move(one));
    }

    static read_piece read(type_records& all, std::size_t number) {
        const auto first = static_cast<std::uint32_t>(number * piece_ids);
        chunk_content objects;
        chunk_content removed;
        read_piece found;
        all.each(first, first + std::min(piece_ids, all.end() - first),
                 [&](const type_records::seen& one) {
                     (one.is_removed ? removed : objects)
                         .add({one.id, one.record, one.is_archived, one.keys});
                     (one.is_removed ? found.highest_removed : found.highest) = one.id;
                 });
        if (found.highest) found.objects = piece::of({first, piece_height}, std::move(objects));
        if (found.highest_removed)
            found.removed = piece::of({first, piece_height}, std::move(removed));
        return found;
    }

    unchanging_state state_;
    snapshot_file::chunk_sink& to_;
    unsigned threads_;
    std::unique_ptr<archive::store> archive_;
    progress shown_{"writing", "ids"};
    std::uint64_t done_ = 0;
    std::uint64_t ids_ = 0; ///< about
};

/// The copy is made beside it, and never gets its name.
fs::path copy_of(const snapshot_call& asked) {
    fs::path to = fs::absolute(asked.to).lexically_normal();
    if (!to.has_filename()) to = to.parent_path();
    return to += ".copy";
}

manifest written_through_copy(row_source& state, snapshot_file::chunk_sink& to,
                              const snapshot_call& asked) {
    const auto archive = archive::kind_of(state.origin() / "archive");
    if (archive && *archive == archive::store_kind::rocksdb)
        throw too_old_error(fmt::format(
            "{}: its writer changes it too fast to be read meanwhile, and the rows of its archive "
            "are not part of a copy; call again when it is idle, or write a snapshot of a backup "
            "(chainbase-driver backup)",
            state.state().string()));
    const unfinished_state copy(copy_of(asked));
    spdlog::info(
        "{}: its writer changes it too fast to be read meanwhile; it is copied first, to {}",
        state.state().string(), copy.path().string());
    static_cast<void>(snapshot_copy(state.state()).make(copy.path(), {}));
    row_source from(copy.path());
    return snapshot_attempt(from, to, asked.threads).run();
}

std::optional<manifest> written_while_unchanged(row_source& state, snapshot_file::chunk_sink& to,
                                                unsigned threads) {
    state.read_all(/*and_keys=*/false);
    return attempt_while_unchanged([&] { return snapshot_attempt(state, to, threads).run(); });
}

/// What a call left that was killed.
void remove_copy(const snapshot_call& asked) {
    const fs::path name = copy_of(asked);
    if (fs::exists(unfinished_path(name))) unfinished_state{name};
}

} // namespace

written_snapshot write_snapshot(row_source& state, const snapshot_call& asked) {
    archive::require_outside(asked.to, state.state());
    folder_writer to(asked.to, asked.base);
    remove_copy(asked);
    written_snapshot made;
    if (auto all = written_while_unchanged(state, to, asked.threads))
        made.all = *std::move(all);
    else {
        made.is_through_copy = true;
        made.all = written_through_copy(state, to, asked);
    }
    to.finish(made.all);
    made.files = to.so_far();
    return made;
}

written_snapshot write_snapshot(row_source& state, snapshot_file::chunk_sink& to,
                                unsigned threads) {
    auto all = written_while_unchanged(state, to, threads);
    if (!all)
        throw too_old_error(state.state().string() +
                            ": its writer changes it too fast to be read meanwhile; call again, or "
                            "write to a folder, for which the state is copied first");
    to.finish(*all);
    return {*std::move(all), to.so_far(), false};
}

} // namespace chainbase::inspect

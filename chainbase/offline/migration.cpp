#include <archive/record/described_record.hpp>
#include <chainbase/offline/bulk_load/key_loaders.hpp>
#include <chainbase/offline/bulk_load/segment_replacement.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/migration.hpp>
#include <chainbase/offline/past_migration.hpp>
#include <chainbase/open_options.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <chainbase/segment/segment.hpp>
#include <chainbase/state_root/recorded_root.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/undo_log.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace chainbase {

namespace fs = std::filesystem;
using snapshot_file::object_of_record;

std::string_view old_object::text(std::string_view field) const {
    const auto handle = get<buffer_handle>(field);
    const auto found = values_.content(handle);
    if (!found) throw usage_error(layout_.name + ": " + std::string(field) + " is not a text");
    return {reinterpret_cast<const char*>(found->data()), found->size()};
}

bool old_object::has(std::string_view field) const {
    return std::ranges::find(layout_.fields, field, &type_schema::field::name) !=
           layout_.fields.end();
}

const std::byte* old_object::bytes_of(std::string_view field, std::size_t bytes) const {
    const auto found = std::ranges::find(layout_.fields, field, &type_schema::field::name);
    if (found == layout_.fields.end() || found->bytes != bytes)
        throw usage_error(
            fmt::format("{}: there was no field {} of {} bytes", layout_.name, field, bytes));
    return value_.data() + found->offset;
}

snapshot_file::migration_rules migration::change::rules_for(const type_schema& from) const {
    snapshot_file::migration_rules all = rules;
    all.may_not_apply = true;
    if (compute)
        all.compute = [f = compute, old = std::make_shared<old_object>(from)](
                          archive::bytes_view record, std::span<std::byte> object) {
            old->read(record);
            f(*old, object);
        };
    return all;
}

migration& migration::drop_type(const std::string& name) {
    dropped_.insert(name);
    return *this;
}

const migration::change* migration::of(const std::string& old_type) const {
    const auto found = std::ranges::find_if(types_, [&](const change& one) {
        return one.now.name == old_type || one.was.contains(old_type);
    });
    return found == types_.end() ? nullptr : &*found;
}

bool migration::is_needed(const catalogue& types) const {
    return std::ranges::any_of(types.entries(), [&](const catalogue::entry& one) {
        if (dropped_.contains(one.schema.name)) return true;
        const change* const known = of(one.schema.name);
        return known && !(known->now == one.schema);
    });
}

void migration::add_to(snapshot_file::loading_options& how,
                       const snapshot_file::manifest& from) const {
    how.types.emplace();
    for (const snapshot_file::type_entry& one : from.types) {
        if (dropped_.contains(one.schema.name)) {
            how.dropped_types.insert(one.schema.name);
            continue;
        }
        const change* const known = of(one.schema.name);
        how.types->push_back(known ? known->now : one.schema);
        if (!known) continue;
        how.rules[known->now.name] = known->rules_for(one.schema);
        if (known->now.name != one.schema.name)
            how.renamed_types[known->now.name] = one.schema.name;
    }
}

/// One migration of a state, from its segment as it is.
class migration::in_place {
public:
    in_place(const migration& to, const fs::path& state)
        : to_(to), state_(state), replacement_(state) {}

    void run() {
        catalogue before;
        std::vector<past_migration> done;
        {
            open_options reading;
            reading.mode = open_mode::read_only;
            segment from(state_, reading);
            require_nothing_to_undo(from);
            bulk_load::new_state made(replacement_.folder(), replacement_.limits());
            copy_types(from, made);
            made.close(revision_);
            before = from.types();
            done = changes(before);
        }
        require_sound();
        add_past_migrations(state_, before, std::move(done));
        replacement_.replace();
    }

private:
    void require_nothing_to_undo(const segment& from) {
        const undo_log_view log(from.log_file());
        revision_ = log.revision();
        if (log.sessions() == 0 || to_.commits_) return;
        throw usage_error(fmt::format("{}: {} block(s) can still be undone, but not after a "
                                      "migration; commit them with the program before, or allow it "
                                      "(migration::commit_all)",
                                      state_.string(), log.sessions()));
    }

    void copy_types(segment& from, bulk_load::new_state& made) const {
        const rows::segment_buffers buffers(bulk_load::buffers_of(from));
        const auto& types = from.types().entries();
        for (std::size_t number = 0; number < types.size(); ++number) {
            const type_schema& schema = types[number].schema;
            if (is_former_root(schema.name)) continue;
            if (to_.dropped_.contains(schema.name)) {
                require_no_archive(schema.name);
                continue;
            }
            const type_windows& files = *from.windows()[number];
            rows::type_rows::source of{&schema, files.objects.get(), files.ids.get(), {}, {},
                                       &buffers};
            for (const auto& one : files.tables)
                of.tables.push_back(one.get());
            for (const auto& one : files.btrees)
                of.btrees.push_back(one.get());
            copy_type(rows::type_rows(std::move(of)), made);
        }
    }

    /// The tree that 0.1.0 kept in the state: nothing reads it any more.
    static bool is_former_root(const std::string& type) {
        return type == "state_root.tree" || type == "state_root.types" ||
               type.starts_with("state_root.nodes");
    }

    void copy_type(const rows::type_rows& from, bulk_load::new_state& made) const {
        const change* const known = to_.of(from.schema().name);
        const bool is_same = !known || known->now == from.schema();
        bulk_load::object_loader loader = made.add_type(is_same ? from.schema() : known->now);
        // A root is of the records, which have the layouts: it is made anew.
        const bool is_made_anew = state_root::is_of_root(from.schema().name);
        if (is_same && !is_made_anew)
            loader.add_all(from);
        else if (!is_same)
            convert(from, *known, loader);
        if (!is_made_anew && loader.objects() != from.slots().live())
            throw damaged_error(state_.string() + ": the ids of " + from.schema().name +
                                " lead to fewer objects than it has, so nothing was changed; run "
                                "chainbase-inspect check");
        loader.finish(is_made_anew ? 0 : from.slots().next_id(), orders(from, loader.schema()));
    }

    void convert(const rows::type_rows& from, const change& how,
                 bulk_load::object_loader& to) const {
        if (!(from.schema().fields == how.now.fields) || from.schema().name != how.now.name)
            require_no_archive(from.schema().name);
        spdlog::info("{}: {} objects of {} are taken over", state_.string(), from.slots().live(),
                     from.schema().name);
        const archive::described_record records(from.schema());
        object_of_record objects(from.schema(), how.now, how.rules_for(from.schema()));
        archive::byte_buffer record;
        for (std::uint32_t id = 0; id < from.slots().next_id(); ++id) {
            const slot_number slot = from.slots().slot_of(id);
            if (slot == 0) continue;
            record.clear();
            records.append(from.slots().value(slot), from.buffers(), record);
            const std::byte* const object = objects.read(record).data();
            if (rows::copy_at<std::uint32_t>(object) != id)
                throw usage_error(
                    fmt::format("{} {}: its migration computed another id", how.now.name, id));
            to.add(object, objects);
        }
    }

    [[nodiscard]] std::vector<past_migration> changes(const catalogue& before) const {
        std::vector<past_migration> all;
        for (const catalogue::entry& one : before.entries()) {
            const change* const known = to_.of(one.schema.name);
            if (known && !to_.dropped_.contains(one.schema.name) && !(known->now == one.schema))
                all.push_back(
                    past_migration::of(one.schema, known->now, known->rules_for(one.schema)));
        }
        return all;
    }

    /// Its rows have the former layout.
    void require_no_archive(const std::string& type) const {
        open_options reading;
        reading.mode = open_mode::read_only;
        const segment from(state_, reading);
        const catalogue::entry* const queue = from.types().find(type + ".retired");
        if (!queue) return;
        const auto number = static_cast<std::size_t>(queue - from.types().entries().data());
        const auto root =
            rows::copy_at<chainbase::detail::root_prefix>(from.windows()[number]->objects->root());
        if (root.next_id == 0) return;
        throw usage_error(fmt::format("{}: {} has rows in the archive, whose fields are the former "
                                      "ones; write a snapshot (chainbase-inspect snapshot write), "
                                      "and load it with this migration",
                                      state_.string(), type));
    }

    /// Keys that a function computes have another order where it reads other values.
    static bulk_load::key_orders orders(const rows::type_rows& from, const type_schema& now) {
        if (from.schema() == now) return bulk_load::orders_of(from);
        return {};
    }

    void require_sound() const {
        const check::state_check found(replacement_.folder());
        if (found.report().found_in_all() == 0) return;
        throw damaged_error(replacement_.folder().string() +
                            ": the new segment is not sound, so nothing was changed; run "
                            "chainbase-inspect check on the state");
    }

    const migration& to_;
    fs::path state_;
    bulk_load::segment_replacement replacement_;
    revision_number revision_ = 0;
};

namespace {

/// Who reads the feed would read objects by the former layouts.
void require_no_followers(const fs::path& state) {
    const fs::path cursors = state / "feed" / "cursors";
    std::error_code none;
    if (!fs::exists(cursors, none) || fs::is_empty(cursors, none)) return;
    throw usage_error(
        fmt::format("{}: its feed has followers ({}), which know the former types; end "
                    "them (chainbase-inspect feed {} --cursors, --drop NAME), and let "
                    "them begin anew afterwards",
                    state.string(), cursors.string(), state.string()));
}

} // namespace

void migration::run(const fs::path& state, const open_options& /*how*/) {
    require_no_followers(state);
    spdlog::info("{}: its types are brought to those of this program", state.string());
    in_place(*this, state).run();
}

} // namespace chainbase

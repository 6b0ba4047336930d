// Snapshots of random types are loaded into newer ones: as a naive model of migrations says.

#include <archive/record/described_record.hpp>
#include <chainbase/index.hpp>
#include <chainbase/object/schema_of.hpp>
#include <chainbase/offline/check/mapped_state.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/rows/type_rows.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/random_records.hpp>
#include <tests/snapshot_file/random_migration.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using namespace chainbase::snapshot_file;

namespace {

/// A type without keys, as a program declares it.
type_schema declared(type_schema type, const std::string& name) {
    const type_schema sample = schema_of<marker>(name);
    type.name = name;
    type.link_bytes = sample.link_bytes;
    type.value_offset = 16; // no field needs more
    type.node_bytes = (type.value_offset + type.value_bytes + 15) / 16 * 16;
    type.root_bytes = object_index<marker>::root_bytes;
    return type;
}

/// A type of the snapshot, and what becomes of it.
class changing_type {
public:
    changing_type(random_source& random, const std::string& name)
        : from_(declared(random_layout(random, 5), name)), model_(random, from_),
          is_dropped_(random.one_in(6)) {
        model_.to = declared(model_.to, random.one_in(4) ? name + ".new" : name);
        random_records records(from_, random);
        std::uint32_t id = 0;
        for (std::uint32_t left = random.below(8); left != 0; --left)
            add(id += 1 + random.below(random.one_in(3) ? 500 : 2), records);
    }

    /// `all`: also the records that the newer type cannot hold.
    type_entry put(folder_writer& to, bool all) const {
        type_entry type;
        type.schema = from_;
        chunk_content content;
        for (const auto& [id, one] : rows_)
            if (all || one.object) {
                content.add({id, one.record, false, {}});
                type.height = tree_height(id);
            }
        type.objects = content.objects();
        type.next_id = rows_.empty() ? 3 : rows_.rbegin()->first + 1;
        if (type.objects == 0) return type;
        chunk_plan plan([&](const piece& one) { type.chunks.push_back(to.put(one)); });
        plan.add(piece::of({0, 32}, std::move(content)));
        plan.finish(type.height);
        type.root = type.computed_root();
        return type;
    }

    void ask_for(loading_options& how) const {
        if (is_dropped_) {
            how.dropped_types.insert(from_.name);
            return;
        }
        how.types->push_back(model_.to);
        how.rules[model_.to.name] = model_.rules;
        if (model_.to.name != from_.name) how.renamed_types[model_.to.name] = from_.name;
    }

    /// Objects that the newer type cannot hold.
    [[nodiscard]] std::uint64_t failing() const {
        std::uint64_t count = 0;
        for (const auto& [id, one] : rows_)
            count += !is_dropped_ && !one.object;
        return count;
    }

    void require_told(const std::vector<type_change>& told) const {
        const std::string& name = is_dropped_ ? from_.name : model_.to.name;
        const auto found = std::ranges::find(told, name, &type_change::type);
        REQUIRE(found != told.end());
        REQUIRE(found->is_dropped == is_dropped_);
        REQUIRE(found->failing == failing());
    }

    void require_in(const check::mapped_state& state, const rows::buffer_source& buffers) const {
        const auto found = std::ranges::find(state.types(), model_.to.name,
                                             [](const auto& one) { return one.schema->name; });
        REQUIRE((found == state.types().end()) == is_dropped_);
        if (is_dropped_) return;
        const rows::slot_reader slots(*found->schema, *found->objects, *found->ids);
        REQUIRE(slots.next_id() == (rows_.empty() ? 3 : rows_.rbegin()->first + 1));
        for (std::uint32_t id = 0; id < slots.next_id(); ++id) {
            const auto row = rows_.find(id);
            const slot_number slot = slots.slot_of(id);
            const bool is_there = row != rows_.end() && row->second.object;
            REQUIRE((slot != 0) == is_there);
            if (is_there)
                REQUIRE(printed(model_.to, {slots.value(slot), model_.to.value_bytes}, buffers) ==
                        *row->second.object);
        }
    }

private:
    struct row {
        byte_buffer record;
        std::optional<std::string> object; ///< as the model has it, printed
    };

    void add(std::uint32_t id, random_records& records) {
        row& one = rows_[id];
        one.record = records.next(id);
        inspect::row_reader reader(model_.to);
        if (const std::byte* const object = object_of(one.record, from_, model_, reader))
            one.object = printed(model_.to, {object, model_.to.value_bytes}, reader);
    }

    type_schema from_;
    random_migration model_;
    bool is_dropped_;
    std::map<std::uint32_t, row> rows_;
};

using changing_types = std::vector<std::unique_ptr<changing_type>>;

folder_reader written(const changing_types& types, const std::filesystem::path& to, bool all) {
    folder_writer writer(to);
    manifest every;
    for (const auto& one : types)
        every.types.push_back(one->put(writer, all));
    writer.finish(every);
    return folder_reader(to);
}

void require_loaded(const changing_types& types, const std::filesystem::path& state) {
    check::part_report report;
    const check::mapped_state found(state, report);
    rows::segment_buffers::files files{};
    for (std::size_t number = 0; number < files.size(); ++number)
        files[number] = found.buffers(number);
    for (const auto& one : types)
        one->require_in(found, rows::segment_buffers(files));
}

} // namespace

TEST_CASE_METHOD(seeded, "snapshots of random types are loaded into newer ones as the model says") {
    std::uint64_t refused = 0;
    const std::uint64_t least = short_test_operations(40);
    for (std::uint64_t done = 0; done < least || refused < 5; ++done) {
        const scratch_folder folder;
        changing_types types;
        loading_options how;
        how.limits.memory_folder = "none";
        how.limits.window_bytes = quick_options().window_bytes;
        how.types.emplace();
        std::uint64_t failing = 0;
        for (std::uint32_t number = 0; number < 1 + done % 5; ++number) {
            types.push_back(
                std::make_unique<changing_type>(random, "type" + std::to_string(number)));
            types.back()->ask_for(how);
            failing += types.back()->failing();
        }
        how.types->push_back(declared(random_layout(random, 4), "added"));
        const folder_reader all = written(types, folder / "all", true);
        const auto told = dry_run(all, how);
        for (const auto& one : types)
            one->require_told(told);
        if (failing != 0) {
            REQUIRE_THROWS_AS(load(all, folder / "refused", how), limit_error);
            ++refused;
        }
        load(written(types, folder / "fitting", false), folder / "state", how);
        require_loaded(types, folder / "state");
        REQUIRE(check::state_check(folder / "state").report().found_in_all() == 0);
    }
}

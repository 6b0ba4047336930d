#include <archive/open_archive.hpp>
#include <chainbase/database.hpp>
#include <chainbase/offline/snapshot_file/manifest.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/root/chain_root.hpp>
#include <tools/driver/sync/program_types.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace chainbase::driver {

namespace fs = std::filesystem;

namespace {

/// Removed with the object.
struct scratch_folder {
    scratch_folder() {
        std::string name = (fs::temp_directory_path() / "chainbase-types-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw io_error(name + ": the folder cannot be made; set TMPDIR to one where it can");
        path = name;
    }
    ~scratch_folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    fs::path path;
};

/// Those of an empty state with a root over all types, as chain_state makes it.
std::vector<type_schema> declared_types(const std::string& chain, const std::string& archive) {
    const scratch_folder scratch;
    open_options how;
    how.durability = durability::process;
    how.memory_folder = "none";
    how.sync = false;
    how.advise = false;
    database state((scratch.path / "state").string(), how);
    state.add_type<chain_identity>(chain_identity::type_name);
    state.add_type<applied_block>("applied_block");
    const auto kind = archive::store_kind_of(archive.empty() ? "none" : archive);
    const auto rows = archive::open_archive(state, scratch.path / "state/archive", kind);
    const auto model = make_chain_model(chain, state, *rows);
    root_options all;
    all.types = {"all"};
    all.threads = 0;
    const auto root = chain_root::open(state, *model, all);
    std::vector<type_schema> found;
    for (const catalogue::entry& one : state.memory().types().entries())
        found.push_back(one.schema);
    state.abandon();
    return found;
}

} // namespace

void program_types::require(const snapshot_file::manifest& all, const std::string& of) {
    const std::lock_guard held(mutex_);
    const types& ours = of_chain(all.chain, all.archive);
    const auto fail = [&](const std::string& what) {
        throw schema_error(of + ": " + what +
                           "; take a snapshot that this version of the program can use");
    };
    if (!all.find(chain_identity::type_name)) fail("has no object that says its chain");
    for (const snapshot_file::type_entry& one : all.types) {
        const auto found = std::ranges::find(ours, one.schema.name, &type_schema::name);
        if (found == ours.end())
            fail(fmt::format("a state of {} has no type {}", all.chain, one.schema.name));
        if (const std::string other = found->difference(one.schema); !other.empty())
            fail(fmt::format("type {} is declared otherwise: {}", one.schema.name, other));
    }
}

const program_types::types& program_types::of_chain(const std::string& chain,
                                                    const std::string& archive) {
    const std::pair key(chain, archive);
    if (!known_.contains(key)) known_[key] = declared_types(chain, archive);
    return known_[key];
}

} // namespace chainbase::driver

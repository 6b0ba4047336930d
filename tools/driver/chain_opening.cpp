#include <archive/open_archive.hpp>
#include <chainbase/offline/migration.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/chain_opening.hpp>
#include <tools/progress.hpp>

namespace chainbase::driver::chain_opening {

namespace {

/// Changes nothing before the state is known to be of this chain.
void identify(database& state, const std::string& chain) {
    const auto& types = state.memory().types();
    if (!types.entries().empty() && types.find(chain_identity::type_name) == nullptr)
        throw usage_error("the state " + state.state() +
                          " was made by another program; name another folder");
    state.add_type<chain_identity>(chain_identity::type_name);
    const chain_identity* known = state.find(id<chain_identity>(0));
    if (known == nullptr)
        known = &state.create<chain_identity>(
            [&](chain_identity& one) { one.chain = std::string_view(chain); });
    if (known->chain.view() != chain)
        throw usage_error("the state " + state.state() + " is of the chain " +
                          std::string(known->chain.view()) + ", the block log is of " + chain +
                          "; name another folder, or that chain's log");
}

} // namespace

open_options how_to_open(const state_options& state_settings) {
    open_options how;
    how.durability = state_settings.level;
    how.checkpoints.interval = state_settings.checkpoint_interval;
    how.memory_folder = state_settings.memory_folder;
    how.expected_bytes = state_settings.expected_bytes;
    how.readers_group = state_settings.group;
    how.restoring = [shown = std::make_shared<progress>("restoring")](
                        std::uint64_t done, std::uint64_t all) { shown->show(done, all); };
    return how;
}

open_options how_to_take_over(const state_options& state_settings, const std::string& chain,
                              migration& to_now) {
    open_options how = how_to_open(state_settings);
    if (!state_settings.migrates.value_or(false)) return how;
    name_types(chain, to_now);
    how.migrate = &to_now.commit_all();
    return how;
}

const applied_block* head_of(const database& state) {
    const std::uint32_t next = state.next_id<applied_block>().value;
    return next == 0 ? nullptr : state.find(id<applied_block>(next - 1));
}

void leave(database& state) {
    if (state.opened().how == opening::way::attached)
        state.close();
    else
        state.abandon();
}

const std::filesystem::path& ready_to_open(const std::filesystem::path& folder,
                                           const std::string& chain,
                                           const state_options& state_settings) {
    require_known_chain(chain);
    if (!state_settings.migrates.value_or(false) || !chain_state::is_in(folder)) return folder;
    database state(folder, how_to_open(state_settings));
    try {
        {
            const write_turn turn(state.memory());
            (void)archive_of(state, chain, state_settings);
        }
        state.close();
    } catch (...) {
        leave(state);
        throw;
    }
    return folder;
}

std::unique_ptr<archive::store> archive_of(database& state, const std::string& chain,
                                           const state_options& state_settings) {
    identify(state, chain);
    state.add_type<applied_block>("applied_block");
    const std::filesystem::path place = std::filesystem::path(state.state()) / "archive";
    if (head_of(state) && !std::filesystem::exists(place))
        throw damaged_error(place.string() +
                            ": missing; put the archive of this state back in place (to a "
                            "state that was loaded from a dump belongs a copy of the archive "
                            "of the dumped one), or replay into a new folder");
    return archive::open_archive(state, place, state_settings.archive);
}

} // namespace chainbase::driver::chain_opening

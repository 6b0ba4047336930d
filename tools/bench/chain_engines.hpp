#pragma once

#include <tools/bench/chain_modes.hpp>

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace chainbase::bench {

/// Makes the state of a chain that the tools know, empty, in `directory`, an empty folder of its
/// own that the caller removes afterwards.
using chain_engine_maker = std::unique_ptr<chain_engine> (*)(
    std::string_view chain, const std::filesystem::path& directory);

/// An engine by the name under which it appears in reports.
struct chain_engine_entry {
    std::string_view name;
    chain_engine_maker make;
    /// Whether a replay runs in sessions: where only they give a kill something to return to, it
    /// does; the classical engines replay without any undo.
    bool replays_in_sessions;

    [[nodiscard]] stepping how_to_replay() const noexcept {
        return replays_in_sessions ? stepping::in_sessions : stepping::without_sessions;
    }
};

/// In the order in which they run.
[[nodiscard]] std::span<const chain_engine_entry> chain_engines() noexcept;

/// Null when there is none of that name.
[[nodiscard]] const chain_engine_entry* find_chain_engine(std::string_view name) noexcept;

[[nodiscard]] std::unique_ptr<chain_engine>
make_chainbase_chain(std::string_view chain, const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<chain_engine>
make_archiving_chain(std::string_view chain, const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<chain_engine>
make_classical_chain(std::string_view chain, const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<chain_engine>
make_classical_hashed_chain(std::string_view chain, const std::filesystem::path& directory);

} // namespace chainbase::bench

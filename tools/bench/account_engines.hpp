#pragma once

#include <tools/bench/account_engine.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace chainbase::bench {

/// An engine that the account bench knows by name.
struct account_engine_entry {
    std::string_view name;
    std::unique_ptr<account_engine> (*make)();
};

/// All engines, in the order in which they are run and reported.
[[nodiscard]] std::span<const account_engine_entry> account_engines() noexcept;

/// The entry of that name, or null.
[[nodiscard]] const account_engine_entry* find_account_engine(std::string_view name) noexcept;

} // namespace chainbase::bench

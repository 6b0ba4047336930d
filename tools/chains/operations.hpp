#pragma once

#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>

#include <array>
#include <string_view>

/// The operations of all chains, whose encoding operations.cpp defines, and the chains' names.
namespace chainbase {

/// The chains with a model, by their names in block logs. Per-chain tables have this order, which
/// the compiler checks.
inline constexpr std::array<std::string_view, 4> chain_names{
    social::chain_name, social::generated_chain_name, swap::chain_name, payments::chain_name};

} // namespace chainbase

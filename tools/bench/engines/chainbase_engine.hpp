#pragma once

#include <tools/bench/account_engine.hpp>

#include <memory>

namespace chainbase::bench {

/// The engine itself, as one more store beside the baselines.
std::unique_ptr<account_engine> make_chainbase_engine();

} // namespace chainbase::bench

#pragma once

#include <string_view>

namespace chainbase::driver::live {

/// What load.gp holds: the build takes it from there.
extern const std::string_view plot_script;

} // namespace chainbase::driver::live

#pragma once

#include <tools/command_line.hpp>

namespace chainbase::sink {

/// Each function declares its verb (command_line.hpp).
void declare_follow(command& verb);
void declare_verify(command& verb);
void declare_ddl(command& verb);
void declare_status(command& verb);
void declare_coordinator(command& verb);

} // namespace chainbase::sink

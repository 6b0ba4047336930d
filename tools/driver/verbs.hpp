#pragma once

#include <tools/command_line.hpp>

namespace chainbase::driver {

/// Each function declares its verb (command_line.hpp).
void declare_backup(command& verb);
void declare_bisect(command& verb);
void declare_block_log(command& verb);
void declare_convert_archive(command& verb);
void declare_generate(command& verb);
void declare_import(command& verb);
void declare_live(command& verb);
void declare_load(command& verb);
void declare_replay(command& verb);
void declare_restore(command& verb);
void declare_roots(command& verb);
void declare_serve(command& verb);
void declare_standby(command& verb);
void declare_sync(command& verb);

} // namespace chainbase::driver

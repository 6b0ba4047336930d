#pragma once

#include <tools/command_line.hpp>

namespace chainbase::bench {

/// Each function declares its bench, a verb (command_line.hpp) that measures and prints the report.
void declare_account(command& verb);
void declare_chain(command& verb);
void declare_growth(command& verb);
void declare_bank(command& verb);
void declare_crash(command& verb);
void declare_archive(command& verb);
void declare_readers(command& verb);
void declare_root(command& verb);
void declare_large(command& verb);

} // namespace chainbase::bench

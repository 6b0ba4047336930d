#pragma once

#include <chainbase/database.hpp>

#include <tests/inspect/account_block.hpp>
#include <tests/support/checkpoints_on_disk.hpp>

#include <filesystem>

namespace chainbase::test {

/// Makes a state of 200 accounts, closed, with two checkpoints unless it is to promise none.
inline void build_two_checkpoints(const std::filesystem::path& state,
                                  const open_options& how = with_checkpoints()) {
    database db(state, how);
    db.add_type<account>("account");
    add_accounts(db, 100);
    if (how.promise != durability::process) (void)db.make_checkpoint();
    add_accounts(db, 100);
}

} // namespace chainbase::test

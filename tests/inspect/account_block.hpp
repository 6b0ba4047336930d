#pragma once

#include <chainbase/database.hpp>

#include <tests/support/sample_types.hpp>

#include <cstdint>
#include <string>

namespace chainbase::test {

/// A block of new accounts, irreversible at once; their names and numbers are their ids'.
inline void add_accounts(database& db, std::uint32_t count) {
    auto block = db.start_session();
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t number = db.next_id<account>().value;
        db.create<account>([&](account& a) {
            a.name = std::string_view(std::to_string(number));
            a.number = number;
        });
    }
    block.push();
    db.commit(db.revision());
}

} // namespace chainbase::test

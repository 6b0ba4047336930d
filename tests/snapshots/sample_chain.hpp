#pragma once

#include <chainbase/database.hpp>

#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <string>

namespace chainbase::test {

/// A state with three types, in blocks.
struct chain {
    explicit chain(open_options options = quick_options()) : db(folder / "state", options) {
        db.add_type<account>("account");
        db.add_type<post>("post");
        db.add_type<stake>("stake");
    }
    template <typename Work>
    revision_number block(Work&& work) {
        auto session = db.start_session();
        work();
        const revision_number revision = session.revision();
        session.push();
        return revision;
    }
    const account& add(const char* name, std::int64_t balance) {
        return db.create<account>([&](account& made) {
            made.name = name;
            made.balance = balance;
            made.number = static_cast<std::uint64_t>(balance) * 7;
            made.group = static_cast<std::uint32_t>(balance % 3);
        });
    }
    /// A block of accounts a0, a1, ..., with balances 0, 1, ...
    void fill(int accounts) {
        block([&] {
            for (int i = 0; i < accounts; ++i)
                add(("a" + std::to_string(i)).c_str(), i);
        });
    }
    [[nodiscard]] std::string state() const { return folder / "state"; }

    scratch_folder folder;
    database db;
};

inline open_options keeping(std::uint64_t log_bytes) {
    open_options options = quick_options();
    options.snapshot_log_bytes = log_bytes;
    return options;
}

/// Changes every byte of some objects, many times, each time in a block that is committed.
inline void churn(chain& in, int blocks) {
    for (int i = 0; i < blocks; ++i) {
        const revision_number revision = in.block([&] {
            for (const account& one : in.db.objects<account>())
                in.db.modify(one, [](account& changed) { ++changed.visits; });
        });
        in.db.commit(revision);
    }
}

} // namespace chainbase::test

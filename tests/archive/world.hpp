#pragma once

#include <tests/archive/stores.hpp>
#include <tests/support/scratch_state.hpp>

#include <memory>
#include <string>
#include <utility>

namespace chainbase::test {

/// A state of notes, and its archive.
struct note_world {
    scratch_folder folder;
    database state{folder / "state", small_state()};
    std::unique_ptr<archive::store> rows;
    notes all;

    explicit note_world(std::unique_ptr<archive::store> store = std::make_unique<heap_store>())
        : rows(std::move(store)), all((state.add_type<note>("note"), state), *rows, "note") {}

    template <typename Work>
    void block(Work work) {
        session one = state.start_session();
        work();
        one.push();
    }
    /// So many notes, all retired, every block irreversible.
    void retired_notes(int count) {
        block([&] {
            for (; count > 0; --count) {
                ++written_;
                all.retire(write(state, "alice", std::to_string(written_), written_));
            }
        });
        state.commit(state.revision());
    }
    /// Returns the number of notes that left memory.
    std::size_t hand_over_behind(std::size_t limit) {
        std::size_t left = 0;
        block([&] { left = all.hand_over_behind(state.committed_revision(), limit); });
        return left;
    }
    /// Three notes, the middle one retired, every block irreversible.
    void three_notes() {
        block([&] {
            write(state, "alice", "one", 10);
            write(state, "alice", "two", 20);
            write(state, "bob", "one", 30);
        });
        block([&] { all.retire(state.get<note>(id<note>(1))); });
        state.commit(state.revision());
    }
    std::size_t hand_over() {
        std::size_t moved = 0;
        block([&] { moved = all.hand_over(state.committed_revision()); });
        return moved;
    }
    [[nodiscard]] bool in_store(std::uint32_t number) const {
        return rows->contains(archive::table_id{0}, number);
    }

private:
    int written_ = 0;
};

} // namespace chainbase::test

#pragma once

#include <archive/committed_state.hpp>

#include <tests/archive/world.hpp>

namespace chainbase::test {

/// A block that a root follows.
template <typename Work>
void rooted_block(database& state, archive::committed_state& root, Work work) {
    session one = state.start_session();
    work();
    root.update(one.revision());
    one.push();
}

/// A world of notes with a root of them, once it is caught up.
struct world_with_root : note_world {
    explicit world_with_root(unsigned threads = 0) : root(state, threads) { root.add(all); }
    template <typename Work>
    void rooted_block(Work work) {
        test::rooted_block(state, root, work);
    }

    archive::committed_state root;
};

} // namespace chainbase::test

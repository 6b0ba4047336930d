#pragma once

#include <tests/support/random_source.hpp>
#include <tests/support/world.hpp>

#include <cstdint>

namespace chainbase::test {

/// A block with transactions, of which some are undone; some blocks are popped, old ones are
/// committed. Calls look() whenever a block may have ended.
template <typename Look>
void apply_block(world& w, random_source& random, Look&& look) {
    w.start();
    for (int transactions = 0; transactions < 3; ++transactions) {
        w.start();
        for (int changes = 0; changes < 3; ++changes)
            w.change_unchecked(random);
        if (random.chance(300))
            w.undo();
        else
            w.squash();
    }
    w.push();
    look();
    if (w.depth() > 6) {
        w.commit(3);
        look();
    }
    for (std::uint32_t pops = random.chance(150) ? random.below(4) : 0; pops != 0 && w.depth() > 0;
         --pops) {
        w.undo();
        look();
    }
}

} // namespace chainbase::test

#include <catch2/catch.hpp>
#include <tests/tools/allocation_limit.hpp>
#include <tests/tools/captured_log.hpp>
#include <tests/tools/forged_block.hpp>
#include <tests/tools/sync_support.hpp>

/// A peer whose block decodes to more than there is memory for: it costs its connection, too.
using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

TEST_CASE("a block that there is no memory for ends the connection, and not the node") {
    const captured_log quiet;
    const payments_tree tree(5);
    driver::blocks_builder forged(tree.at(1).place);
    forged.add(block_of_nothing(2, 2000, 4 << 20));
    const bytes frame = forged.finish();
    const scripted_peer bad([&](raw_connection& with, int) {
        static_cast<void>(with.greet("payments"));
        with.send(frame_of(tree, 1));
        with.send(frame);
        with.wait_for_end();
    });
    const sync_call call({bad.address()});
    {
        const allocation_limit poor(std::size_t{32} << 20);
        CHECK_THROWS_WITH(call.run(), Contains(bad.address()) && Contains("follows block 1") &&
                                          Contains("more memory than there is"));
    }
    CHECK(call.digest() == tree.digest_at(1));
}

#include <tests/support/chain_model.hpp>

#include <utility>

namespace chainbase::test {

chain_model::chain_model(std::filesystem::path state, std::uint64_t seed)
    : world_(std::move(state), {.changes = {.objects = 12}, .verify = false}), seed_(seed) {}

void chain_model::apply(std::uint64_t step) {
    random_source random(seed_ * 1'000'003 + step);
    if (world_.depth() > 1 && random.chance(150))
        world_.undo();
    else
        apply_block(random);
}

void chain_model::apply_block(random_source& random) {
    world_.start();
    for (std::uint32_t transactions = random.below(5); transactions > 0; --transactions) {
        world_.start();
        for (std::uint32_t operations = random.below(8); operations > 0; --operations)
            world_.change_plainly(random);
        if (random.chance(250))
            world_.undo();
        else
            world_.squash();
    }
    for (std::uint32_t operations = random.below(4); operations > 0; --operations)
        world_.change_plainly(random);
    if (world_.depth() == 1 && random.chance(300)) {
        world_.squash();
        return;
    }
    world_.push();
    if (world_.depth() > lag) world_.commit(world_.depth() - lag);
    if (random.chance(100)) world_.commit(world_.depth());
}

} // namespace chainbase::test

#include <tests/support/chain_model.hpp>

namespace chainbase::test {

chain_model::chain_model(const std::filesystem::path& state, std::uint64_t seed,
                         const chain_options& options)
    : options_(options),
      world_(state, {.changes = options.changes, .verify = false, .how = options.how}),
      seed_(seed) {
    if (!options_.filled || world_.peak() > 0 || world_.db().revision() > 0) return;
    random_source random(seed_);
    world_.fill(random);
}

void chain_model::apply(std::uint64_t step) {
    random_source random(seed_ * 1'000'003 + step);
    if (world_.depth() > 1 && random.chance(150))
        world_.undo();
    else
        apply_block(random);
}

void chain_model::apply_block(random_source& random) {
    world_.start();
    for (std::uint32_t transactions = random.below(options_.transactions); transactions > 0;
         --transactions) {
        world_.start();
        for (std::uint32_t operations = random.below(options_.operations); operations > 0;
             --operations)
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

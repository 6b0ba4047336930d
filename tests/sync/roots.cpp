// The root of each block while blocks are popped and replaced, transactions are pending and blocks
// are produced: it always matches the current objects, and is the same for the same block.
#include <pool_allocator/base/error.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/root/chain_root.hpp>

#include <catch2/catch.hpp>
#include <tests/support/captured_log.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/seeded.hpp>
#include <tests/tools/generated_logs.hpp>
#include <tests/tools/small_chain.hpp>

#include <memory>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using driver::chain_state;

namespace {

constexpr std::int64_t lag = 12;

driver::state_options with_root() {
    driver::state_options state_settings;
    state_settings.root.types = std::set<std::string>{"all"};
    return state_settings;
}

/// A chain whose real blocks are those of a log; others come and go.
class wandering_chain {
public:
    explicit wandering_chain(std::uint64_t seed)
        : blocks_(all_blocks([&] {
              auto options = social_chain(40'000, seed);
              options.mix = deleting_mix();
              return options;
          }())),
          random_(seed), roots_(blocks_.size() + 1) {
        open();
        roots_[0] = state_->root()->root();
    }

    /// One step of the walk.
    void step() {
        switch (random_.below(10)) {
        case 0:
            pop(1 + random_.below(lag - 1));
            break;
        case 1:
            apply_another();
            break;
        case 2:
            let_some_wait();
            break;
        case 3:
            make_next();
            break;
        case 4:
            if (random_.chance(100)) open();
            break;
        default:
            apply_next();
        }
        if (wrong_ != 0) return;
        require_root();
    }
    [[nodiscard]] bool is_at_end() const { return right_ == blocks_.size() && wrong_ == 0; }
    void verify() {
        state_->drop_pending();
        state_->root()->verify();
    }
    void finish() {
        state_->finish();
        require_root();
        verify();
    }

private:
    void open() {
        state_.reset();
        state_ = std::make_unique<chain_state>(folder_ / "state", "social", lag, with_root());
        state_->apply_root_options();
    }
    /// Real blocks follow each other only.
    void leave_others() {
        for (; wrong_ != 0; --wrong_)
            state_->pop();
    }
    void apply_next() {
        leave_others();
        if (right_ == blocks_.size()) return;
        state_->apply(blocks_[right_]);
        ++right_;
    }
    /// The next block with some of its transactions: as one of a branch.
    void apply_another() {
        if (wrong_ + 1 >= lag || right_ + wrong_ >= blocks_.size()) return;
        block other = blocks_[right_ + wrong_];
        std::erase_if(other.transactions, [&](const auto&) { return random_.chance(300); });
        try {
            state_->apply(other);
            ++wrong_;
        } catch (const rejected_error&) { // it needs what is missing
        }
    }
    void pop(std::uint64_t count) {
        for (; count != 0 && wrong_ + right_ > 0; --count) {
            if (state_->head() == state_->irreversible()) return;
            state_->pop();
            --(wrong_ != 0 ? wrong_ : right_);
        }
    }
    void let_some_wait() {
        if (right_ == blocks_.size()) return;
        const auto next = decode_(encode_block(blocks_[right_]));
        state_->begin_pending(next->timestamp());
        for (std::size_t i = 0; i < next->transactions(); ++i)
            (void)state_->apply_pending(*next, i);
        if (random_.chance(500)) state_->drop_pending(); // else what comes next drops them
    }
    void make_next() {
        leave_others();
        if (right_ == blocks_.size()) return;
        const bytes encoded = encode_block(blocks_[right_]);
        const auto next = decode_(encoded);
        state_->begin_block(next->timestamp());
        for (std::size_t i = 0; i < next->transactions(); ++i)
            REQUIRE_FALSE(state_->apply_pending(*next, i));
        state_->end_block(next->checksum(), next->operations());
        ++right_;
    }
    void require_root() {
        const sha256_digest root = state_->root()->root();
        if (right_ < known_) {
            REQUIRE(root == roots_[right_]);
        } else {
            roots_[right_] = root;
            known_ = right_ + 1;
        }
        if (right_ != 0) REQUIRE(state_->root()->of_block(state_->head())->root == root);
        REQUIRE(state_->root()->of_block(state_->head() + 1) == nullptr);
    }

    temporary_folder folder_{memory_or_disk()};
    const std::vector<block> blocks_;
    block_decoder decode_ = decoder_of("social");
    random_source random_;
    std::unique_ptr<chain_state> state_;
    std::vector<sha256_digest> roots_; ///< after so many real blocks
    std::size_t known_ = 1;
    std::size_t right_ = 0; ///< real blocks that are applied
    std::size_t wrong_ = 0; ///< others, above them
};

} // namespace

TEST_CASE_METHOD(seeded, "whatever becomes of blocks the root is that of the objects") {
    const captured_log quiet;
    wandering_chain chain(seed);
    for (int steps = 0; !chain.is_at_end() && steps < 10'000; ++steps) {
        chain.step();
        if (steps % 40 == 0) chain.verify();
    }
    chain.verify();
    CHECK(chain.is_at_end());
    chain.finish();
}

TEST_CASE("a root that came later than blocks goes with them and is made anew") {
    const captured_log quiet;
    const temporary_folder folder{memory_or_disk()};
    const auto blocks = all_blocks(social_chain(4'000, 5));
    REQUIRE(blocks.size() > 30);
    {
        chain_state without(folder / "state", "social", lag);
        for (std::size_t i = 0; i < 20; ++i)
            without.apply(blocks[i]);
        CHECK(without.root() == nullptr);
    }
    chain_state state(folder / "state", "social", lag, with_root());
    CHECK_FALSE(state.root()->is_current());
    state.apply_root_options();
    state.root()->verify();
    const sha256_digest at_20 = state.root()->root();
    for (int i = 0; i < 3; ++i)
        state.pop();
    CHECK_FALSE(state.root()->is_current());
    for (std::size_t i = 17; i < 30; ++i) {
        state.apply(blocks[i]);
        REQUIRE(state.root()->is_current());
        state.root()->verify();
        if (i == 19) CHECK(state.root()->root() == at_20);
    }
    CHECK(state.root()->of_block(18) != nullptr);
}

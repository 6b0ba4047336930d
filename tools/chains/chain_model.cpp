#include <tools/chains/chain_model.hpp>

namespace chainbase {

void apply_block(chain_model& model, const decoded_block& next) {
    // Far enough ahead that memory answers, near enough that the cache still has it.
    constexpr std::size_t ahead = 8;
    model.begin_block(next.number(), next.timestamp());
    const std::size_t count = next.transactions();
    for (std::size_t i = 0; i < ahead && i < count; ++i)
        model.prefetch(next, i);
    for (std::size_t i = 0; i < count; ++i) {
        if (i + ahead < count) model.prefetch(next, i + ahead);
        model.apply(next, i);
    }
    model.end_block();
}

} // namespace chainbase

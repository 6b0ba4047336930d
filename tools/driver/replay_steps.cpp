#include <tools/driver/replay_steps.hpp>

#include <algorithm>
#include <thread>

namespace chainbase::driver {

std::size_t step_of(run_of_blocks waiting) {
    std::size_t operations = 0;
    std::size_t blocks = 0;
    while (blocks < waiting.size() && operations < operations_per_step)
        operations += std::max<std::size_t>(waiting[blocks++]->operations(), 1);
    return blocks;
}

std::size_t step_hand_over(const chain_model& model) {
    std::int64_t archived = 0;
    for (const auto& objects : model.archived())
        archived += objects.second;
    return std::clamp(static_cast<std::size_t>(archived) / 8, block_hand_over, most_handed_over);
}

unsigned preparing_threads(unsigned asked) noexcept {
    const unsigned others = std::max(std::thread::hardware_concurrency(), 2u) - 1;
    return asked != 0 ? asked : std::min(others, 4u);
}

} // namespace chainbase::driver

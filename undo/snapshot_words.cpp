#include <undo/snapshot_words.hpp>

#include <algorithm>

namespace chainbase {

void snapshot_board::begin_rollback(log_time to) noexcept {
    store(words_.turn, words_.turn + 1);
    after_all_before();
    std::uint64_t count = words_.count;
    auto& all = words_.rollbacks;
    while (count > 0 && all[count - 1].to >= to)
        --count;
    if (count == all.size()) {
        all[1].to = all[0].to;
        std::copy(all.begin() + 1, all.end(), all.begin());
        --count;
    }
    all[count] = {words_.turn, to};
    store(words_.count, count + 1);
    after_all_before();
}

void snapshot_board::take_over() noexcept {
    if (words_.losses % 2 == 0)
        begin_loss();
    else
        after_all_before();
    if (words_.edition % 2 != 0)
        store(words_.edition, words_.edition + 1); // killed within publish()
    if (words_.turn % 2 != 0) end_rollback();
    store(words_.count, std::uint64_t{0});
    store(words_.given_back, std::uint64_t{0});
    after_all_before();
}

} // namespace chainbase

#include <undo/snapshot_words.hpp>

namespace chainbase {

void snapshot_board::begin_rollback(log_time to, snapshot_readers* readers) noexcept {
    store(words_.turn, words_.turn + 1);
    after_all_before();
    std::uint64_t count = words_.count;
    auto& all = words_.rollbacks;
    while (count > 0 && all[count - 1].to >= to)
        --count;
    if (count == all.size()) {
        std::size_t first = 0; // of two that become one
        while (readers && first + 1 < all.size() &&
               readers->any_within(all[first].to, all[first + 1].to))
            ++first;
        if (first + 1 == all.size()) first = 0;
        store(all[first + 1].to, all[first].to);
        for (; first + 1 < all.size(); ++first) {
            store(all[first].turn, all[first + 1].turn);
            store(all[first].to, all[first + 1].to);
        }
        --count;
    }
    store(all[count].turn, words_.turn);
    store(all[count].to, to);
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

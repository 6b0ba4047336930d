#include <tools/driver/live/log_source.hpp>

#include <algorithm>

namespace chainbase::driver::live {

log_source::log_source(const block_log_reader& log, const options& how)
    : how_(how), feed_(log, decoder_of(log.chain()), {how.from, how.stop_at, 1, 16}),
      random_(how.shuffle.value_or(0)) {}

bool log_source::read_more() {
    if (ended_) return false;
    std::optional<block_feed::chunk> more = feed_.next();
    if (!more) {
        ended_ = true;
        return false;
    }
    for (auto& one : more->blocks) {
        std::shared_ptr<const decoded_block> block = std::move(one);
        if (how_.early != 0)
            for (std::uint32_t i = 0; i < block->transactions(); ++i)
                unannounced_.push_back({block->number(), block, i});
        coming_.push_back({std::move(block), 0});
    }
    return true;
}

void log_source::look_ahead(std::size_t transactions) {
    while (unannounced_.size() < transactions && read_more()) {
    }
}

void log_source::announce(arrivals& to) {
    if (announced_ >= how_.early) return;
    const std::size_t more = how_.early - announced_;
    look_ahead(how_.shuffle ? more + how_.early : more);
    for (std::size_t i = 0; i < more && !unannounced_.empty(); ++i)
        announce_one(to);
}

void log_source::announce_one(arrivals& to) {
    if (how_.shuffle) {
        const std::size_t among = std::min(unannounced_.size(), 2 * how_.early);
        std::swap(unannounced_.front(), unannounced_[random_() % among]);
    }
    const unannounced one = std::move(unannounced_.front());
    unannounced_.pop_front();
    if (!to.push({one.from, one.transaction, 1, clock::now(), {}})) return;
    const auto its = std::ranges::lower_bound(
        coming_, one.number, {}, [](const coming_block& each) { return each.block->number(); });
    ++its->announced;
    ++announced_;
}

std::shared_ptr<const decoded_block> log_source::next(clock::time_point) {
    while (coming_.empty() && read_more()) {
    }
    if (coming_.empty()) return nullptr;
    coming_block first = std::move(coming_.front());
    coming_.pop_front();
    announced_ -= first.announced;
    if (first.announced < first.block->transactions() && !unannounced_.empty())
        std::erase_if(unannounced_,
                      [&](const unannounced& one) { return one.from == first.block; });
    while (coming_.empty() && read_more()) {
    } // so that ended() is known
    return std::move(first.block);
}

} // namespace chainbase::driver::live

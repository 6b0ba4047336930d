#include <tools/driver/live/announcing_source.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::driver::live {

announcing_source::announcing_source(block_source& from, arrivals& to, const options& how)
    : from_(from), to_(to), how_(how), random_(how.shuffle.value_or(0)) {}

/// What follows an event without blocks may depend on its answer.
bool announcing_source::may_look_ahead() const {
    return coming_.empty() ||
           (coming_.size() < max_ahead && coming_.back().what.what == event::kind::blocks);
}

bool announcing_source::fetch(std::chrono::milliseconds patience) {
    event next = from_.next(patience);
    if (next.what == event::kind::nothing) return false;
    if (next.what == event::kind::blocks)
        add_each(std::move(next));
    else
        coming_.push_back({std::move(next)});
    return true;
}

void announcing_source::add_each(event run) {
    block_place parent = run.blocks.parent;
    for (std::size_t i = 0; i < run.blocks.blocks.size(); ++i) {
        event one;
        one.what = event::kind::blocks;
        one.sender = run.sender;
        one.peer = run.peer;
        one.came = run.came;
        auto& content = run.blocks.blocks[i];
        one.blocks.parent = std::exchange(parent, {content->number(), run.blocks.ids[i]});
        one.blocks.ids.push_back(run.blocks.ids[i]);
        one.blocks.memory = content->memory();
        one.blocks.blocks.push_back(std::move(content));
        add(std::move(one));
    }
}

void announcing_source::add(event one) {
    const auto& content = one.blocks.blocks.front();
    if (how_.early != 0)
        for (std::uint32_t i = 0; i < content->transactions(); ++i)
            unannounced_.push_back({taken_ + coming_.size(), content, i});
    coming_.push_back({std::move(one)});
}

void announcing_source::announce() {
    if (announced_ >= how_.early) return;
    const std::size_t more = how_.early - announced_;
    const std::size_t among = how_.shuffle ? more + how_.early : more;
    while (unannounced_.size() < among && may_look_ahead() && fetch(std::chrono::milliseconds(0))) {
    }
    for (std::size_t i = 0; i < more && !unannounced_.empty(); ++i)
        announce_one();
}

void announcing_source::announce_one() {
    if (how_.shuffle) {
        const std::size_t among = std::min(unannounced_.size(), 2 * how_.early);
        std::swap(unannounced_.front(), unannounced_[random_() % among]);
    }
    const unannounced one = std::move(unannounced_.front());
    unannounced_.pop_front();
    if (!to_.push({one.from, one.transaction, 1, clock::now(), {}})) return;
    ++coming_[one.event - taken_].announced;
    ++announced_;
}

block_source::event announcing_source::next(std::chrono::milliseconds patience) {
    if (coming_.empty()) fetch(patience);
    return coming_.empty() ? event{} : take_first();
}

block_source::event announcing_source::take_first() {
    coming_event first = std::move(coming_.front());
    coming_.pop_front();
    announced_ -= first.announced;
    const auto& blocks = first.what.blocks.blocks;
    if (!blocks.empty() && first.announced < blocks.front()->transactions())
        std::erase_if(unannounced_, [&](const unannounced& one) { return one.event == taken_; });
    ++taken_;
    return std::move(first.what);
}

void announcing_source::refuse(std::uint64_t sender, peer_error::severity how,
                               const std::string& reason) {
    from_.refuse(sender, how, reason);
    while (!coming_.empty() && coming_.back().what.sender == sender) {
        const std::uint64_t last = taken_ + coming_.size() - 1;
        announced_ -= coming_.back().announced;
        std::erase_if(unannounced_, [&](const unannounced& one) { return one.event == last; });
        coming_.pop_back();
    }
}

} // namespace chainbase::driver::live

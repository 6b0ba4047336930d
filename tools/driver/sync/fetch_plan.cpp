#include <tools/driver/sync/fetch_plan.hpp>

#include <algorithm>

namespace chainbase::driver {

fetch_plan::fetch_plan(std::size_t chunks, std::size_t peers, std::chrono::milliseconds patience)
    : patience_(patience), chunks_(chunks) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk)
        waiting_.push_back(chunk);
    for (std::size_t peer = 0; peer < peers; ++peer)
        peers_.insert(peer);
}

std::optional<std::size_t> fetch_plan::ask(std::size_t peer, time now) {
    if (!peers_.contains(peer)) return std::nullopt;
    while (!waiting_.empty() &&
           !is_wanted(waiting_.front())) // came late from one that was released
        waiting_.pop_front();
    const auto next = std::ranges::find_if(
        waiting_, [&](std::size_t chunk) { return is_wanted(chunk) && may_ask(peer, chunk); });
    std::optional<std::size_t> chunk;
    if (next != waiting_.end()) {
        chunk = *next;
        waiting_.erase(next);
    } else
        chunk = longest_owed(peer, now);
    if (!chunk) return std::nullopt;
    chunks_[*chunk].owed_by.insert(peer);
    chunks_[*chunk].asked = now;
    asked_.insert(*chunk);
    return chunk;
}

bool fetch_plan::may_ask(std::size_t peer, std::size_t chunk) const {
    const auto lacking = lacking_.find(chunk);
    return lacking == lacking_.end() || !lacking->second.contains(peer);
}

std::optional<std::size_t> fetch_plan::longest_owed(std::size_t peer, time now) const {
    std::optional<std::size_t> found;
    for (const std::size_t chunk : asked_) {
        const chunk_state& one = chunks_[chunk];
        if (one.asked + patience_ > now || !may_ask(peer, chunk)) continue;
        if (!found || one.asked < chunks_[*found].asked) found = chunk;
    }
    return found;
}

bool fetch_plan::take(std::size_t chunk) {
    chunk_state& one = chunks_[chunk];
    if (one.is_done) return false;
    one.is_done = true;
    one.owed_by.clear();
    asked_.erase(chunk);
    ++done_;
    return true;
}

void fetch_plan::wait_again(std::size_t chunk) {
    if (!chunks_[chunk].owed_by.empty() || chunks_[chunk].is_done) return;
    asked_.erase(chunk);
    waiting_.push_front(chunk);
}

void fetch_plan::lack(std::size_t peer, std::size_t chunk) {
    lacking_[chunk].insert(peer);
    if (chunks_[chunk].owed_by.erase(peer) != 0) wait_again(chunk);
}

void fetch_plan::release(std::size_t peer) {
    const std::set<std::size_t> asked = asked_;
    for (const std::size_t chunk : asked)
        if (chunks_[chunk].owed_by.erase(peer) != 0) wait_again(chunk);
}

void fetch_plan::drop(std::size_t peer) {
    peers_.erase(peer);
    release(peer);
}

std::optional<std::size_t> fetch_plan::hopeless() const {
    const auto is_hopeless = [&](const auto& one) {
        return is_wanted(one.first) && std::ranges::includes(one.second, peers_);
    };
    if (is_done()) return std::nullopt;
    if (peers_.empty())
        return std::size_t(std::ranges::find(chunks_, false, &chunk_state::is_done) -
                           chunks_.begin());
    const auto found = std::ranges::find_if(lacking_, is_hopeless);
    return found == lacking_.end() ? std::nullopt : std::optional(found->first);
}

} // namespace chainbase::driver

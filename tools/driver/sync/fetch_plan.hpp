#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace chainbase::driver {

/// Which peer is asked for which chunk of a snapshot. Chunks and peers are numbers from 0 on.
///
///     waiting --ask--> asked of one or more --take--> done
///        ^-------------- lack, release, drop -----'
///
/// Invariants: (1) a chunk that is not done is waiting, or some peer owes it; (2) a chunk is asked
/// of a further peer only when nothing is waiting and the last one that was asked has owed it for
/// `patience`: a peer that is slow or silent holds up nobody; (3) a peer is not asked again for
/// what it lacks, and for nothing once it was dropped.
///
/// For one thread.
class fetch_plan {
public:
    using time = std::chrono::steady_clock::time_point;

    fetch_plan(std::size_t chunks, std::size_t peers, std::chrono::milliseconds patience);

    /// The chunk that this peer, which owes none, is to be asked for; nothing: none now.
    [[nodiscard]] std::optional<std::size_t> ask(std::size_t peer, time now);
    /// The chunk is there, whoever sent it. Whether it was not before.
    bool take(std::size_t chunk);
    /// The peer does not have it.
    void lack(std::size_t peer, std::size_t chunk);
    /// The peer's connection ended: others are asked for what it owes.
    void release(std::size_t peer);
    /// The same, and it is asked for nothing more.
    void drop(std::size_t peer);

    [[nodiscard]] bool is_done() const noexcept { return done_ == chunks_.size(); }
    [[nodiscard]] bool is_wanted(std::size_t chunk) const { return !chunks_[chunk].is_done; }
    /// A chunk that no peer is left for; nothing while there is hope.
    [[nodiscard]] std::optional<std::size_t> hopeless() const;

private:
    struct chunk_state {
        bool is_done = false;
        std::set<std::size_t> owed_by;
        time asked{}; ///< the last time
    };

    void wait_again(std::size_t chunk);
    [[nodiscard]] bool may_ask(std::size_t peer, std::size_t chunk) const;
    [[nodiscard]] std::optional<std::size_t> longest_owed(std::size_t peer, time now) const;

    std::chrono::milliseconds patience_;
    std::vector<chunk_state> chunks_;
    std::deque<std::size_t> waiting_;
    std::set<std::size_t> asked_; ///< chunks that are owed
    std::size_t done_ = 0;
    std::set<std::size_t> peers_;                          ///< not dropped
    std::map<std::size_t, std::set<std::size_t>> lacking_; ///< peers by chunk
};

} // namespace chainbase::driver

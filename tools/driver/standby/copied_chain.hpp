#pragma once

#include <chainbase/feed/feed_files.hpp>
#include <chainbase/feed/replica.hpp>
#include <tools/driver/chain_state.hpp>

#include <deque>
#include <optional>

namespace chainbase::driver {

/// A chain's state that copies another one from its feed, and knows how far it is.
///
/// For the thread of the chain_state.
class copied_chain {
public:
    /// Of `own`, which outlives this, and applies no block itself while this is used, and copies
    /// the state with the identity `of`. Throws what feed::replica throws.
    copied_chain(chain_state& own, const checkpoint::slot_file::identity& of);

    /// Behind the last entry that was applied; nothing in a state that has applied none of that
    /// feed.
    [[nodiscard]] std::optional<feed::feed_position> position() const;
    /// Sets that, in a new state.
    void begin_at(feed::feed_position at);
    /// Applies an entry, which ends at `end`: a block with its root and this position. Throws
    /// damaged_error when the state root is another than the followed state's, and what
    /// replica::apply() throws; then nothing was applied.
    void apply(const feed::entry& next, const std::deque<type_schema>& types,
               feed::feed_position end);

private:
    void end(session& changed, bool is_merged, feed::feed_position at);

    chain_state& own_;
    checkpoint::slot_file::identity of_;
    feed::replica copy_;
};

} // namespace chainbase::driver

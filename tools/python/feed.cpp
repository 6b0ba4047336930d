#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/beside_writer.hpp>
#include <tools/python/feed.hpp>

namespace chainbase::python {

namespace {

const std::string& state_of(const opened& of) {
    if (of.is_state()) return of.name();
    throw usage_error(of.name() + ": has no feed, since it is no state but a checkpoint or a "
                                  "snapshot; open the folder of the state");
}

} // namespace

following::following(const opened& of, const std::string& cursor)
    : state_(state_of(of)), follower_(state_, cursor) {}

following::following(const opened& of, std::int64_t from)
    : state_(state_of(of)), follower_(state_, from) {}

/// The block that rows are read of is the one at which the follower begins if they have one
/// revision and it was not undone until the follower's was taken.
std::shared_ptr<opened> following::begin() {
    const opened state(state_);
    for (const inspect::patience until(std::chrono::seconds(10));; inspect::patience::pause()) {
        try {
            const std::shared_ptr<opened> block = state.at_block();
            const snapshot begin(state_);
            std::int64_t revision = -1;
            const auto reading = block->now();
            reading->take_turn([&] { revision = reading->source().revision(); });
            if (revision == begin.revision()) {
                with([&](feed::follower& one) { one.begin_at(begin); });
                return block;
            }
        } catch (const inspect::state_changed&) {
            if (until.is_over()) throw;
        } catch (const too_old_error&) {
            if (until.is_over()) throw;
        }
        if (until.is_over())
            throw busy_error(state_ + ": its blocks follow each other too fast to begin at one; "
                                      "try again");
    }
}

} // namespace chainbase::python

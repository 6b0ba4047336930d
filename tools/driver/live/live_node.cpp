#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/driver/live/live_node.hpp>

#include <algorithm>
#include <unordered_map>

namespace chainbase::driver::live {

namespace {

const trace::site block_make("driver.block.make");
const trace::site pending_batch("driver.pending.batch");
const trace::counter pending_transactions("driver.pending.transactions");
const trace::gauge pending_applied("pending.applied");
const trace::gauge pending_waiting("pending.waiting");

/// Transactions between two clock reads.
constexpr std::size_t transactions_between_looks = 16;

/// The transactions of a list, for prefetching.
class entry_cursor {
public:
    entry_cursor(const pending_list& list, std::span<const pending_list::entry> all)
        : list_(&list), rest_(all) {}
    [[nodiscard]] bool done() const noexcept { return rest_.empty(); }
    [[nodiscard]] const decoded_block& block() const noexcept {
        return list_->block_of(rest_.front());
    }
    [[nodiscard]] std::size_t transaction() const noexcept { return rest_.front().transaction; }
    void next() noexcept { rest_ = rest_.subspan(1); }

private:
    const pending_list* list_;
    std::span<const pending_list::entry> rest_;
};

/// Counts each transaction of a block.
class block_content {
public:
    explicit block_content(const decoded_block& of) {
        for (std::size_t i = 0; i < of.transactions(); ++i)
            ++left_[of.checksum_of(i)];
    }
    /// Takes one copy of the transaction; false when none is left.
    bool take(std::uint64_t checksum) {
        const auto found = left_.find(checksum);
        if (found == left_.end() || found->second == 0) return false;
        --found->second;
        return true;
    }

private:
    std::unordered_map<std::uint64_t, std::uint32_t> left_;
};

} // namespace

live_node::~live_node() {
    if (state_.has_pending()) state_.state().with_write_lock([&] { state_.drop_pending(); });
}

void live_node::take_arrivals() {
    // the arrivals queue fills up and then refuses
    if (pending_.size() >= how_.max_pending) return;
    from_.take(arrived_);
    const std::uint64_t head = arrived_.empty() ? 0 : state_.blocks();
    for (const parcel& one : arrived_) {
        pending_.add(one, head);
        figures_.arrived += one.count;
    }
    arrived_.clear();
}

void live_node::work(clock::time_point until) {
    for (;;) {
        take_arrivals();
        if (pending_.waiting() == 0 || clock::now() >= until) break;
        apply_batch(until);
    }
    pending_applied.set(static_cast<double>(pending_.applied()));
    pending_waiting.set(static_cast<double>(pending_.waiting()));
}

void live_node::apply_batch(clock::time_point until) {
    const std::uint64_t before = figures_.applied + figures_.rejected;
    with_metered_lock(state_.state(), figures_.lock, [&] {
        // a span for each transaction would cost 1 % of its time
        const trace::span timed(pending_batch);
        const auto end = std::min(until, clock::now() + how_.batch.time);
        const std::size_t waiting = pending_.waiting();
        const std::size_t most = how_.batch.transactions;
        const std::size_t count = most == 0 ? waiting : std::min(waiting, most);
        state_.begin_pending(state_.head_time() + 1);
        for (std::size_t i = 0; i < count; ++i) {
            if (i % transactions_between_looks == transactions_between_looks - 1 &&
                clock::now() >= end)
                return;
            look_ahead();
            apply_next();
        }
    });
    pending_transactions.add(figures_.applied + figures_.rejected - before);
}

void live_node::apply_next() {
    const pending_list::entry& next = pending_.those_waiting().front();
    if (state_.apply_pending(pending_.block_of(next), next.transaction)) {
        ++figures_.rejected;
        pending_.drop_next();
    } else {
        ++figures_.applied;
        pending_.keep_next();
    }
    if (looked_up_ > 0) --looked_up_;
}

/// As a lookahead, over a list that grows at its end and goes on from batch to batch.
void live_node::look_ahead() {
    if (looked_up_ != 0) return;
    const auto waiting = pending_.those_waiting();
    looked_up_ = std::min(transactions_ahead, waiting.size());
    for (const auto& one : waiting.first(looked_up_))
        state_.model().note_keys(pending_.block_of(one), one.transaction);
    state_.model().look_up_noted();
}

void live_node::reset() {
    pending_.reset();
    looked_up_ = 0;
}

void live_node::apply(const decoded_block& next) {
    reset();
    with_metered_lock(state_.state(), figures_.lock, [&] { state_.apply(next); });
    ++figures_.blocks;
    if (pending_.size() == 0) return;
    block_content block(next);
    const std::uint64_t head = state_.blocks();
    pending_.reset_without([&](const pending_list::entry& one) {
        if (block.take(pending_.block_of(one).checksum_of(one.transaction))) {
            ++figures_.included;
            return true;
        }
        if (pending_.arrived_at(one) + how_.forget_after > head) return false;
        ++figures_.forgotten;
        return true;
    });
}

made_block live_node::make_block(std::int64_t timestamp) {
    const trace::span timed(block_make);
    made_block made;
    std::vector<bool> rejected;
    const auto begin = clock::now();
    with_metered_lock(state_.state(), figures_.lock, [&] {
        try {
            state_.begin_block(timestamp);
            rejected = add_to_block(made);
        } catch (...) {
            state_.drop_pending();
            reset();
            throw;
        }
    });
    made.time = clock::now() - begin;
    made.number = state_.head();
    made.included = pending_.take_applied();
    std::erase_if(made.included,
                  [&, at = std::size_t{0}](const auto&) mutable { return rejected[at++]; });
    looked_up_ = 0;
    ++figures_.blocks;
    figures_.included += made.checksums.size();
    figures_.rejected += made.rejected;
    return made;
}

/// Returns which of the applied transactions are not in it.
std::vector<bool> live_node::add_to_block(made_block& made) {
    const auto all = pending_.those_applied();
    std::vector<bool> rejected(all.size());
    made.checksums.reserve(all.size());
    std::uint64_t operations = 0;
    lookahead ahead(state_.model(), entry_cursor(pending_, all));
    for (std::size_t i = 0; i < all.size(); ++i) {
        ahead.step();
        const pending_list::entry& one = all[i];
        const decoded_block& from = pending_.block_of(one);
        if (state_.apply_pending(from, one.transaction)) {
            ++made.rejected;
            rejected[i] = true;
            continue;
        }
        made.checksums.push_back(from.checksum_of(one.transaction));
        operations += from.operations_of(one.transaction);
    }
    state_.end_block(checksum(std::as_bytes(std::span(made.checksums))), operations);
    return rejected;
}

void live_node::pop(std::shared_ptr<const decoded_block> last) {
    if (last && last->number() != state_.head())
        throw usage_error("block " + std::to_string(last->number()) +
                          " cannot be popped: the state is at block " +
                          std::to_string(state_.head()) + "; pop from the head down");
    reset();
    with_metered_lock(state_.state(), figures_.lock, [&] { state_.pop(); });
    if (!last) return;
    figures_.returned += last->transactions();
    pending_.put_back(std::move(last), state_.blocks());
}

void live_node::drop() {
    reset();
    with_metered_lock(state_.state(), figures_.lock, [&] { state_.drop_pending(); });
}

} // namespace chainbase::driver::live

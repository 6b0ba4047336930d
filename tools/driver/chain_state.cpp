#include <chainbase/database.hpp>
#include <chainbase/feed/writer.hpp>
#include <chainbase/offline/migration.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/chain_opening.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/memory_metrics.hpp>
#include <tools/driver/observation.hpp>
#include <tools/driver/replay.hpp>
#include <tools/driver/root/chain_root.hpp>
#include <tools/text_table.hpp>

#include <spdlog/spdlog.h>

#include <string>
#include <utility>
#include <vector>

namespace chainbase::driver {

namespace {

const trace::site block_apply("driver.block.apply");
const trace::site run_apply("driver.run.apply");
const trace::site block_pop("driver.block.pop");
const trace::site pending_drop("driver.pending.drop");
const trace::counter applied_operations("driver.operations");

std::string in_words(const std::filesystem::path& state) {
    return "the state " + state.string();
}

block_id id_of(const applied_block& one) {
    return {one.id_high, one.id_low};
}

/// Kept about the blocks applied in one session.
struct last_of_run {
    std::uint64_t number;
    std::int64_t timestamp;
    std::uint64_t checksum;
    block_id id;
    std::uint64_t blocks; ///< in the run
    std::uint64_t operations;
};

} // namespace

struct chain_state::parts {
    migration to_now; ///< while it is opened
    database state;
    std::unique_ptr<archive::store> rows;
    std::optional<metrics_source> rows_shown; ///< while there are rows
    std::unique_ptr<chain_model> model;
    /// null: the state has no root, or has one that is_root_to_go
    std::unique_ptr<chain_root> root;
    std::optional<feed::writer> feeding; ///< what blocks change, to followers
    bool is_step_open = false;           ///< the last step of a run is not committed yet
    bool is_root_to_go = false;
    bool is_out_of_space =
        false; ///< the last block failed for that: closing may, for the same reason
    std::optional<session> pending; ///< what all pending transactions, or those of a block that is
                                    ///< made here, are in
    std::string chain;
    block_decoder decode;
    std::int64_t lag;
    std::int64_t made_at = 0; ///< the time of the block that is made here

    parts(const std::filesystem::path& folder, const std::string& chain_, std::int64_t lag_,
          const state_options& state_settings)
        : state(chain_opening::ready_to_open(folder, chain_, state_settings),
                chain_opening::how_to_take_over(state_settings, chain_, to_now)),
          chain(chain_), decode(decoder_of(chain_)), lag(lag_) {
        try {
            const write_turn turn(state.memory());
            rows = chain_opening::archive_of(state, chain, state_settings);
            model = make_chain_model(chain, state, *rows);
            root = chain_root::open(state, *model, state_settings.root);
            is_root_to_go = state_settings.root.is_none();
            rows_shown.emplace([this, pages = std::make_shared<memory_metrics>(state.memory())] {
                return archive_metrics_text(rows->stats()) + pages->text();
            });
            if (state_settings.feed_bytes != 0)
                feeding.emplace(state,
                                feed::writer_options{.most_bytes = state_settings.feed_bytes});
        } catch (const schema_error& problem) {
            chain_opening::leave(state);
            throw schema_error(problem.what() + std::string(state_settings.migrates == false
                                                                ? "; --migrate does the second"
                                                                : ""));
        } catch (...) {
            chain_opening::leave(state);
            throw;
        }
    }
    ~parts() {
        try {
            close();
        } catch (const out_of_space_error& problem) {
            if (!is_out_of_space) spdlog::error("closing: {}", problem.what());
        } catch (const std::exception& problem) {
            spdlog::error("closing: {}", problem.what());
        }
    }

    void close();
    /// Null before the first block.
    [[nodiscard]] const applied_block* head() const { return chain_opening::head_of(state); }
    [[nodiscard]] const applied_block* irreversible() const;
    void remember(run_of_blocks run);
    void remember(const last_of_run& last);
    void forget_old_blocks();
    /// Checks the options before it changes the state: a refused call leaves the root unchanged.
    void apply_root_options() {
        if (root)
            root->catch_up(head() ? head()->number : 0);
        else if (std::exchange(is_root_to_go, false))
            chain_root::turn_off(state);
    }
    void apply(const decoded_block& next);
    void apply_run(run_of_blocks run, std::size_t& at);
    void end_step();
    void apply_with_root(run_of_blocks run, std::size_t& at);
    void apply_if_possible(run_of_blocks run);
    struct difference {
        std::uint64_t number;
        bool is_missing; ///< the log ends before this block
    };
    [[nodiscard]] std::optional<difference> first_that_differs(const block_log_reader& log) const;
    [[nodiscard]] std::string told(const decoded_block& of, const error& problem) const;
    template <typename Work>
    void naming(const decoded_block* const& of, Work&& work);
};

/// The store is closed first. If it cannot bring its rows to storage, the state is not closed:
/// after a restart of the machine, which may lose rows, nothing then trusts it.
void chain_state::parts::close() {
    if (pending) {
        const write_turn turn(state.memory());
        pending.reset();
    }
    end_step();
    feeding.reset();
    if (root) root->keep_leaves();
    root.reset();
    model.reset(); // it may still be writing rows
    rows_shown.reset();
    try {
        rows.reset();
        state.close();
    } catch (...) {
        state.abandon();
        throw;
    }
}

// --- bookkeeping: under the same sessions as the chain's objects ---

const applied_block* chain_state::parts::irreversible() const {
    const auto by_age = state.view<applied_block, by_number>();
    for (auto at = by_age.rbegin(); at != by_age.rend(); ++at)
        if (at->revision <= state.committed_revision()) return &*at;
    return nullptr;
}

void chain_state::parts::remember(run_of_blocks run) {
    const applied_block* before = head();
    block_id own = before ? driver::id_of(*before) : block_id{};
    std::uint64_t operations = 0;
    for (const auto& one : run) {
        own = next_id(own, one->checksum());
        operations += one->operations();
    }
    const decoded_block& last = *run.back();
    remember(
        last_of_run{last.number(), last.timestamp(), last.checksum(), own, run.size(), operations});
}

void chain_state::parts::remember(const last_of_run& last) {
    const applied_block* before = head();
    state.create<applied_block>([&](applied_block& one) {
        one.revision = state.revision();
        one.number = last.number;
        one.timestamp = last.timestamp;
        one.checksum = last.checksum;
        one.id_high = last.id.high;
        one.id_low = last.id.low;
        one.blocks = (before ? before->blocks : 0) + last.blocks;
        one.operations = (before ? before->operations : 0) + last.operations;
    });
    applied_operations.add(last.operations);
}

/// Keeps the last block that cannot be undone, and those after it.
void chain_state::parts::forget_old_blocks() {
    const auto by_age = state.view<applied_block, by_number>();
    for (;;) {
        const auto oldest = by_age.begin();
        if (oldest == by_age.end()) return;
        const auto second = std::next(oldest);
        if (second == by_age.end() || second->revision > state.committed_revision()) return;
        state.remove(*oldest);
    }
}

// --- blocks ---

void chain_state::parts::apply(const decoded_block& next) {
    const trace::span timed(block_apply);
    session one = state.start_session();
    model->hand_over_behind(block_hand_over);
    const decoded_block* const alone = &next;
    std::size_t at = 0;
    apply_blocks(*model, {&alone, 1}, at);
    forget_old_blocks();
    remember({&alone, 1});
    if (root) {
        root->end_block(one.revision(), next.number());
        root->record();
    }
    one.push();
    state.commit(state.revision() - lag);
}

/// `at`: the current block, for error messages.
void chain_state::parts::apply_run(run_of_blocks run, std::size_t& at) {
    const trace::span timed(run_apply);
    session all = state.start_session();
    model->hand_over_behind(step_hand_over(*model));
    forget_old_blocks();
    if (root) root->note_revision(); // includes what hand_over changed
    if (root)
        apply_with_root(run, at);
    else
        apply_blocks(*model, run, at);
    remember(run);
    if (root) root->record();
    all.push();
    // Followers are told of a step while the next one is applied.
    is_step_open = feeding && feeding->so_far().is_followed;
    state.commit(state.revision() - (is_step_open ? 1 : 0));
}

void chain_state::parts::end_step() {
    if (!std::exchange(is_step_open, false)) return;
    const write_turn turn(state.memory());
    state.commit(state.revision());
}

/// Applies each block in its own session, which records its changes.
void chain_state::parts::apply_with_root(run_of_blocks run, std::size_t& at) {
    session block = state.start_session();
    apply_blocks(*model, run, at, [&](const decoded_block& done) {
        root->end_block(block.revision(), done.number());
        root->squash(block);
        block = state.start_session();
    });
}

/// Keeps the blocks before a failed one, unless a disk is at fault.
void chain_state::parts::apply_if_possible(run_of_blocks run) {
    if (run.empty()) return;
    try {
        std::size_t at = 0;
        apply_run(run, at);
    } catch (const error& problem) {
        spdlog::warn("the blocks before it were not applied either: {}", problem.what());
    }
}

std::string chain_state::parts::told(const decoded_block& of, const error& problem) const {
    return "block " + std::to_string(of.number()) + ", " + problem.what() +
           ". The state stays at block " + std::to_string(head() ? head()->number : 0);
}

/// Runs `work` and adds the block to the message of its exceptions.
template <typename Work>
void chain_state::parts::naming(const decoded_block* const& of, Work&& work) {
    try {
        is_out_of_space = false;
        work();
    } catch (const rejected_error& problem) {
        throw rejected_error(
            told(*of, problem) +
            ". Check that the state has all blocks before it (a log that begins later needs the "
            "state that the earlier blocks made) and where it came from (import or fetch it "
            "again), or use the version of this program whose rules it follows; the same call "
            "then goes on");
    } catch (const out_of_space_error& problem) {
        is_out_of_space = true;
        throw out_of_space_error(told(*of, problem));
    } catch (const limit_error& problem) {
        throw limit_error(told(*of, problem));
    } catch (const io_error& problem) {
        throw io_error(told(*of, problem));
    } catch (const damaged_error& problem) {
        throw damaged_error(told(*of, problem));
    }
}

chain_state::chain_state(const std::filesystem::path& folder, const std::string& chain,
                         std::int64_t lag, const state_options& state_settings)
    : parts_(std::make_unique<parts>(folder, chain, lag, state_settings)) {}

chain_state::~chain_state() = default;

bool chain_state::is_in(const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / "segment") ||
           std::filesystem::exists(folder / "segment.json") ||
           std::filesystem::exists(folder / "checkpoint");
}

std::optional<std::string> chain_state::chain_of(const std::filesystem::path& folder,
                                                 const state_options& state_settings) {
    if (!is_in(folder)) return std::nullopt;
    database state(folder, chain_opening::how_to_open(state_settings));
    std::optional<std::string> chain;
    if (state.has_type(chain_identity::type_name)) {
        state.add_type<chain_identity>(chain_identity::type_name);
        if (const chain_identity* known = state.find(id<chain_identity>(0)))
            chain = known->chain.view();
    }
    chain_opening::leave(state);
    return chain;
}

std::string chain_state::require_chain(const std::filesystem::path& folder) {
    if (const auto chain = chain_of(folder, {})) return *chain;
    throw usage_error(folder.string() + ": there is no state of a chain; check the path");
}

void chain_state::close() {
    parts_->close();
}

void chain_state::align_with_log(const block_log_reader& log) {
    if (const std::uint64_t first = log.first_number().value_or(0); head() != 0 && first > head())
        throw usage_error(in_words(parts_->state.state()) + " is at block " +
                          std::to_string(head()) + ", and the block log " + log.path().string() +
                          " begins at block " + std::to_string(first) +
                          "; if that is what follows, `replay --from " + std::to_string(first) +
                          "` goes on there, else use the log that the state was made from");
    const auto other = parts_->first_that_differs(log);
    if (!other) return;
    const std::string what = in_words(parts_->state.state()) + " is at block " +
                             std::to_string(head()) + ", but the block log " + log.path().string() +
                             (other->is_missing ? " has no block " : " has another block ") +
                             std::to_string(other->number);
    const bool is_of_a_lost_branch = !other->is_missing && other->number > irreversible();
    if (!is_of_a_lost_branch)
        throw usage_error(what +
                          "; use the log that the state was made from, or name another folder");
    const std::uint64_t before = head();
    while (head() >= other->number)
        pop();
    spdlog::warn("{}: going back from block {} to {}, where the log's branch begins", what, before,
                 head());
}

/// Searches the remembered blocks: the last irreversible one, and all above it.
auto chain_state::parts::first_that_differs(const block_log_reader& log) const
    -> std::optional<difference> {
    const auto known = state.view<applied_block, by_number>();
    if (known.begin() == known.end()) return std::nullopt;
    block_log_stream blocks = log.stream(known.begin()->number);
    auto in_log = blocks.next_encoded();
    for (const applied_block& one : known) {
        while (in_log && in_log->number < one.number)
            // a session may hold several blocks; only its last is remembered
            in_log = blocks.next_encoded();
        if (!in_log) return difference{one.number, /*is_missing=*/true};
        if (in_log->number != one.number || chainbase::checksum(in_log->encoded) != one.checksum)
            return difference{one.number, /*is_missing=*/false};
    }
    return std::nullopt;
}

void chain_state::apply_root_options() {
    const write_turn turn(parts_->state.memory());
    parts_->apply_root_options();
}

void chain_state::require_not_beyond(std::uint64_t number) const {
    if (head() > number)
        throw usage_error(in_words(parts_->state.state()) + " is at block " +
                          std::to_string(head()) + " already, beyond the block " +
                          std::to_string(number) +
                          " to stop at; name another folder, or a later block");
}

void chain_state::apply(const decoded_block& next) {
    const write_turn turn(parts_->state.memory());
    drop_pending();
    parts_->apply_root_options();
    parts_->naming(&next, [&] { parts_->apply(next); });
}

void chain_state::apply(const block& next) {
    apply(*parts_->decode(encode_block(next)));
}

void chain_state::apply_irreversible(run_of_blocks run) {
    if (run.empty()) return;
    const write_turn turn(parts_->state.memory());
    drop_pending();
    parts_->apply_root_options();
    std::size_t at = 0;
    try {
        parts_->apply_run(run, at);
    } catch (const error&) {
        const std::exception_ptr failure = std::current_exception();
        const decoded_block* const failed = run[std::min(at, run.size() - 1)];
        if (at < run.size()) parts_->apply_if_possible(run.first(at));
        parts_->naming(failed, [&] { std::rethrow_exception(failure); });
    }
}

void chain_state::end_steps() {
    parts_->end_step();
}

void chain_state::pop() {
    const trace::span timed(block_pop);
    const write_turn turn(parts_->state.memory());
    drop_pending();
    parts_->state.undo();
}

void chain_state::finish() {
    drop_pending();
    apply_root_options();
    database& state = parts_->state;
    state.commit(state.revision());
    for (bool more = true; more;) {
        const write_turn turn(state.memory());
        session one = state.start_session();
        more = parts_->model->hand_over(max_handed_over) != 0;
        parts_->forget_old_blocks();
        one.squash();
        if (parts_->root) parts_->root->note_revision();
    }
}

// --- pending transactions ---

void chain_state::begin_pending(std::int64_t timestamp) {
    if (parts_->pending) return;
    const write_turn turn(parts_->state.memory());
    parts_->pending.emplace(parts_->state.start_session());
    parts_->model->begin_pending(timestamp);
}

std::optional<std::string> chain_state::apply_pending(const decoded_block& from,
                                                      std::size_t transaction) {
    const write_turn turn(parts_->state.memory());
    session one = parts_->state.start_session();
    try {
        parts_->model->apply(from, transaction);
    } catch (const rejected_error& problem) {
        return problem.what();
    }
    one.squash();
    return std::nullopt;
}

void chain_state::drop_pending() {
    if (!has_pending()) return;
    const trace::span timed(pending_drop);
    const write_turn turn(parts_->state.memory());
    parts_->pending.reset();
}

bool chain_state::has_pending() const noexcept {
    return parts_->pending.has_value();
}

// --- a block that is made here ---

void chain_state::begin_block(std::int64_t timestamp) {
    const write_turn turn(parts_->state.memory());
    drop_pending();
    const std::uint64_t number = head() + 1;
    parts_->apply_root_options();
    parts_->made_at = timestamp;
    parts_->pending.emplace(parts_->state.start_session());
    try {
        parts_->model->hand_over(block_hand_over);
        parts_->model->begin_block(number, timestamp);
    } catch (...) {
        drop_pending();
        throw;
    }
}

void chain_state::end_block(std::uint64_t checksum, std::uint64_t operations) {
    const write_turn turn(parts_->state.memory());
    parts& all = *parts_;
    all.model->end_block();
    all.forget_old_blocks();
    const applied_block* before = all.head();
    const block_id parent = before ? driver::id_of(*before) : block_id{};
    const block_id own = next_id(parent, checksum);
    const std::uint64_t number = (before ? before->number : 0) + 1;
    all.remember(last_of_run{number, all.made_at, checksum, own, 1, operations});
    if (all.root) {
        all.root->end_block(all.pending->revision(), number);
        all.root->record();
    }
    all.pending->push();
    all.pending.reset();
    all.state.commit(all.state.revision() - all.lag);
}

// --- where it stands ---

std::uint64_t chain_state::head() const {
    const applied_block* head = parts_->head();
    return head ? head->number : 0;
}

std::uint64_t chain_state::irreversible() const {
    const applied_block* last = parts_->irreversible();
    return last ? last->number : 0;
}

block_id chain_state::head_id() const {
    const applied_block* head = parts_->head();
    return head ? driver::id_of(*head) : block_id{};
}

std::int64_t chain_state::head_time() const {
    const applied_block* head = parts_->head();
    return head ? head->timestamp : 0;
}

std::optional<block_id> chain_state::id_of(std::uint64_t number) const {
    const applied_block* found = parts_->state.find<applied_block, by_number>(number);
    return found ? std::optional(driver::id_of(*found)) : std::nullopt;
}

std::vector<block_place> chain_state::last_blocks() const {
    const applied_block* last = parts_->irreversible();
    std::vector<block_place> all{last ? block_place{last->number, driver::id_of(*last)}
                                      : block_place{}};
    for (const applied_block& one : parts_->state.view<applied_block, by_number>())
        if (one.number > all.front().number) all.push_back({one.number, driver::id_of(one)});
    return all;
}

std::uint64_t chain_state::blocks() const {
    const applied_block* head = parts_->head();
    return head ? head->blocks : 0;
}

std::uint64_t chain_state::operations() const {
    const applied_block* head = parts_->head();
    return head ? head->operations : 0;
}

const std::string& chain_state::chain() const noexcept {
    return parts_->chain;
}

const chain_model& chain_state::model() const noexcept {
    return *parts_->model;
}

chain_model& chain_state::model() noexcept {
    return *parts_->model;
}

const archive::store& chain_state::rows() const noexcept {
    return *parts_->rows;
}

const chain_root* chain_state::root() const noexcept {
    return parts_->root.get();
}

chain_root* chain_state::root() noexcept {
    return parts_->root.get();
}

checkpoint::history chain_state::checkpoints() const {
    return parts_->state.checkpoints();
}

segment_statistics chain_state::memory() const {
    return parts_->state.statistics();
}

database& chain_state::state() noexcept {
    return parts_->state;
}

} // namespace chainbase::driver

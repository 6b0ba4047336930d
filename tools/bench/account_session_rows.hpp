#pragma once

#include <tools/bench/account_batch.hpp>
#include <tools/bench/measurements.hpp>

#include <span>

namespace chainbase::bench {

/// The rows in sessions, measured on one database with all types registered, in the order of `run`:
/// everything is undone until the commit rows, which come last.
template <undo_store Store>
class account_session_rows {
public:
    account_session_rows(const account_plan& plan, const store_options& options, measurements& out)
        : plan_(plan), out_(out), store_(options) {}

    void run() {
        handles_.reserve(plan_.objects());
        fill(store_, plan_,
             [&](std::uint32_t, const handle& created) { handles_.push_back(created); });
        for (const change kind :
             {change::create, change::modify, change::modify_key, change::remove})
            measure_undo(kind);
        measure_squash();
        measure_empty_session();
        measure_small_sessions();
        measure_commit();
    }

private:
    using handle = typename Store::handle;
    enum class change : std::uint64_t { create = 11, modify, modify_key, remove };
    enum random_row : std::uint64_t { squashed = 21, small, committed };

    /// Touches the targets, or creates as many objects from `first_new` on.
    void apply(change kind, std::span<const handle> targets, std::uint32_t first_new) {
        switch (kind) {
        case change::create:
            for (std::uint32_t i = 0; i < targets.size(); ++i)
                store_.create(plan_.object(first_new + i));
            break;
        case change::modify:
            for (const handle& target : targets)
                store_.modify(target, [](auto& object) { ++object.voted; });
            break;
        case change::modify_key:
            for (const handle& target : targets)
                store_.modify(target,
                              [&](auto& object) { object.balance = plan_.balance(++step_); });
            break;
        case change::remove:
            for (const handle& target : targets)
                store_.remove(target);
            break;
        }
    }

    static std::string suffix(change kind) {
        switch (kind) {
        case change::create:
            return "create";
        case change::modify:
            return "modify";
        case change::modify_key:
            return "modify_key";
        default:
            return "remove";
        }
    }

    void measure_undo(change kind) {
        const auto ids = plan_.random_ids(static_cast<std::uint64_t>(kind), plan_.batch());
        const auto targets = handles_of(handles_, ids);
        const store_digest before = digest_of_store(store_);
        auto session = store_.start_session();
        const std::uint64_t undo_before = undo_bytes();
        report("session_" + suffix(kind), plan_.batch(),
               nanoseconds([&] { apply(kind, targets, plan_.objects()); }));
        if (measures_undo<Store> && (undo_is_apart<Store> || kind == change::modify))
            out_.add("undo_bytes_" + suffix(kind), metric::bytes,
                     static_cast<double>(undo_bytes() - undo_before) / plan_.batch());
        check_touched(kind, ids.back());
        report("undo_" + suffix(kind), plan_.batch(), nanoseconds([&] { session.undo(); }));
        check_result(digest_of_store(store_) == before, "the state after undo_" + suffix(kind));
        refresh_handles(ids);
    }

    /// Each call squashes a session that created, modified, changed the key of and removed a
    /// quarter each of its share of the batch, into an outer session that holds what came before.
    void measure_squash() {
        const auto ids = plan_.random_ids(squashed, plan_.batch());
        const auto targets = handles_of(handles_, ids);
        const store_digest before = digest_of_store(store_);
        auto outer = store_.start_session();
        double time = 0;
        for (std::uint32_t call = 0; call < plan_.calls; ++call) {
            auto inner = store_.start_session();
            touch_all_ways(targets, call);
            time += nanoseconds([&] { inner.squash(); });
        }
        report("squash", plan_.calls, time);
        outer.undo();
        check_result(digest_of_store(store_) == before, "the state after squash and undo");
        refresh_handles(ids);
    }

    void touch_all_ways(const std::vector<handle>& targets, std::uint32_t call) {
        const std::uint32_t share = plan_.batch() / plan_.calls / 4;
        const std::span<const handle> mine =
            std::span(targets).subspan(std::size_t{call} * share * 4, std::size_t{share} * 4);
        apply(change::create, mine.subspan(0, share), plan_.objects() + call * share);
        apply(change::modify, mine.subspan(share, share), 0);
        apply(change::modify_key, mine.subspan(2 * share, share), 0);
        apply(change::remove, mine.subspan(3 * share, share), 0);
    }

    void measure_empty_session() {
        report("empty_session", plan_.small_sessions(), nanoseconds([&] {
                   for (std::uint32_t i = 0; i < plan_.small_sessions(); ++i) {
                       auto session = store_.start_session();
                       session.undo();
                   }
               }));
    }

    void measure_small_sessions() {
        const std::uint32_t touched = plan_.small_sessions() * plan_.touched_by_small_session;
        const auto ids = plan_.random_ids(small, std::min(touched, plan_.objects()));
        const auto targets = handles_of(handles_, ids);
        const store_digest before = digest_of_store(store_);
        report("session_3_undo", plan_.small_sessions(), nanoseconds([&] {
                   for (std::uint32_t i = 0; i < plan_.small_sessions(); ++i) {
                       auto session = store_.start_session();
                       touch_three(targets, i);
                       session.undo();
                   }
               }));
        check_result(digest_of_store(store_) == before, "the state after session_3_undo");
        measure_small_squash(targets);
        check_result(digest_of_store(store_) == before, "the state after session_3_squash");
        report("session_3_commit", plan_.small_sessions(), nanoseconds([&] {
                   for (std::uint32_t i = 0; i < plan_.small_sessions(); ++i) {
                       auto session = store_.start_session();
                       touch_three(targets, i);
                       session.push();
                       store_.commit(store_.revision());
                   }
               }));
        check_result(digest_of_store(store_) != before, "the state after session_3_commit");
    }

    /// The transactions of blocks of a hundred: each block is an outer session, not timed, so that
    /// it does not grow beyond what a chain sees.
    void measure_small_squash(const std::vector<handle>& targets) {
        constexpr std::uint32_t per_block = 100;
        const std::uint32_t blocks = plan_.small_sessions() / per_block;
        double time = 0;
        for (std::uint32_t block = 0; block < blocks; ++block) {
            auto outer = store_.start_session();
            time += nanoseconds([&] {
                for (std::uint32_t i = 0; i < per_block; ++i) {
                    auto session = store_.start_session();
                    touch_three(targets, block * per_block + i);
                    session.squash();
                }
            });
            outer.undo();
        }
        report("session_3_squash", blocks * per_block, time);
    }

    void touch_three(const std::vector<handle>& targets, std::uint32_t session) {
        const std::size_t first = std::size_t{session} * plan_.touched_by_small_session;
        for (std::size_t i = 0; i < plan_.touched_by_small_session; ++i)
            store_.modify(targets[(first + i) % targets.size()],
                          [](auto& object) { ++object.voted; });
    }

    void measure_commit() {
        const std::uint32_t share = plan_.batch() / plan_.calls;
        const std::uint32_t half = share * plan_.calls;
        const auto ids = plan_.random_ids(committed, 2 * half);
        const auto targets = handles_of(handles_, ids);
        const std::uint64_t before = digest_of_store(store_).objects;
        const double modify = commit_time(change::modify, std::span(targets).first(half), share);
        const double remove = commit_time(change::remove, std::span(targets).last(half), share);
        check_result(digest_of_store(store_).objects == before - half, "the state after commit");
        report("commit_modify", half, modify);
        report("commit_remove", half, remove);
        report("commit_call", 2 * plan_.calls, modify + remove);
    }

    double commit_time(change kind, std::span<const handle> targets, std::uint32_t share) {
        double time = 0;
        for (; !targets.empty(); targets = targets.subspan(share)) {
            auto session = store_.start_session();
            apply(kind, targets.first(share), 0);
            session.push();
            time += nanoseconds([&] { store_.commit(store_.revision()); });
        }
        return time;
    }

    /// One lookup in the open session: enough to see that the batch did something, too little to
    /// warm any cache for the undo that follows.
    void check_touched(change kind, std::uint32_t last) {
        const std::uint32_t id = kind == change::create ? plan_.objects() : last;
        bool touched = kind == change::remove;
        const bool found = store_.find_by_id(id, [&](const auto& object) {
            const account& old = plan_.object(id);
            touched = kind == change::create || object.voted != old.voted ||
                      object.balance != old.balance;
        });
        check_result(touched && found == (kind != change::remove), "session_" + suffix(kind));
    }

    /// A removal that was undone may have put the object elsewhere.
    void refresh_handles(const std::vector<std::uint32_t>& ids) {
        in_batch(store_, access::read, [&] {
            for (const std::uint32_t id : ids)
                handles_[id] = store_.handle_of(id);
        });
    }

    [[nodiscard]] std::uint64_t undo_bytes() const {
        if constexpr (measures_undo<Store>)
            return store_.undo_bytes();
        else
            return 0;
    }

    void report(std::string_view operation, std::uint32_t count, double time) {
        out_.add(operation, metric::ns, time / count);
    }

    const account_plan& plan_;
    measurements& out_;
    Store store_;
    std::uint64_t step_ = 0;
    std::vector<handle> handles_;
};

} // namespace chainbase::bench

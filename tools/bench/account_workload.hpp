#pragma once

#include <pool_allocator/base/error.hpp>
#include <tools/bench/account_engine.hpp>
#include <tools/bench/account_store.hpp>
#include <tools/bench/measurements.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Common parts of the groups of rows: batches, filling, and checks of the results.
namespace chainbase::bench {

/// Runs `work()` as one batch of a transactional store, else directly.
template <typename Store, typename Work>
void in_batch(Store& store, access kind, Work&& work) {
    if constexpr (batches<Store>) store.begin_batch(kind);
    std::forward<Work>(work)();
    if constexpr (batches<Store>) store.end_batch();
}

/// Returns: the batch's nanoseconds, including the engine's begin and end.
template <typename Store, typename Work>
double timed_batch(Store& store, access kind, Work&& work) {
    return nanoseconds([&] { in_batch(store, kind, std::forward<Work>(work)); });
}

/// Throws unless `holds`; `what` completes "the engine gave a wrong result: ...".
inline void check_result(bool holds, const std::string& what) {
    if (!holds) throw error("bench: the engine gave a wrong result: " + what);
}

/// Creates the plan's objects in batches; calls `created(id, handle)` for each. Returns:
/// nanoseconds.
template <typename Store, typename Created>
double fill(Store& store, const account_plan& plan, Created&& created) {
    double total = 0;
    for (std::uint32_t first = 0; first < plan.objects(); first += plan.batch()) {
        const std::uint32_t last = std::min(plan.objects(), first + plan.batch());
        total += timed_batch(store, access::write, [&] {
            for (std::uint32_t id = first; id < last; ++id)
                created(id, store.create(plan.object(id)));
        });
    }
    return total;
}

/// A store's content in two numbers that depend on every object and field that a row touches.
struct store_digest {
    std::uint64_t objects = 0;
    std::uint64_t values = 0;

    template <typename Object>
    void add(const Object& object) noexcept {
        ++objects;
        values += digest_of(object);
    }
    friend bool operator==(const store_digest&, const store_digest&) = default;
};

/// Reads every object, by id and by name; throws when the two orders differ in content.
template <typename Store>
store_digest digest_of_store(Store& store) {
    store_digest by_id;
    store_digest by_name;
    in_batch(store, access::read, [&] {
        store.for_each_by_id(UINT32_MAX, [&](const auto& object) { by_id.add(object); });
        store.for_each_by_name(UINT32_MAX, [&](const auto& object) { by_name.add(object); });
    });
    check_result(by_id == by_name, "the orders by id and by name hold different objects");
    return by_id;
}

/// The handles of these objects in this order, copied without touching the objects.
template <typename Handle>
std::vector<Handle> handles_of(const std::vector<Handle>& all,
                               const std::vector<std::uint32_t>& ids) {
    std::vector<Handle> result;
    result.reserve(ids.size());
    for (const std::uint32_t id : ids)
        result.push_back(all[id]);
    return result;
}

/// The names of these objects in this order.
inline std::vector<account_name> names_of(const account_plan& plan,
                                          const std::vector<std::uint32_t>& ids) {
    std::vector<account_name> result;
    result.reserve(ids.size());
    for (const std::uint32_t id : ids)
        result.push_back(plan.object(id).name);
    return result;
}

/// The expected sum of the find rows.
inline std::uint64_t sum_of_balances(const account_plan& plan,
                                     const std::vector<std::uint32_t>& ids) {
    std::uint64_t sum = 0;
    for (const std::uint32_t id : ids)
        sum += static_cast<std::uint64_t>(plan.object(id).balance);
    return sum;
}

/// The rows outside sessions, measured on one database in the order of `run`; finally a third of
/// the objects is removed.
template <account_store Store>
class account_plain_rows {
public:
    account_plain_rows(const account_plan& plan, const store_options& options, measurements& out)
        : plan_(plan), out_(out), store_(options), empty_bytes_(store_.held_bytes()) {}

    void run() {
        measure_create();
        measure_find();
        measure_iterate();
        measure_modify();
        measure_modify_key();
        measure_remove();
    }

private:
    using handle = typename Store::handle;
    enum random_row : std::uint64_t { by_id = 1, by_name = 2, modified = 3, key = 4, removed = 5 };

    void measure_create() {
        handles_.reserve(plan_.objects());
        const double time = fill(store_, plan_, [&](std::uint32_t, const handle& created) {
            handles_.push_back(created);
        });
        for (std::uint32_t id = 0; id < plan_.objects(); ++id)
            expected_.push_back(plan_.object(id));
        check_state("create");
        out_.add("create", metric::ns, time / plan_.objects());
        report_bytes("object_bytes", plan_.objects());
    }

    void measure_find() {
        const auto ids = plan_.random_ids(by_id, plan_.batch());
        report_reads("find_by_id", plan_.batch(), sum_of_balances(plan_, ids), [&](auto read) {
            for (const std::uint32_t id : ids)
                store_.find_by_id(id, read);
        });
        const auto named = plan_.random_ids(by_name, plan_.batch());
        const auto names = names_of(plan_, named);
        report_reads("find_by_name", plan_.batch(), sum_of_balances(plan_, named), [&](auto read) {
            for (const account_name& name : names)
                store_.find_by_name(name, read);
        });
        constexpr auto none = [](const auto&) {};
        if constexpr (requires { store_.find_many_by_name(std::span(names), none); })
            report_reads("find_many_by_name", plan_.batch(), sum_of_balances(plan_, named),
                         [&](auto read) { store_.find_many_by_name(std::span(names), read); });
    }

    void measure_iterate() {
        report_reads("iterate_by_id", plan_.scan(), sum_of_first_by_id(),
                     [&](auto read) { store_.for_each_by_id(plan_.scan(), read); });
        report_reads("iterate_by_name", plan_.scan(), sum_of_first_by_name(),
                     [&](auto read) { store_.for_each_by_name(plan_.scan(), read); });
    }

    void measure_modify() {
        const auto ids = plan_.random_ids(modified, plan_.batch());
        report_writes("modify", ids, [&](const std::vector<handle>& targets) {
            for (const handle& target : targets)
                store_.modify(target, [](auto& object) { ++object.voted; });
        });
        for (const std::uint32_t id : ids)
            ++expected_[id].voted;
        check_state("modify");
    }

    void measure_modify_key() {
        const auto ids = plan_.random_ids(key, plan_.batch());
        report_writes("modify_key", ids, [&](const std::vector<handle>& targets) {
            std::uint64_t step = 0;
            for (const handle& target : targets)
                store_.modify(target,
                              [&](auto& object) { object.balance = plan_.balance(step++); });
        });
        for (std::size_t step = 0; step < ids.size(); ++step)
            expected_[ids[step]].balance = plan_.balance(step);
        check_state("modify_key");
    }

    void measure_remove() {
        const auto ids = plan_.random_ids(removed, plan_.objects() / 3);
        report_writes("remove", ids, [&](const std::vector<handle>& targets) {
            for (const handle& target : targets)
                store_.remove(target);
        });
        std::vector<bool> gone(plan_.objects());
        for (const std::uint32_t id : ids)
            gone[id] = true;
        std::erase_if(expected_, [&](const account& each) { return gone[each.id]; });
        check_state("remove");
        report_bytes("object_bytes_after_third_removed", expected_.size());
        report_compact();
    }

    void report_compact() {
        if constexpr (compacts<Store>) {
            store_.compact();
            check_state("compact");
            report_bytes("object_bytes_after_compact", expected_.size());
        }
    }

    /// `reads(read)` must call `read` on `count` objects whose balances sum up to `expected`.
    template <typename Reads>
    void report_reads(std::string_view operation, std::uint32_t count, std::uint64_t expected,
                      Reads&& reads) {
        std::uint64_t sum = 0;
        const double time = timed_batch(store_, access::read, [&] {
            std::uint64_t local = 0;
            reads([&local](const auto& object) {
                local += static_cast<std::uint64_t>(object.balance);
            });
            sum = local;
        });
        check_result(sum == expected, std::string(operation));
        out_.add(operation, metric::ns, time / count);
    }

    template <typename Writes>
    void report_writes(std::string_view operation, const std::vector<std::uint32_t>& ids,
                       Writes&& writes) {
        const std::vector<handle> targets = handles_of(handles_, ids);
        const double time = timed_batch(store_, access::write, [&] { writes(targets); });
        out_.add(operation, metric::ns, time / static_cast<double>(ids.size()));
    }

    void report_bytes(std::string_view operation, std::size_t live) {
        const auto held = static_cast<double>(store_.held_bytes() - empty_bytes_);
        out_.add(operation, metric::bytes, held / static_cast<double>(live));
    }

    void check_state(std::string_view after) {
        store_digest expected;
        for (const account& each : expected_)
            expected.add(each);
        check_result(digest_of_store(store_) == expected, "the state after " + std::string(after));
    }

    [[nodiscard]] std::uint64_t sum_of_first_by_id() const {
        std::vector<std::uint32_t> ids(plan_.scan());
        for (std::uint32_t i = 0; i < plan_.scan(); ++i)
            ids[i] = i;
        return sum_of_balances(plan_, ids);
    }

    [[nodiscard]] std::uint64_t sum_of_first_by_name() const {
        std::vector<std::uint32_t> ids(plan_.objects());
        for (std::uint32_t i = 0; i < plan_.objects(); ++i)
            ids[i] = i;
        std::nth_element(ids.begin(), ids.begin() + (plan_.scan() - 1), ids.end(),
                         [&](std::uint32_t a, std::uint32_t b) {
                             return plan_.object(a).name < plan_.object(b).name;
                         });
        ids.resize(plan_.scan());
        return sum_of_balances(plan_, ids);
    }

    const account_plan& plan_;
    measurements& out_;
    Store store_;
    std::uint64_t empty_bytes_;
    std::vector<handle> handles_;
    std::vector<account> expected_;
};

/// The rows in sessions, measured on one database with all types registered, in the order of `run`:
/// everything is undone until the commit rows at the end.
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

    /// Each call squashes a session that created, modified, re-keyed and removed a quarter each of
    /// its share of the batch into an outer session with the earlier changes.
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
    /// it stays as small as in a chain.
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

    /// One lookup in the open session: enough to prove that the batch did something, too little to
    /// warm caches for the following undo.
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

    /// An undone removal may have moved the object.
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

/// find_by_name_hashed: the names of find_by_name, looked up in the variant with a hashed name
/// index.
template <typename Store>
class account_hashed_rows {
public:
    account_hashed_rows(const account_plan& plan, const store_options& options, measurements& out)
        : plan_(plan), out_(out), store_(options) {}

    void run() {
        fill(store_, plan_, [](std::uint32_t, const auto&) {});
        const auto ids = plan_.random_ids(name_row, plan_.batch());
        const auto names = names_of(plan_, ids);
        std::uint64_t sum = 0;
        const double time = timed_batch(store_, access::read, [&] { sum = find_all(names); });
        check_result(sum == sum_of_balances(plan_, ids), "find_by_name_hashed");
        out_.add("find_by_name_hashed", metric::ns, time / plan_.batch());
    }

    /// The list of random ids used by both find_by_name rows.
    static constexpr std::uint64_t name_row = 2;

private:
    std::uint64_t find_all(const std::vector<account_name>& names) {
        std::uint64_t sum = 0;
        for (const account_name& name : names)
            store_.find_by_name(name, [&](const auto& object) {
                sum += static_cast<std::uint64_t>(object.balance);
            });
        return sum;
    }

    const account_plan& plan_;
    measurements& out_;
    Store store_;
};

/// The workload of the account bench over one store. Instantiated in the engine's translation unit,
/// so that the store's primitives are inlined into the timed loops.
template <account_store Store>
class account_workload final : public account_engine {
public:
    void measure_plain(const account_plan& plan, const store_options& options,
                       measurements& out) override {
        account_plain_rows<Store>(plan, options, out).run();
    }

    void measure_hashed(const account_plan& plan, const store_options& options,
                        measurements& out) override {
        if constexpr (has_hashed_variant<Store>)
            account_hashed_rows<typename Store::hashed>(plan, options, out).run();
    }

    void measure_sessions(const account_plan& plan, const store_options& options,
                          measurements& out) override {
        if constexpr (undo_store<Store>) account_session_rows<Store>(plan, options, out).run();
    }
};

template <account_store Store>
std::unique_ptr<account_engine> make_account_engine() {
    return std::make_unique<account_workload<Store>>();
}

} // namespace chainbase::bench

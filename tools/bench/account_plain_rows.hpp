#pragma once

#include <tools/bench/account_batch.hpp>
#include <tools/bench/measurements.hpp>

namespace chainbase::bench {

/// The rows outside sessions, measured on one database in the order of `run`, which ends with a
/// third of the objects removed.
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

    /// `reads(read)` is to call `read` on `count` objects whose balances sum up to `expected`.
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

} // namespace chainbase::bench

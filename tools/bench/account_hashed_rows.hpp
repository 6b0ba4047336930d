#pragma once

#include <tools/bench/account_batch.hpp>
#include <tools/bench/measurements.hpp>

namespace chainbase::bench {

/// find_by_name_hashed: the names of find_by_name, looked up in the variant with a hashed name.
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

    /// The list of random ids that both find_by_name rows use.
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

} // namespace chainbase::bench

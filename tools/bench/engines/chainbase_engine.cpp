#include <chainbase/database.hpp>
#include <chainbase/statistics.hpp>
#include <tools/bench/account_workload.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/engines/stored_account.hpp>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <string>

namespace chainbase::bench {

namespace {

/// A type that stays empty. It has only an id: the cost of a session does not depend on a type's
/// members, and sixty containers would take minutes to compile.
template <std::size_t N>
struct empty_type {
    chainbase::id<empty_type> id;
    std::uint32_t value = 0;
    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(empty_type, (), (id, value), (), ())
};

template <typename Account>
class chainbase_table : public stored_accounts<database, Account> {
    using base = stored_accounts<database, Account>;
    using base::state_;

public:
    explicit chainbase_table(const store_options& options)
        : base(options.directory / "state", options_for_bench()) {
        state_.template add_type<Account>("account");
        boost::mp11::mp_for_each<boost::mp11::mp_iota_c<max_types>>([&](auto n) {
            if (n + 1 < options.types)
                state_.template add_type<empty_type<decltype(n)::value>>("empty_" +
                                                                         std::to_string(n));
        });
    }

    void compact() { state_.compact(); }

    /// The type's files: nothing else can use their slack.
    [[nodiscard]] std::uint64_t held_bytes() {
        return state_.statistics().types.front().total().total;
    }
    static constexpr bool undo_bytes_are_of_undo_alone = true;
    [[nodiscard]] std::uint64_t undo_bytes() const { return state_.statistics().log.values; }
};

template <typename Account>
class chainbase_store : public chainbase_table<Account> {
public:
    using hashed = chainbase_table<hashed_account>;
    using chainbase_table<Account>::chainbase_table;
};

} // namespace

std::unique_ptr<account_engine> make_chainbase_engine() {
    return make_account_engine<chainbase_store<ordered_account>>();
}
std::unique_ptr<account_engine> make_chainbase_btree_engine() {
    return make_account_engine<chainbase_store<btree_account>>();
}

} // namespace chainbase::bench

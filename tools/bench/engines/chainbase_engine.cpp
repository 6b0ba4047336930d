#include <chainbase/database.hpp>
#include <chainbase/statistics.hpp>
#include <tools/bench/account_workload.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/engines/chainbase_engine.hpp>
#include <tools/bench/engines/stored_account.hpp>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <string>
#include <utility>

namespace chainbase::bench {

namespace {

/// One of the types that stay empty. They have an id only: what a session costs does not depend on
/// what a type has, and sixty containers would take minutes to compile.
template <std::size_t N>
struct empty_type {
    chainbase::id<empty_type> id;
    std::uint32_t value = 0;
    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(empty_type, (), (id, value), (), ())
};

template <typename Account>
class chainbase_table {
public:
    using handle = const Account*;

    explicit chainbase_table(const store_options& options)
        : db_(options.directory / "state", options_for_bench()) {
        db_.add_type<Account>("account");
        boost::mp11::mp_for_each<boost::mp11::mp_iota_c<most_types>>([&](auto n) {
            if (n + 1 < options.types)
                db_.add_type<empty_type<decltype(n)::value>>("empty_" + std::to_string(n));
        });
    }

    handle create(const account& value) {
        return &db_.create<Account>([&](Account& object) {
            object.name = value.name;
            object.balance = value.balance;
            object.savings = value.savings;
            object.vesting = value.vesting;
            object.debt = value.debt;
            object.created = value.created;
            object.voted = value.voted;
            object.posts = value.posts;
            object.flags = value.flags;
        });
    }
    [[nodiscard]] handle handle_of(std::uint64_t id) const {
        return &db_.get(chainbase::id<Account>(static_cast<std::uint32_t>(id)));
    }

    template <typename Read>
    bool find_by_id(std::uint64_t id, Read&& read) const {
        const Account* found = db_.find(chainbase::id<Account>(static_cast<std::uint32_t>(id)));
        if (found) read(*found);
        return found != nullptr;
    }
    template <typename Read>
    bool find_by_name(const account_name& name, Read&& read) const {
        const Account* found = db_.find<Account, named>(name);
        if (found) read(*found);
        return found != nullptr;
    }
    template <typename Read>
    void for_each_by_id(std::uint32_t limit, Read&& read) const {
        read_first(db_.objects<Account>(), limit, read);
    }
    template <typename Read>
    void for_each_by_name(std::uint32_t limit, Read&& read) const {
        read_first(db_.view<Account, named>(), limit, read);
    }

    template <typename Write>
    void modify(handle target, Write&& write) {
        db_.modify(*target, write);
    }
    void remove(handle target) { db_.remove(*target); }

    [[nodiscard]] session start_session() { return db_.start_session(); }
    [[nodiscard]] std::int64_t revision() const { return db_.revision(); }
    void commit(std::int64_t revision) { db_.commit(revision); }
    void compact() { db_.compact(); }

    /// The files of the type: nothing else can use their slack.
    [[nodiscard]] std::uint64_t held_bytes() {
        return segment_statistics::read(db_).types.front().total().total;
    }
    static constexpr bool undo_bytes_are_of_undo_alone = true;
    [[nodiscard]] std::uint64_t undo_bytes() const {
        return segment_statistics::read(db_).log.values;
    }

private:
    template <typename View, typename Read>
    static void read_first(const View& view, std::uint32_t limit, Read& read) {
        for (auto at = view.begin(); limit != 0 && at != view.end(); ++at, --limit)
            read(*at);
    }

    database db_;
};

class chainbase_store : public chainbase_table<ordered_account> {
public:
    using hashed = chainbase_table<hashed_account>;
    using chainbase_table::chainbase_table;
};

} // namespace

std::unique_ptr<account_engine> make_chainbase_engine() {
    return make_account_engine<chainbase_store>();
}

} // namespace chainbase::bench

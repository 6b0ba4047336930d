#pragma once

#include <chainbase/database.hpp>
#include <tools/bench/account.hpp>

#include <boost/describe.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace chainbase::bench {

struct named;
struct richest;

/// The fields of bench::account as an object of chainbase: a 32-bit id and a spare word replace its
/// 64-bit id. `Keys<T>::all` are the keys of T.
template <template <typename> typename Keys>
struct stored_account {
    chainbase::id<stored_account> id;
    std::uint32_t spare = 0;
    account_name name;
    std::int64_t balance = 0;
    std::int64_t savings = 0;
    std::int64_t vesting = 0;
    std::int64_t debt = 0;
    std::uint32_t created = 0;
    std::uint32_t voted = 0;
    std::uint32_t posts = 0;
    std::uint32_t flags = 0;

    using keys = typename Keys<stored_account>::all;
    BOOST_DESCRIBE_CLASS(stored_account, (),
                         (id, spare, name, balance, savings, vesting, debt, created, voted, posts,
                          flags),
                         (), ())
};

template <typename T>
struct ordered_by_name_and_balance {
    using all = keys<ordered_unique<named, &T::name>,
                     ordered_unique<richest, descending<&T::balance>, &T::id>>;
};
template <typename T>
struct btree_by_name_and_balance {
    using all =
        keys<btree_unique<named, &T::name>, btree_unique<richest, descending<&T::balance>, &T::id>>;
};
template <typename T>
struct hashed_by_name {
    using all = keys<hashed_unique<named, &T::name>>;
};

using ordered_account = stored_account<ordered_by_name_and_balance>;
using btree_account = stored_account<btree_by_name_and_balance>;
using hashed_account = stored_account<hashed_by_name>;
static_assert(sizeof(ordered_account) == sizeof(account));
static_assert(sizeof(hashed_account) == sizeof(account));

/// The primitives of the account bench (account_store.hpp) over a State with the interface of
/// chainbase::database and with Account as a type.
template <typename State, typename Account>
class stored_accounts {
public:
    using handle = const Account*;

    handle create(const account& value) {
        return &state_.template create<Account>([&](Account& object) {
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
    [[nodiscard]] handle handle_of(std::uint64_t id) const { return &state_.get(id_of(id)); }

    template <typename Read>
    bool find_by_id(std::uint64_t id, Read&& read) const {
        const Account* found = state_.find(id_of(id));
        if (found) read(*found);
        return found != nullptr;
    }
    template <typename Read>
    bool find_by_name(const account_name& name, Read&& read) const {
        const Account* found = state_.template find<Account, named>(name);
        if (found) read(*found);
        return found != nullptr;
    }
    template <typename Read>
    void find_many_by_name(std::span<const account_name> names, Read&& read) const
        requires requires(const State& of, std::span<const Account*> found) {
            of.template view<Account, named>().find_many(names, found);
        }
    {
        const auto view = state_.template view<Account, named>();
        std::array<const Account*, 32> found{};
        for (; !names.empty(); names = names.subspan(std::min(names.size(), found.size()))) {
            const auto some = names.first(std::min(names.size(), found.size()));
            view.find_many(some, std::span(found));
            for (std::size_t i = 0; i < some.size(); ++i)
                if (found[i]) read(*found[i]);
        }
    }
    template <typename Read>
    void for_each_by_id(std::uint32_t limit, Read&& read) const {
        read_first(state_.template objects<Account>(), limit, read);
    }
    template <typename Read>
    void for_each_by_name(std::uint32_t limit, Read&& read) const {
        read_first(state_.template view<Account, named>(), limit, read);
    }

    template <typename Write>
    void modify(handle target, Write&& write) {
        state_.modify(*target, write);
    }
    void remove(handle target) { state_.remove(*target); }

    [[nodiscard]] auto start_session() { return state_.start_session(); }
    [[nodiscard]] std::int64_t revision() const { return state_.revision(); }
    void commit(std::int64_t revision) { state_.commit(revision); }

protected:
    template <typename... Arguments>
    explicit stored_accounts(Arguments&&... arguments)
        : state_(std::forward<Arguments>(arguments)...) {}

    State state_;

private:
    static chainbase::id<Account> id_of(std::uint64_t id) noexcept {
        return chainbase::id<Account>(static_cast<std::uint32_t>(id));
    }
    template <typename View, typename Read>
    static void read_first(const View& view, std::uint32_t limit, Read& read) {
        for (auto at = view.begin(); limit != 0 && at != view.end(); ++at, --limit)
            read(*at);
    }
};

} // namespace chainbase::bench

#pragma once

#include <pool_allocator/base/error.hpp>
#include <tools/bench/account.hpp>

#include <boost/multi_index/composite_key.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index_container.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>

/// The account in plain Boost.MultiIndex containers, for every allocator.
namespace chainbase::bench {

struct by_id;
struct by_name;
struct by_balance;

using account_id_key = boost::multi_index::member<account, std::uint64_t, &account::id>;
using account_name_key = boost::multi_index::member<account, account_name, &account::name>;
using account_balance_key = boost::multi_index::composite_key<
    account, boost::multi_index::member<account, std::int64_t, &account::balance>, account_id_key>;
using account_balance_order =
    boost::multi_index::composite_key_compare<std::greater<std::int64_t>, std::less<std::uint64_t>>;

template <typename Allocator>
using ordered_accounts = boost::multi_index_container<
    account,
    boost::multi_index::indexed_by<
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_id>, account_id_key>,
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_name>, account_name_key>,
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_balance>, account_balance_key,
                                           account_balance_order>>,
    Allocator>;

template <typename Allocator>
using hashed_accounts = boost::multi_index_container<
    account,
    boost::multi_index::indexed_by<
        boost::multi_index::ordered_unique<boost::multi_index::tag<by_id>, account_id_key>,
        boost::multi_index::hashed_unique<boost::multi_index::tag<by_name>, account_name_key,
                                          account_name_hash>>,
    Allocator>;

/// The workload's primitives over a container of accounts that lives elsewhere; common to all
/// engines based on Boost.MultiIndex. A handle is a pointer to the object, as users of such
/// databases keep.
template <typename Container>
class account_table {
public:
    using handle = const account*;

    explicit account_table(Container& objects) : objects_(objects) {}

    handle create(const account& value) {
        const auto [at, created] = objects_.insert(value);
        if (!created) throw duplicate_key_error("bench: account " + std::to_string(value.id));
        return &*at;
    }

    [[nodiscard]] handle handle_of(std::uint64_t id) const {
        return &*objects_.template get<by_id>().find(id);
    }

    template <typename Read>
    bool find_by_id(std::uint64_t id, Read&& read) const {
        return find_in(objects_.template get<by_id>(), id, read);
    }

    template <typename Read>
    bool find_by_name(const account_name& name, Read&& read) const {
        return find_in(objects_.template get<by_name>(), name, read);
    }

    template <typename Read>
    void for_each_by_id(std::uint32_t limit, Read&& read) const {
        for_each_in(objects_.template get<by_id>(), limit, read);
    }

    template <typename Read>
    void for_each_by_name(std::uint32_t limit, Read&& read) const {
        for_each_in(objects_.template get<by_name>(), limit, read);
    }

    template <typename Write>
    void modify(handle target, Write&& write) {
        if (!objects_.modify(objects_.iterator_to(*target), write))
            throw duplicate_key_error("bench: a modified account collides");
    }

    void remove(handle target) { objects_.erase(objects_.iterator_to(*target)); }

private:
    template <typename Index, typename Key, typename Read>
    static bool find_in(const Index& index, const Key& key, Read& read) {
        const auto at = index.find(key);
        if (at == index.end()) return false;
        read(*at);
        return true;
    }

    template <typename Index, typename Read>
    static void for_each_in(const Index& index, std::uint32_t limit, Read& read) {
        const std::size_t count = std::min<std::size_t>(limit, index.size());
        auto at = index.begin();
        for (std::size_t i = 0; i < count; ++i, ++at)
            read(*at);
    }

    Container& objects_;
};

} // namespace chainbase::bench

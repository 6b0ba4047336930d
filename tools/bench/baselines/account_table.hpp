#pragma once

#include <pool_allocator/error.hpp>
#include <tools/bench/baselines/accounts.hpp>

#include <algorithm>

namespace chainbase::bench {

/// The workload's primitives over a container of accounts that lives elsewhere: what all engines
/// made of Boost.MultiIndex share. A handle is a pointer to the object, as the family's users keep.
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

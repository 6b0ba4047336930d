#pragma once

#include <chainbase/database.hpp>

#include <tests/support/mismatch.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace chainbase::test {

/// The model of the objects of one type: copies outside the segment, by id.
template <typename T>
using rows = std::map<std::uint32_t, T>;

using ids = std::vector<std::uint32_t>;

/// The ids of [from, to), in ascending order.
template <typename Iterator>
ids sorted_ids(Iterator from, Iterator to) {
    ids found;
    for (; from != to; ++from)
        found.push_back((*from).id.value);
    std::sort(found.begin(), found.end());
    return found;
}

/// The ids of the rows for which `holds`, in ascending order.
template <typename T, typename Predicate>
ids ids_where(const rows<T>& all, Predicate holds) {
    ids found;
    for (const auto& [id, row] : all)
        if (holds(row)) found.push_back(id);
    return found;
}

/// Compares an ordered or ranked key with the model: order both ways, every lookup, equal ranges,
/// bounds and ranks. `less` is the order in plain terms; `call(row, f)` calls f with the row's
/// values of the key.
template <typename Tag, typename T, typename Less, typename Call>
void check_ordered(const database& db, const rows<T>& all, const std::vector<T>& probes, Less less,
                   Call call) {
    const std::string key = key_name<key_called<T, Tag>>();
    const auto view = db.view<T, Tag>();
    expect(view.size() == all.size(), key + ": size");
    expect(view.empty() == all.empty(), key + ": empty");

    std::vector<const T*> expected;
    for (const auto& [id, row] : all)
        expected.push_back(&row);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](const T* a, const T* b) { return less(*a, *b); });
    ids forward;
    std::vector<std::size_t> places(expected.size());
    for (auto at = view.begin(); at != view.end(); ++at) {
        expect(forward.size() < expected.size(), key + ": iteration does not end");
        const T& wanted = *expected[forward.size()];
        expect(!less(wanted, *at) && !less(*at, wanted), key + ": order");
        if constexpr (is_ranked(key_called<T, Tag>::kind)) {
            expect(view.rank(at) == forward.size(), key + ": rank");
            expect(view.nth(forward.size()) == at, key + ": nth");
        }
        forward.push_back((*at).id.value);
    }
    expect(forward.size() == expected.size(), key + ": iteration ends early");
    if constexpr (is_ranked(key_called<T, Tag>::kind))
        expect(view.nth(expected.size()) == view.end(), key + ": nth beyond the last");
    ids backward;
    for (auto at = view.rbegin(); at != view.rend(); ++at)
        backward.push_back((*at).id.value);
    std::reverse(backward.begin(), backward.end());
    expect(forward == backward, key + ": backward iteration");

    const auto check_lookup = [&](const T& row) {
        const auto equal = [&](const T& other) { return !less(row, other) && !less(other, row); };
        const auto first = std::find_if(expected.begin(), expected.end(),
                                        [&](const T* other) { return !less(*other, row); });
        std::size_t group = 0;
        while (first + static_cast<std::ptrdiff_t>(group) != expected.end() &&
               equal(**(first + static_cast<std::ptrdiff_t>(group))))
            ++group;
        const auto before = static_cast<std::size_t>(first - expected.begin());
        call(row, [&](const auto&... values) {
            const T* found = view.find(values...);
            expect((found != nullptr) == (group != 0), key + ": find");
            const auto lower = view.lower_bound(values...);
            const auto range = view.equal_range(values...);
            expect(range.first == lower && range.second == view.upper_bound(values...),
                   key + ": bounds");
            expect(before == forward.size() ? lower == view.end()
                                            : (*lower).id.value == forward[before],
                   key + ": lower bound");
            if (found) {
                expect(equal(*found), key + ": find gives another");
                ids wanted(forward.begin() + static_cast<std::ptrdiff_t>(before),
                           forward.begin() + static_cast<std::ptrdiff_t>(before + group));
                std::sort(wanted.begin(), wanted.end());
                ids model;
                for (std::size_t i = 0; i < group; ++i)
                    model.push_back(expected[before + i]->id.value);
                std::sort(model.begin(), model.end());
                expect(wanted == model, key + ": objects of one value");
                expect(sorted_ids(range.first, range.second) == wanted, key + ": equal range");
                expect(view.iterator_to(*found) != view.end(), key + ": iterator_to");
            } else {
                expect(range.first == range.second, key + ": range of an absent value");
            }
        });
    };
    for (const T* row : expected)
        check_lookup(*row);
    for (const T& probe : probes)
        check_lookup(probe);
}

/// Compares a hashed key with the model: every lookup, equal ranges, the visit of all.
template <typename Tag, typename T, typename Equal, typename Call>
void check_hashed(const database& db, const rows<T>& all, const std::vector<T>& probes, Equal equal,
                  Call call) {
    const std::string key = key_name<key_called<T, Tag>>();
    const auto view = db.view<T, Tag>();
    expect(view.size() == all.size(), key + ": size");
    ids visited;
    view.each([&](const T& object) { visited.push_back(object.id.value); });
    std::sort(visited.begin(), visited.end());
    expect(visited == ids_where(all, [](const T&) { return true; }), key + ": visit of all");

    std::size_t distinct = 0;
    const auto check_lookup = [&](const T& row, bool present) {
        const ids wanted = ids_where(all, [&](const T& other) { return equal(row, other); });
        if (present && wanted.front() == row.id.value) ++distinct;
        call(row, [&](const auto&... values) {
            const T* found = view.find(values...);
            expect((found != nullptr) == !wanted.empty(), key + ": find");
            expect(!found || equal(*found, row), key + ": find gives another");
            const auto group = view.equal_range(values...);
            expect(group.empty() == wanted.empty(), key + ": empty group");
            expect(sorted_ids(group.begin(), group.end()) == wanted, key + ": equal range");
        });
    };
    for (const auto& [id, row] : all)
        check_lookup(row, true);
    expect(view.distinct() == distinct, key + ": distinct values");
    for (const T& probe : probes)
        check_lookup(probe, false);
}

} // namespace chainbase::test

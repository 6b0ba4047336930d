#pragma once

#include <chainbase/snapshot/guarded_read.hpp>
#include <chainbase/views.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace chainbase {

/// An iterator of a view of a snapshot: each step is a guarded read.
template <typename Inner>
class snapshot_iterator {
public:
    using iterator_category = typename std::iterator_traits<Inner>::iterator_category;
    using value_type = typename std::iterator_traits<Inner>::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    snapshot_iterator() = default;
    explicit snapshot_iterator(Inner at) : at_(at) {}

    reference operator*() const {
        return *detail::guarded([&] { return detail::touched(&*at_); });
    }
    pointer operator->() const { return &**this; }
    snapshot_iterator& operator++() {
        at_ = detail::guarded([at = at_]() mutable { return ++at; }); // stays if that fails
        return *this;
    }
    snapshot_iterator operator++(int) {
        snapshot_iterator old = *this;
        ++*this;
        return old;
    }
    snapshot_iterator& operator--()
        requires std::bidirectional_iterator<Inner>
    {
        at_ = detail::guarded([at = at_]() mutable { return --at; });
        return *this;
    }
    snapshot_iterator operator--(int)
        requires std::bidirectional_iterator<Inner>
    {
        snapshot_iterator old = *this;
        --*this;
        return old;
    }
    friend bool operator==(const snapshot_iterator& a, const snapshot_iterator& b) {
        return a.at_ == b.at_;
    }
    [[nodiscard]] const Inner& inner() const noexcept { return at_; }

private:
    Inner at_;
};

/// A view of a snapshot: ordered_view, hashed_view or id_view with guarded reads. Its calls are
/// those of the inner view, and throw too_old_error and busy_error, too. Cheap to copy; valid as
/// long as the snapshot.
template <typename View>
class snapshot_view {
public:
    using inner_iterator = typename View::iterator;
    using iterator = snapshot_iterator<inner_iterator>;
    using const_iterator = iterator;
    using value_type = typename iterator::value_type;

    explicit snapshot_view(View inner) noexcept : inner_(inner) {}

    [[nodiscard]] iterator begin() const {
        return from([](const View& in) { return in.begin(); });
    }
    [[nodiscard]] iterator end() const {
        return from([](const View& in) { return in.end(); });
    }
    [[nodiscard]] auto rbegin() const
        requires std::bidirectional_iterator<inner_iterator>
    {
        return std::make_reverse_iterator(end());
    }
    [[nodiscard]] auto rend() const
        requires std::bidirectional_iterator<inner_iterator>
    {
        return std::make_reverse_iterator(begin());
    }
    [[nodiscard]] std::size_t size() const {
        return detail::guarded([&] { return std::size_t{inner_.size()}; });
    }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] std::size_t distinct() const
        requires requires(const View& in) { in.distinct(); }
    {
        return detail::guarded([&] { return std::size_t{inner_.distinct()}; });
    }

    template <typename... V>
    [[nodiscard]] const value_type* find(const V&... values) const {
        return detail::guarded([&] { return detail::touched(inner_.find(values...)); });
    }
    template <typename... V>
    [[nodiscard]] bool contains(const V&... values) const {
        return find(values...) != nullptr;
    }
    template <typename... V>
    [[nodiscard]] std::size_t count(const V&... values) const {
        return detail::guarded([&] { return std::size_t{inner_.count(values...)}; });
    }
    template <typename... V>
    [[nodiscard]] iterator lower_bound(const V&... values) const {
        return from([&](const View& in) { return in.lower_bound(values...); });
    }
    template <typename... V>
    [[nodiscard]] iterator upper_bound(const V&... values) const {
        return from([&](const View& in) { return in.upper_bound(values...); });
    }
    template <typename... V>
    [[nodiscard]] object_range<iterator> equal_range(const V&... values) const {
        return range([&](const View& in) { return in.equal_range(values...); });
    }
    template <typename Id>
    [[nodiscard]] object_range<iterator> between(Id first, Id last) const {
        return range([&](const View& in) { return in.between(first, last); });
    }
    template <typename Keys>
    void find_many(const Keys& keys, std::span<const value_type*> found) const {
        detail::guarded([&] {
            inner_.find_many(keys, found);
            for (const value_type* object : found.first(std::ranges::size(keys)))
                (void)detail::touched(object);
        });
    }
    [[nodiscard]] iterator iterator_to(const value_type& object) const {
        return from([&](const View& in) { return in.iterator_to(object); });
    }
    template <typename Other>
    [[nodiscard]] iterator project(const Other& view, typename Other::iterator at) const {
        return at == view.end() ? end() : iterator_to(*at);
    }
    [[nodiscard]] iterator nth(std::size_t n) const
        requires requires(const View& in) { in.nth(n); }
    {
        return from([&](const View& in) { return in.nth(n); });
    }
    [[nodiscard]] std::size_t rank(iterator at) const
        requires requires(const View& in) { in.rank(at.inner()); }
    {
        return detail::guarded([&] { return std::size_t{inner_.rank(at.inner())}; });
    }

private:
    template <typename Call>
    [[nodiscard]] iterator from(Call&& call) const {
        return iterator(detail::guarded([&] { return call(inner_); }));
    }
    template <typename Call>
    [[nodiscard]] object_range<iterator> range(Call&& call) const {
        const auto found = detail::guarded([&] { return call(inner_); });
        return {iterator(found.begin()), iterator(found.end())};
    }

    View inner_;
};

} // namespace chainbase

/// @cond
template <typename View>
inline constexpr bool std::ranges::enable_view<chainbase::snapshot_view<View>> = true;
template <typename View>
inline constexpr bool std::ranges::enable_borrowed_range<chainbase::snapshot_view<View>> = true;
/// @endcond

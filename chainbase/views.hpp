#pragma once

#include <chainbase/index.hpp>

#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <utility>

namespace chainbase {

namespace detail {

/// Throws usage_error unless there is room for the objects of all keys.
void require_room(std::size_t found, std::size_t keys);

} // namespace detail

/// Objects that follow each other in a view: begin(), end(), empty(), front(), and
/// `auto [first, last] = ...`. Valid as the view's iterators are.
template <typename Iterator>
using object_range = std::ranges::subrange<Iterator>;

/// The tree of a btree key with the calls of an index of Boost.MultiIndex, for ordered_view. An
/// iterator stays at its object when others come and go, and goes on from where the object is when
/// its own key changes; it ends with the object.
template <typename T, std::size_t K>
class btree_index {
    using index = object_index<T>;

public:
    class iterator {
    public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T*;
        using reference = const T&;

        iterator() = default;
        iterator(const index* of, btree::place at) : index_(of), at_(at) { settle(); }
        /// At an object, whose entry is searched for once it is needed.
        iterator(const index* of, const T& object) noexcept : index_(of), object_(&object) {}

        reference operator*() const noexcept { return *object_; }
        pointer operator->() const noexcept { return object_; }
        iterator& operator++() {
            at_ = tree().next(current());
            settle();
            return *this;
        }
        iterator operator++(int) {
            iterator old = *this;
            ++*this;
            return old;
        }
        /// Of the end: the last object. Requires that there is one before it.
        iterator& operator--() {
            at_ = tree().previous(object_ ? current() : btree::place{});
            settle();
            return *this;
        }
        iterator operator--(int) {
            iterator old = *this;
            --*this;
            return old;
        }
        friend bool operator==(const iterator& a, const iterator& b) noexcept {
            return a.object_ == b.object_;
        }

    private:
        static constexpr std::uint32_t prefetched = 12; ///< entries ahead, in a walk forwards

        [[nodiscard]] const btree& tree() const noexcept { return index_->template flat_tree<K>(); }
        /// Where the object's entry is now.
        [[nodiscard]] btree::place current() const {
            const slot_number slot = index_->slot_of(*object_);
            if (tree().holds(at_, slot)) return at_;
            return tree().place_of(index::template btree_key_of<K>(*object_), slot);
        }
        void settle() {
            object_ = at_.leaf ? &index_->object_in(tree().slot_at(at_), "a btree key") : nullptr;
            if (at_.leaf) index_->prefetch_object(tree().ahead_of(at_, prefetched));
        }

        const index* index_ = nullptr;
        btree::place at_;
        const T* object_ = nullptr; ///< null at the end
    };
    using const_iterator = iterator;

    explicit btree_index(const index& of) noexcept : index_(&of) {}

    [[nodiscard]] iterator begin() const { return {index_, tree().begin()}; }
    [[nodiscard]] iterator end() const noexcept { return {index_, btree::place{}}; }
    [[nodiscard]] auto rbegin() const { return std::make_reverse_iterator(end()); }
    [[nodiscard]] auto rend() const { return std::make_reverse_iterator(begin()); }
    [[nodiscard]] std::size_t size() const noexcept { return index_->size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    template <typename Lookup>
    [[nodiscard]] iterator find(const Lookup& key) const {
        const T* const found = index_->template find_btree<K>(key);
        return found ? iterator_to(*found) : end();
    }
    template <typename Lookup>
    [[nodiscard]] iterator lower_bound(const Lookup& key) const {
        return {index_, tree().lower_bound(index::template btree_bound_of<K>(key, false))};
    }
    template <typename Lookup>
    [[nodiscard]] iterator upper_bound(const Lookup& key) const {
        return {index_, tree().upper_bound(index::template btree_bound_of<K>(key, true))};
    }
    template <typename Lookup>
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const Lookup& key) const {
        return {lower_bound(key), upper_bound(key)};
    }
    [[nodiscard]] iterator iterator_to(const T& object) const noexcept { return {index_, object}; }

private:
    [[nodiscard]] const btree& tree() const noexcept { return index_->template flat_tree<K>(); }

    const index* index_;
};

/// The objects of a type in the order of an ordered, ranked or btree key. Iterators are
/// bidirectional and stay valid as references do. Lookup values are the leading parts of the key,
/// as many as wanted. Objects of equal keys come in the order of their ids. Cheap to copy; read
/// under the same lock as the objects.
template <typename T, std::size_t K>
class ordered_view {
    using parts = typename boost::mp11::mp_at_c<typename T::keys, K>::template parts_of<T>;
    static constexpr key_kind kind = boost::mp11::mp_at_c<typename T::keys, K>::kind;
    static constexpr bool is_ranked_key = is_ranked(kind);

    static decltype(auto) tree_of(const object_index<T>& index) noexcept {
        if constexpr (is_btree(kind))
            return btree_index<T, K>(index);
        else
            return index.template tree<K>();
    }
    using tree = std::remove_cvref_t<decltype(tree_of(std::declval<const object_index<T>&>()))>;

public:
    using iterator = typename tree::const_iterator;
    using const_iterator = iterator;

    explicit ordered_view(const object_index<T>& index) noexcept : index_(&index) {}

    [[nodiscard]] iterator begin() const noexcept { return tree_of(*index_).begin(); }
    [[nodiscard]] iterator end() const noexcept { return tree_of(*index_).end(); }
    [[nodiscard]] auto rbegin() const noexcept { return tree_of(*index_).rbegin(); }
    [[nodiscard]] auto rend() const noexcept { return tree_of(*index_).rend(); }
    [[nodiscard]] std::size_t size() const noexcept { return tree_of(*index_).size(); }
    [[nodiscard]] bool empty() const noexcept { return tree_of(*index_).empty(); }

    /// The first object whose leading parts equal `values`, or null.
    template <typename... V>
    [[nodiscard]] const T* find(const V&... values) const {
        if (!parts::can_hold(values...)) return nullptr;
        const auto found = tree_of(*index_).find(parts::make_lookup(values...));
        return found == tree_of(*index_).end() ? nullptr : &*found;
    }
    /// The first object whose leading parts are not before `values`. Here and in the next two,
    /// throws usage_error for a value that the part's type cannot hold.
    template <typename... V>
    [[nodiscard]] iterator lower_bound(const V&... values) const {
        return tree_of(*index_).lower_bound(parts::make_bound(values...));
    }
    /// The first object whose leading parts are behind `values`.
    template <typename... V>
    [[nodiscard]] iterator upper_bound(const V&... values) const {
        return tree_of(*index_).upper_bound(parts::make_bound(values...));
    }
    /// From lower_bound to upper_bound: the objects whose leading parts equal `values`.
    template <typename... V>
    [[nodiscard]] object_range<iterator> equal_range(const V&... values) const {
        const auto [first, last] = tree_of(*index_).equal_range(parts::make_bound(values...));
        return {first, last};
    }
    /// Whether there is an object whose leading parts equal `values`.
    template <typename... V>
    [[nodiscard]] bool contains(const V&... values) const {
        return find(values...) != nullptr;
    }
    /// How many objects' leading parts equal `values`: in logarithmic time for a ranked key, else
    /// counted one by one.
    template <typename... V>
    [[nodiscard]] std::size_t count(const V&... values) const {
        if (!parts::can_hold(values...)) return 0;
        const auto all = equal_range(values...);
        if constexpr (is_ranked_key)
            return tree_of(*index_).rank(all.end()) - tree_of(*index_).rank(all.begin());
        else
            return static_cast<std::size_t>(std::distance(all.begin(), all.end()));
    }
    /// See database::find_many.
    template <std::ranges::random_access_range Keys>
    void find_many(const Keys& keys, std::span<const T*> found) const {
        detail::require_room(found.size(), std::ranges::size(keys));
        if constexpr (is_btree(kind))
            index_->template find_many_btree<K>(keys, found);
        else
            index_->template find_many_ordered<K>(keys, found);
    }
    [[nodiscard]] iterator iterator_to(const T& object) const {
        return tree_of(*index_).iterator_to(object);
    }
    /// The position in this view of the object at an iterator of another view of T; end() for that
    /// view's end.
    template <typename View>
    [[nodiscard]] iterator project(const View& from, typename View::iterator at) const {
        return at == from.end() ? end() : iterator_to(*at);
    }

    /// The object at position n (from 0) of a ranked key, end() beyond the last.
    [[nodiscard]] iterator nth(std::size_t n) const
        requires is_ranked_key
    {
        return tree_of(*index_).nth(static_cast<typename tree::size_type>(n));
    }
    /// The position of an object of a ranked key, in logarithmic time.
    [[nodiscard]] std::size_t rank(iterator at) const
        requires is_ranked_key
    {
        return tree_of(*index_).rank(at);
    }

private:
    const object_index<T>* index_;
};

/// The objects of a type by a hashed key. Walking all of them has no useful order, and another one
/// in every state: no outcome of a block may depend on it. Objects of equal keys come in the order
/// of their ids; entering one takes time in proportion to those of the same key that were created
/// after it. Cheap to copy; read under the same lock as the objects. Calls throw damaged_error when
/// words of the state lead out of it or form a cycle.
template <typename T, std::size_t K>
class hashed_view {
    using key = boost::mp11::mp_at_c<typename T::keys, K>;
    using parts = typename key::template parts_of<T>;

public:
    /// Visits the objects of one key, a ring of slots that begins at its head; a walk through all
    /// objects continues with the next entry of the table.
    class iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T*;
        using reference = const T&;

        iterator() = default;
        /// In the ring that begins with `head`, alone.
        iterator(const object_index<T>* index, slot_number head) noexcept
            : index_(index), entry_(end_of_table), head_(head), at_(head) {}
        /// At the first object at or after an entry of the table.
        iterator(const object_index<T>* index, std::size_t entry) : index_(index), entry_(entry) {
            settle();
        }
        reference operator*() const { return index_->value_at(at_); }
        pointer operator->() const { return &**this; }
        iterator& operator++() {
            slot_number next = 0;
            if constexpr (!is_unique(key::kind)) next = index_->template next_equal<K>(at_);
            at_ = next == head_ ? 0 : next;
            if (at_ == 0 && entry_ != end_of_table) {
                ++entry_;
                settle();
            }
            return *this;
        }
        iterator operator++(int) {
            iterator old = *this;
            ++*this;
            return old;
        }
        friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

    private:
        static constexpr std::size_t end_of_table = SIZE_MAX;

        void settle() {
            const hash_table& table = index_->template table<K>();
            for (; entry_ < table.capacity(); ++entry_) {
                head_ = at_ = table.slot_at(entry_);
                if (at_ == 0) continue;
                static_cast<void>(index_->object_in(at_));
                return;
            }
            at_ = 0;
        }

        const object_index<T>* index_ = nullptr;
        std::size_t entry_ = end_of_table;
        slot_number head_ = 0;
        slot_number at_ = 0;
    };
    using const_iterator = iterator;

    explicit hashed_view(const object_index<T>& index) noexcept : index_(&index) {}

    [[nodiscard]] iterator begin() const { return {index_, std::size_t{0}}; }
    [[nodiscard]] iterator end() const { return {index_, slot_number{0}}; }
    [[nodiscard]] std::size_t size() const noexcept { return index_->size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    /// How many different values the key has.
    [[nodiscard]] std::size_t distinct() const noexcept {
        return index_->template table<K>().size();
    }

    /// An object whose key equals `values`, all of the key, or null.
    template <typename... V>
    [[nodiscard]] const T* find(const V&... values) const {
        const slot_number slot = head_of(values...);
        return slot ? &index_->value_at(slot) : nullptr;
    }
    /// All objects whose key equals `values`.
    template <typename... V>
    [[nodiscard]] object_range<iterator> equal_range(const V&... values) const {
        return {iterator(index_, head_of(values...)), end()};
    }
    template <typename... V>
    [[nodiscard]] bool contains(const V&... values) const {
        return head_of(values...) != 0;
    }
    /// How many objects' keys equal `values`, counted one by one.
    template <typename... V>
    [[nodiscard]] std::size_t count(const V&... values) const {
        const auto all = equal_range(values...);
        return static_cast<std::size_t>(std::distance(all.begin(), all.end()));
    }

    /// See database::find_many.
    template <std::ranges::random_access_range Keys>
    void find_many(const Keys& keys, std::span<const T*> found) const {
        static_assert(parts::template given<std::ranges::range_value_t<Keys>> == parts::count,
                      "a hashed key is looked up whole");
        detail::require_room(found.size(), std::ranges::size(keys));
        index_->template find_many<K>(keys, found);
    }

private:
    template <typename... V>
    [[nodiscard]] slot_number head_of(const V&... values) const {
        static_assert(parts::template given<V...> == parts::count,
                      "a hashed key is looked up whole");
        if (!parts::can_hold(values...)) return 0;
        return index_->template find_hashed<K>(parts::make_lookup(values...));
    }

    const object_index<T>* index_;
};

/// The objects of a type in the order of their ids, through the id table. Cheap to copy; read under
/// the same lock as the objects.
template <typename T>
class id_view {
public:
    class iterator {
    public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T*;
        using reference = const T&;

        iterator() = default;
        /// At the first object whose id is not below `at`.
        iterator(const object_index<T>* index, std::uint32_t at) : index_(index), at_(at) {
            settle();
        }
        reference operator*() const { return *object_; }
        pointer operator->() const { return object_; }
        iterator& operator++() {
            ++at_;
            settle();
            return *this;
        }
        iterator operator++(int) {
            iterator old = *this;
            ++*this;
            return old;
        }
        /// Requires that an object has a smaller id.
        iterator& operator--() {
            do
                object_ = index_->find(id<T>(--at_));
            while (!object_ && at_ != 0);
            return *this;
        }
        iterator operator--(int) {
            iterator old = *this;
            --*this;
            return old;
        }
        friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

    private:
        void settle() {
            const std::uint32_t end = index_->next_id().value;
            object_ = nullptr;
            while (at_ < end && !(object_ = index_->find(id<T>(at_))))
                ++at_;
        }
        const object_index<T>* index_ = nullptr;
        std::uint32_t at_ = 0;
        const T* object_ = nullptr;
    };
    using const_iterator = iterator;

    explicit id_view(const object_index<T>& index) noexcept : index_(&index) {}
    [[nodiscard]] iterator begin() const { return {index_, 0}; }
    [[nodiscard]] iterator end() const { return {index_, index_->next_id().value}; }
    [[nodiscard]] auto rbegin() const { return std::make_reverse_iterator(end()); }
    [[nodiscard]] auto rend() const { return std::make_reverse_iterator(begin()); }
    /// The first object whose id is not below `from`.
    [[nodiscard]] iterator lower_bound(id<T> from) const {
        const std::uint32_t end = index_->next_id().value;
        return {index_, from.value < end ? from.value : end};
    }
    /// The first object whose id is above `id`.
    [[nodiscard]] iterator upper_bound(id<T> id) const {
        return id.value == UINT32_MAX ? end() : lower_bound(chainbase::id<T>(id.value + 1));
    }
    /// The objects whose ids are `from` or above, and below `to`.
    [[nodiscard]] object_range<iterator> between(id<T> from, id<T> to) const {
        return {lower_bound(from), to < from ? lower_bound(from) : lower_bound(to)};
    }
    [[nodiscard]] iterator iterator_to(const T& object) const { return {index_, object.id.value}; }
    /// The position here of the object at an iterator of another view of T; end() for that view's
    /// end.
    template <typename View>
    [[nodiscard]] iterator project(const View& from, typename View::iterator at) const {
        return at == from.end() ? end() : iterator_to(*at);
    }
    [[nodiscard]] std::size_t size() const noexcept { return index_->size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

private:
    const object_index<T>* index_;
};

} // namespace chainbase

// Standard views: cheap to copy, and their iterators may outlive them.
/// @cond
template <typename T, std::size_t K>
inline constexpr bool std::ranges::enable_view<chainbase::ordered_view<T, K>> = true;
template <typename T, std::size_t K>
inline constexpr bool std::ranges::enable_view<chainbase::hashed_view<T, K>> = true;
template <typename T>
inline constexpr bool std::ranges::enable_view<chainbase::id_view<T>> = true;
template <typename T, std::size_t K>
inline constexpr bool std::ranges::enable_borrowed_range<chainbase::ordered_view<T, K>> = true;
template <typename T, std::size_t K>
inline constexpr bool std::ranges::enable_borrowed_range<chainbase::hashed_view<T, K>> = true;
template <typename T>
inline constexpr bool std::ranges::enable_borrowed_range<chainbase::id_view<T>> = true;
/// @endcond

#pragma once

#include <chainbase/index.hpp>

#include <cstddef>
#include <iterator>
#include <utility>

namespace chainbase {

/// The objects of a type in the order of an ordered or ranked key. Iterators are bidirectional and
/// stay valid as references do. Lookup values are the leading parts of the key, as many as wanted.
/// Cheap to copy; read under the same lock as the objects.
template <typename T, std::size_t K>
class ordered_view {
    using parts = typename boost::mp11::mp_at_c<typename T::keys, K>::parts;
    using tree =
        std::remove_cvref_t<decltype(std::declval<const object_index<T>&>().template tree<K>())>;

public:
    using iterator = typename tree::const_iterator;
    using const_iterator = iterator;

    explicit ordered_view(const object_index<T>& index) noexcept
        : tree_(&index.template tree<K>()) {}

    [[nodiscard]] iterator begin() const noexcept { return tree_->begin(); }
    [[nodiscard]] iterator end() const noexcept { return tree_->end(); }
    [[nodiscard]] auto rbegin() const noexcept { return tree_->rbegin(); }
    [[nodiscard]] auto rend() const noexcept { return tree_->rend(); }
    [[nodiscard]] std::size_t size() const noexcept { return tree_->size(); }
    [[nodiscard]] bool empty() const noexcept { return tree_->empty(); }

    /// The first object whose leading parts equal `values`, or null.
    template <typename... V>
    [[nodiscard]] const T* find(const V&... values) const {
        if (!parts::can_hold(values...)) return nullptr;
        const auto found = tree_->find(parts::make_lookup(values...));
        return found == tree_->end() ? nullptr : &*found;
    }
    /// The first object whose leading parts are not before `values`. Here and in the next two,
    /// throws usage_error for a value that the part's type cannot hold.
    template <typename... V>
    [[nodiscard]] iterator lower_bound(const V&... values) const {
        return tree_->lower_bound(parts::make_bound(values...));
    }
    /// The first object whose leading parts are behind `values`.
    template <typename... V>
    [[nodiscard]] iterator upper_bound(const V&... values) const {
        return tree_->upper_bound(parts::make_bound(values...));
    }
    /// From lower_bound to upper_bound: the objects whose leading parts equal `values`.
    template <typename... V>
    [[nodiscard]] std::pair<iterator, iterator> equal_range(const V&... values) const {
        return tree_->equal_range(parts::make_bound(values...));
    }
    [[nodiscard]] iterator iterator_to(const T& object) const { return tree_->iterator_to(object); }

    /// The object at position n (from 0) of a ranked key, end() beyond the last.
    [[nodiscard]] iterator nth(std::size_t n) const
        requires(is_ranked(boost::mp11::mp_at_c<typename T::keys, K>::kind))
    {
        return tree_->nth(static_cast<typename tree::size_type>(n));
    }
    /// The position of an object of a ranked key, in logarithmic time.
    [[nodiscard]] std::size_t rank(iterator at) const
        requires(is_ranked(boost::mp11::mp_at_c<typename T::keys, K>::kind))
    {
        return tree_->rank(at);
    }

private:
    const tree* tree_;
};

/// The objects of a type by a hashed key. Iterates in no useful order, which is another one in
/// every state: no outcome of a block may depend on it. Groups of equal keys are in the order in
/// which they got the key. Cheap to copy; read under the same lock as the objects. Calls throw
/// damaged_error when words of the state lead out of it or round in a circle.
template <typename T, std::size_t K>
class hashed_view {
    using key = boost::mp11::mp_at_c<typename T::keys, K>;
    using parts = typename key::parts;

public:
    /// The objects with one value of the key: a ring of slots that begins at its head.
    class group {
    public:
        class iterator {
        public:
            using iterator_category = std::forward_iterator_tag;
            using value_type = T;
            using difference_type = std::ptrdiff_t;
            using pointer = const T*;
            using reference = const T&;

            iterator() = default;
            iterator(const object_index<T>* index, slot_number head, slot_number at) noexcept
                : index_(index), head_(head), at_(at) {}
            reference operator*() const { return index_->value_at(at_); }
            pointer operator->() const { return &**this; }
            iterator& operator++() {
                slot_number next = 0;
                if constexpr (!is_unique(key::kind)) next = index_->template next_equal<K>(at_);
                at_ = next == head_ ? 0 : next;
                return *this;
            }
            iterator operator++(int) {
                iterator old = *this;
                ++*this;
                return old;
            }
            friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

        private:
            const object_index<T>* index_ = nullptr;
            slot_number head_ = 0;
            slot_number at_ = 0;
        };

        group(const object_index<T>* index, slot_number head) noexcept
            : index_(index), head_(head) {}
        [[nodiscard]] iterator begin() const { return {index_, head_, head_}; }
        [[nodiscard]] iterator end() const { return {index_, head_, 0}; }
        [[nodiscard]] bool empty() const noexcept { return head_ == 0; }

    private:
        const object_index<T>* index_;
        slot_number head_;
    };

    explicit hashed_view(const object_index<T>& index) noexcept : index_(&index) {}

    /// An object whose key equals `values`, or null.
    template <typename... V>
    [[nodiscard]] const T* find(const V&... values) const {
        static_assert(sizeof...(V) == parts::count, "a hashed key is looked up whole");
        if (!parts::can_hold(values...)) return nullptr;
        const slot_number slot = index_->template find_hashed<K>(parts::make_lookup(values...));
        return slot ? &index_->value_at(slot) : nullptr;
    }
    /// See database::prefetch.
    template <typename... V>
    void prefetch(const V&... values) const noexcept {
        if (parts::can_hold(values...))
            index_->template prefetch_entry<K>(parts::make_lookup(values...));
    }
    /// See database::prefetch_object.
    template <typename... V>
    void prefetch_object(const V&... values) const noexcept {
        if (parts::can_hold(values...))
            index_->template prefetch_object<K>(parts::make_lookup(values...));
    }
    /// See database::prefetch_id.
    template <typename... V>
    void prefetch_id(const V&... values) const noexcept {
        if (parts::can_hold(values...))
            index_->template prefetch_id<K>(parts::make_lookup(values...));
    }
    /// All objects whose key equals `values`.
    template <typename... V>
    [[nodiscard]] group equal_range(const V&... values) const {
        static_assert(sizeof...(V) == parts::count, "a hashed key is looked up whole");
        if (!parts::can_hold(values...)) return {index_, 0};
        return {index_, index_->template find_hashed<K>(parts::make_lookup(values...))};
    }
    /// Calls visit(object) for every object.
    template <typename Visitor>
    void each(Visitor&& visit) const {
        index_->template table<K>().each([&](slot_number head) {
            static_cast<void>(index_->object_in(head));
            for (const T& object : group(index_, head))
                visit(object);
        });
    }
    [[nodiscard]] std::size_t size() const noexcept { return index_->size(); }
    /// How many different values the key has.
    [[nodiscard]] std::size_t distinct() const noexcept {
        return index_->template table<K>().size();
    }

private:
    const object_index<T>* index_;
};

/// The objects of a type in the order of their ids, through the id table.
template <typename T>
class id_view {
public:
    class iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T*;
        using reference = const T&;

        iterator() = default;
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
        friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

    private:
        void settle() {
            const std::uint32_t end = index_->next_id().value;
            while (at_ < end && !(object_ = index_->find(id<T>(at_))))
                ++at_;
        }
        const object_index<T>* index_ = nullptr;
        std::uint32_t at_ = 0;
        const T* object_ = nullptr;
    };

    explicit id_view(const object_index<T>& index) noexcept : index_(&index) {}
    [[nodiscard]] iterator begin() const { return {index_, 0}; }
    [[nodiscard]] iterator end() const { return {index_, index_->next_id().value}; }
    /// The first object whose id is not below `from`.
    [[nodiscard]] iterator lower_bound(id<T> from) const {
        const std::uint32_t end = index_->next_id().value;
        return {index_, from.value < end ? from.value : end};
    }
    [[nodiscard]] std::size_t size() const noexcept { return index_->size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

private:
    const object_index<T>* index_;
};

} // namespace chainbase

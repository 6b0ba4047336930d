#pragma once

#include <archive/archived_by.hpp>
#include <archive/found.hpp>
#include <archive/lifecycle_objects.hpp>
#include <archive/record/key.hpp>
#include <archive/store.hpp>
#include <chainbase/database.hpp>
#include <chainbase/object/schema.hpp>

#include <boost/mp11/algorithm.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace chainbase::archive::detail {

/// The parts of the key that T calls Tag.
template <typename T, typename Tag>
using parts_called = typename key_called<T, Tag>::template parts_of<T>;

/// Appends the store's bytes for the values that `from` has for a key of these Parts: an object, or
/// leading parts.
template <typename Parts, typename From>
void append_key_of(byte_buffer& to, const From& from) {
    using parts = Parts;
    static_assert(!parts::has_own_order,
                  "a key with compared_by cannot be archived: rows are in the order of bytes");
    const auto one = [&](auto i) {
        const auto& part = parts::template get<i>(from); // named: it may be a temporary
        const auto& value = chainbase::detail::comparable(part);
        if constexpr (parts::template part<i>::is_descending)
            append_key(to, descending(value));
        else
            append_key(to, value);
    };
    const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
        (one(std::integral_constant<std::size_t, I>()), ...);
    };
    if constexpr (std::is_same_v<From, typename parts::object>)
        all(std::make_index_sequence<parts::count>());
    else
        all(std::make_index_sequence<std::tuple_size_v<From>>());
}

/// How the rows of T are found: the keys that T::archived_by names, in that order. Behind the parts
/// of one that is not unique stands the id.
template <typename T, typename List = typename T::archived_by>
struct archived_keys;

template <typename T, typename... Tags>
struct archived_keys<T, tags<Tags...>> {
    static constexpr std::size_t count = sizeof...(Tags);
    /// The store's number of the key; `count` when the archive does not have it.
    template <typename Tag>
    static constexpr std::size_t number = boost::mp11::mp_find<tags<Tags...>, Tag>::value;

    /// By number, and how many are.
    static constexpr std::array<bool, count> is_unique_key{is_unique(key_called<T, Tags>::kind)...};
    static constexpr std::uint64_t unique_count =
        (std::uint64_t{0} + ... + (is_unique(key_called<T, Tags>::kind) ? 1 : 0));

    static_assert(
        ((is_unique(key_called<T, Tags>::kind) || !is_hashed(key_called<T, Tags>::kind)) && ...),
        "objects in the archive are found by unique or ordered keys");

    static std::vector<std::string> names() {
        return {(key_name<key_called<T, Tags>>() +
                 (is_unique(key_called<T, Tags>::kind) ? "" : ",id"))...};
    }

    template <typename Tag>
    static void append(byte_buffer& to, const T& object) {
        using key = key_called<T, Tag>;
        append_key_of<parts_called<T, Tag>>(to, object);
        if constexpr (!is_unique(key::kind)) append_key(to, object.id);
    }

    /// Calls visit(number, append) for each key; append(buffer) appends that of `object`.
    template <typename Visitor>
    static void each(const T& object, Visitor&& visit) {
        (visit(static_cast<std::uint32_t>(number<Tags>),
               [&](byte_buffer& to) { append<Tags>(to, object); }),
         ...);
    }
    /// The same for those that are unique.
    template <typename Visitor>
    static void each_unique(const T& object, Visitor&& visit) {
        each(object, [&](std::uint32_t number, auto&& append) {
            if (is_unique_key[number]) visit(number, append);
        });
    }
};

} // namespace chainbase::archive::detail

namespace chainbase::archive {

/// Walks the objects of a type in the order of one of its ordered keys, those in memory and those
/// in the archive as one sequence, each once. Made by lifecycle::range() and lifecycle::from().
///
///     for (auto at = comments.range<by_author>("alice"); at.valid(); at.next())
///         use(at->get<&comment::created>());
///
/// Valid for the state at the time it was made: no object of the type may be created, changed or
/// removed while it is used; the state's read lock ensures that. Must not outlive its life cycle
/// and the store. One thread at a time.
template <archivable T, typename Tag>
class object_cursor {
    using key = key_called<T, Tag>;
    using view = decltype(std::declval<const database&>().template view<T, Tag>());
    using iterator = typename view::iterator;

public:
    /// From `first` to `last` in memory; in the archive, `rows` as long as their keys start with
    /// `prefix`, if they count.
    object_cursor(const detail::removed_objects<T>& removed, const store& archive, table_id table,
                  iterator first, iterator last, key_cursor rows, byte_buffer prefix)
        : removed_(removed), archive_(archive), table_(table), at_(first), end_(last),
          rows_(std::move(rows)), prefix_(std::move(prefix)) {
        encode_object();
        skip_rows();
        settle();
    }

    /// False behind the last object; what follows requires true.
    [[nodiscard]] bool valid() const noexcept { return current_.has_value(); }
    [[nodiscard]] const found<T>& operator*() const noexcept { return *current_; }
    [[nodiscard]] const found<T>* operator->() const noexcept { return &*current_; }

    /// Throws what reading the store throws: the end is never reached by mistake.
    void next() {
        if (current_->in_memory()) {
            ++at_;
            encode_object();
        } else {
            rows_.next();
            skip_rows();
        }
        settle();
    }

private:
    [[nodiscard]] bool has_row() const {
        return rows_.valid() && starts_with(rows_.key(), prefix_);
    }
    void encode_object() {
        object_key_.clear();
        if (at_ != end_) detail::archived_keys<T>::template append<Tag>(object_key_, *at_);
    }
    void skip_rows() {
        while (has_row() && !removed_.counts(rows_.id()))
            rows_.next();
    }
    void settle() {
        const bool is_row = has_row() && (at_ == end_ || bytes_less()(rows_.key(), object_key_));
        if (is_row)
            current_.emplace(row());
        else if (at_ != end_)
            current_.emplace(*at_);
        else
            current_.reset();
    }
    [[nodiscard]] pinned_row row() const {
        std::optional<pinned_row> found = archive_.find(table_, rows_.id());
        if (found) return *std::move(found);
        throw damaged_error(archive_.name() + ": table \"" + archive_.tables()[table_.value].name +
                            "\", key " + key_name<key>() + ": leads to row " +
                            std::to_string(rows_.id()) +
                            ", which is missing; restore the archive from a backup or rebuild it "
                            "by a replay");
    }

    const detail::removed_objects<T>& removed_;
    const store& archive_;
    table_id table_;
    iterator at_;
    iterator end_;
    byte_buffer object_key_; ///< of *at_
    key_cursor rows_;
    byte_buffer prefix_;
    std::optional<found<T>> current_;
};

} // namespace chainbase::archive

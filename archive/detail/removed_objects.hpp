#pragma once

#include <chainbase/database.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace chainbase::archive::detail {

struct by_object;

/// Says of an object of T that it was removed after it had been retired. Its row, if it has one,
/// stays in the store, where states of an earlier time count on it.
template <typename T>
struct removed {
    chainbase::id<removed> id;
    chainbase::id<T> object;

    using keys = chainbase::keys<hashed_unique<by_object, &removed::object>>;
    BOOST_DESCRIBE_CLASS(removed, (), (id, object), (), ())
};

/// Says of one of these that it was still in memory: the state does not know of a row.
template <typename T>
struct withdrawn {
    chainbase::id<withdrawn> id;
    chainbase::id<T> object;

    using keys = chainbase::keys<>;
    BOOST_DESCRIBE_CLASS(withdrawn, (), (id, object), (), ())
};

/// The objects of T whose rows do not count any more, kept as objects of the state, so under undo
/// with their removal. Thread-safety: as the database.
template <typename T>
class removed_objects {
public:
    /// For the type registered as `name`; registers beside it `name`.removed and `name`.withdrawn.
    removed_objects(database& state, const std::string& name) : state_(state) {
        state_.template add_type<removed<T>>(name + ".removed");
        state_.template add_type<withdrawn<T>>(name + ".withdrawn");
    }

    /// As a change of the session under way.
    void add(id<T> object, bool is_handed_over) {
        state_.template create<removed<T>>([&](removed<T>& one) { one.object = object; });
        if (!is_handed_over)
            state_.template create<withdrawn<T>>([&](withdrawn<T>& one) { one.object = object; });
    }

    [[nodiscard]] bool has(id<T> object) const {
        return count() != 0 && state_.template find<removed<T>, by_object>(object) != nullptr;
    }
    /// Whether the row of this id is an object of the state that is in the archive only. Else the
    /// object is in memory (perhaps with other keys than it will have when it finishes), was
    /// removed, or is of a later time than this state.
    [[nodiscard]] bool counts(std::uint32_t row) const {
        const id<T> object(row);
        return object < state_.template next_id<T>() && !has(object) && !state_.find(object);
    }
    [[nodiscard]] std::size_t count() const noexcept { return state_.template count<removed<T>>(); }
    [[nodiscard]] std::size_t withdrawn_count() const noexcept {
        return state_.template count<withdrawn<T>>();
    }

private:
    database& state_;
};

} // namespace chainbase::archive::detail

#pragma once

#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>

#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace chainbase::test {

struct by_key;
struct by_group;
struct by_value;

/// One unique key, one group.
struct item {
    chainbase::id<item> id;
    std::uint32_t key = 0;
    std::uint32_t group = 0;
    std::uint32_t value = 0;

    using keys = chainbase::keys<ordered_unique<by_key, &item::key>,
                                 ordered_non_unique<by_group, &item::group>>;
};
BOOST_DESCRIBE_STRUCT(item, (), (id, key, group, value))

/// As item, hashed.
struct card {
    chainbase::id<card> id;
    std::uint32_t key = 0;
    std::uint32_t group = 0;
    std::uint32_t value = 0;

    using keys = chainbase::keys<hashed_unique<by_key, &card::key>,
                                 hashed_non_unique<by_group, &card::group>>;
};
BOOST_DESCRIBE_STRUCT(card, (), (id, key, group, value))

/// As item, with the unique key last: when it collides, the object is already at its new place in
/// the other keys.
struct ticket {
    chainbase::id<ticket> id;
    std::uint32_t key = 0;
    std::uint32_t group = 0;
    std::uint32_t value = 0;

    using keys = chainbase::keys<ordered_non_unique<by_group, &ticket::group>,
                                 ranked_non_unique<by_value, &ticket::value>,
                                 ordered_unique<by_key, &ticket::key>>;
};
BOOST_DESCRIBE_STRUCT(ticket, (), (id, key, group, value))

/// A state with one type, and what is needed to require "unchanged". `Database` is database, or a
/// class that tests each of its calls.
template <typename T, typename Database = database>
class one_type {
public:
    using object = T;

    one_type() : db(folder / "state", quick_options()) { db.template add_type<T>("thing"); }

    const T& add(std::uint32_t key, std::uint32_t group = 0) {
        return db.template create<T>([&](T& object) {
            object.key = key;
            object.group = group;
        });
    }
    void set_key(const T& object, std::uint32_t key) {
        db.modify(object, [&](T& target) { target.key = key; });
    }
    template <typename Initialise>
    const T& create(Initialise&& initialise) {
        return db.template create<T>(initialise);
    }
    void clear() { db.template clear<T>(); }
    [[nodiscard]] std::size_t count() const { return db.template count<T>(); }
    [[nodiscard]] const T* find(std::uint32_t number) const {
        return db.find(chainbase::id<T>(number));
    }
    [[nodiscard]] const T* at(std::uint32_t key) const { return db.template find<T, by_key>(key); }
    [[nodiscard]] snapshot now() { return snapshot(db.memory()); }

    scratch_folder folder;
    Database db;
};

/// The message of the E that `call` throws.
template <typename E, typename Call>
std::string message_of(Call&& call) {
    try {
        call();
    } catch (const E& e) {
        return e.what();
    }
    throw std::logic_error("nothing was thrown");
}

} // namespace chainbase::test

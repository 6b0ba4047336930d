#pragma once

#include <archive/lifecycle.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>
#include <chainbase/feed/entry.hpp>
#include <chainbase/object/schema.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::feed {

/// Applies what the feed of one state tells to another one of the same types, so that both have the
/// same objects by id, give out the same ids, and can undo the same blocks.
///
///     replica copy(db);                 // db: made of a snapshot of the followed state
///     copy.add<account>("account");
///     copy.add(comments);               // a lifecycle
///     for (feed::entry one; primary.next(one);)
///         copy.apply(one, primary.types());
///
/// Each block is a session of the same revision. An object that is changed must be, before that,
/// what the followed state says it was: a copy of another state, or one that somebody else wrote,
/// is detected there.
///
/// Thread-safety: of the thread that writes `db`, under its write lock if others read it.
class replica {
public:
    /// Of `own`, open for writing, which outlives this.
    explicit replica(database& own) : own_(own) {}
    replica(const replica&) = delete;
    replica& operator=(const replica&) = delete;

    /// The type T, registered as `name`. Throws usage_error when a record has not all of a T.
    template <archive::described T>
    void add(const std::string& name) {
        enter(std::make_unique<copied<T>>(own_, name));
    }
    /// The objects of a life cycle, which outlives this, and what it keeps in the state. Rows are
    /// written to its own store.
    template <typename T>
    void add(archive::lifecycle<T>& of);
    /// A type of the followed state that is of no concern here.
    void leave_out(const std::string& name) { left_out_.insert(name); }

    /// Ends the session of a block, by push(), or, if it is merged into the block below, squash().
    using end_of_block = std::function<void(session& changed, bool is_merged)>;

    /// Applies an entry, which follows what was applied before; `types` are those of its feed.
    /// Calls `end` for a block, when it is applied.
    ///
    /// Throws damaged_error naming type and object when this is not a copy of the followed state,
    /// schema_error for a type that was not added, or that has another layout there,
    /// too_far_behind_error for a pop of a block that cannot be undone here, usage_error for an
    /// entry that does not follow, and what changing the state throws; then nothing was applied.
    void apply(const entry& next, const std::deque<type_schema>& types,
               const end_of_block& end = {});

private:
    /// A type that is copied.
    struct copied_type {
        explicit copied_type(std::string as) : name(std::move(as)) {}
        virtual ~copied_type() = default;

        virtual void create(std::uint32_t id, archive::bytes_view now) = 0;
        virtual void modify(std::uint32_t id, archive::bytes_view was, archive::bytes_view now) = 0;
        virtual void remove(std::uint32_t id, archive::bytes_view was) = 0;
        virtual void skip_ids(std::uint32_t next) = 0;
        [[nodiscard]] virtual std::uint32_t next_id() const = 0;
        virtual void write_rows(std::span<const std::uint32_t>) {}

        std::string name;
    };
    template <archive::described T>
    struct copied;
    template <typename T>
    struct copied_life;

    void enter(std::unique_ptr<copied_type> type);
    void require_near(const copied_type& type, std::uint32_t id) const;
    [[nodiscard]] copied_type* type_of(std::uint32_t number, const std::deque<type_schema>& types);
    void require_follows(const entry& next) const;
    void change(const entry& by, const std::deque<type_schema>& types);
    static void require_all_in_records(const type_schema& schema);
    [[noreturn]] static void throw_missing(const std::string& type, std::uint32_t id);
    [[noreturn]] static void throw_other(const std::string& type, std::uint32_t id);

    database& own_;
    revision_number popped_ = -1; ///< the entry before was a pop of this revision
    std::map<std::string, std::unique_ptr<copied_type>> types_;
    std::set<std::string> left_out_;
    std::vector<copied_type*> by_number_; ///< null: not copied
};

template <archive::described T>
struct replica::copied : copied_type {
    copied(database& to, const std::string& as) : copied_type(as), own(to) {
        require_all_in_records(schema_of<T>(as));
    }
    void create(std::uint32_t id, archive::bytes_view now) override {
        own.template create_as<T>(chainbase::id<T>(id),
                                  [&](T& it) { archive::decode_described(now, it); });
    }
    void modify(std::uint32_t id, archive::bytes_view was, archive::bytes_view now) override {
        own.modify(get(id, was), [&](T& it) { archive::decode_described(now, it); });
    }
    void remove(std::uint32_t id, archive::bytes_view was) override { own.remove(get(id, was)); }
    void skip_ids(std::uint32_t next) override { own.skip_ids(chainbase::id<T>(next)); }
    std::uint32_t next_id() const override { return own.template next_id<T>().value; }

    [[nodiscard]] const T& get(std::uint32_t id, archive::bytes_view was) {
        const T* const object = own.find(chainbase::id<T>(id));
        if (!object) throw_missing(name, id);
        record.clear();
        archive::append_described(archive::found<T>(*object), record);
        if (!archive::same(record, was)) throw_other(name, id);
        return *object;
    }

    database& own;
    archive::byte_buffer record;
};

template <typename T>
struct replica::copied_life final : copied<T> {
    copied_life(database& to, archive::lifecycle<T>& of) : copied<T>(to, of.name()), life(of) {}
    void write_rows(std::span<const std::uint32_t> ids) override {
        std::vector<chainbase::id<T>> leaving;
        for (const std::uint32_t one : ids)
            leaving.push_back(chainbase::id<T>(one));
        life.write_rows(leaving);
    }

    archive::lifecycle<T>& life;
};

template <typename T>
void replica::add(archive::lifecycle<T>& of) {
    archive::lifecycle<T>::each_type(of.name(), [&]<typename U>(const std::string& name) {
        if constexpr (std::is_same_v<U, T>)
            enter(std::make_unique<copied_life<T>>(own_, of));
        else
            add<U>(name);
    });
}

} // namespace chainbase::feed

#pragma once

#include <chainbase/database.hpp>
#include <chainbase/snapshot/snapshot_view.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <ranges>
#include <span>
#include <string>
#include <vector>

namespace chainbase {

class snapshot_segment;

/// What a snapshot has cost so far.
struct snapshot_costs {
    std::uint64_t pages;   ///< copied from the state
    std::uint64_t retries; ///< pages copied again, since the writer rolled back meanwhile
    std::uint64_t bytes;   ///< of memory that it holds
};

/// A state as it was at the end of one block, to read while the state goes on changing: in this
/// process or in another one, without a lock, and without anyone waiting for anyone.
///
///     snapshot then(db);
///     const account* alice = then.find<account, by_name>("alice"); // as of then.revision()
///
/// A page of it is copied at the first touch, so it costs what is read. What was found stays valid,
/// with all its bytes, as long as the snapshot. It can be read on until more was changed than
/// open_options::snapshot_log_bytes, its block is undone, the state is opened again or compacted,
/// or changes outside of sessions: then reading more throws too_old_error. `busy_error` means that
/// the writer rolls back without a pause, or died while it did. The functions of keys (comparators,
/// hashes) may then be left without their destructors being called.
///
/// Thread-safety: any number of threads read one snapshot; add_type() is for one alone. A forked
/// child cannot read it.
class snapshot {
public:
    /// The newest block of a state that this process has open, with the types that are registered
    /// there. May be called in any thread, while another one writes, except within add_type(),
    /// compact() and close(). Throws busy_error, limit_error, io_error.
    explicit snapshot(const database& of);
    /// The newest block of the state in a folder, whoever writes it, or nobody. Throws what opening
    /// it read-only throws, and busy_error.
    explicit snapshot(const std::string& state, const open_options& options = {});
    snapshot(snapshot&&) noexcept;
    snapshot& operator=(snapshot&&) noexcept;
    ~snapshot();

    /// As database::add_type, but throws usage_error when the state has no such type.
    template <typename T>
    void add_type(const std::string& name) {
        if constexpr (detail::is_declared<T>) {
            type_schema schema = schema_of<T>(name);
            schema.root_bytes = object_index<T>::root_bytes;
            enter(detail::type_number<T>, schema, object_index<T>::make_reader);
        }
    }

    /// Becomes a snapshot of the newest block. Pages that it holds are copied again: those that
    /// changed, or all where the log does not tell or is longer than they are; beyond `most_bytes`
    /// they are given back. Requires that no thread reads, and ends the validity of what was found.
    /// Throws what the constructor throws; what can be read then is right, or throws, too.
    void renew(std::uint64_t most_bytes = UINT64_MAX);
    /// Whether the state has a type of this name, as database::has_type.
    [[nodiscard]] bool has_type(const std::string& name) const noexcept;
    /// The revision of its block.
    [[nodiscard]] revision_number revision() const noexcept;
    [[nodiscard]] const std::string& state() const noexcept;
    /// How long ago it was taken.
    [[nodiscard]] std::chrono::nanoseconds age() const noexcept;
    /// Whether nothing more can be read.
    [[nodiscard]] bool is_too_old() const;
    /// Whether no other block has ended since, nor was its own undone, nor the segment replaced.
    [[nodiscard]] bool is_newest() const;
    [[nodiscard]] snapshot_costs costs() const;
    /// For other parts of the engine.
    [[nodiscard]] const snapshot_segment& memory() const noexcept { return *segment_; }

    /// @name Objects
    /// As the calls of database of the same names. They also throw too_old_error and busy_error.
    /// @{
    template <typename T>
    [[nodiscard]] const T* find(id<T> id) const {
        const object_index<T>& in = of<T>();
        return detail::guarded([&] { return detail::touched(in.find(id)); });
    }
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] const T* find(const V&... values) const {
        return view<T, Tag>().find(values...);
    }
    template <typename T>
    [[nodiscard]] const T& get(id<T> id) const {
        if (const T* found = find(id)) return *found;
        of<T>().throw_not_found(id.value);
    }
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] const T& get(const V&... values) const {
        if (const T* found = find<T, Tag>(values...)) return *found;
        using key = key_called<T, Tag>;
        of<T>().throw_not_found(key_name<key>(),
                                key::template parts_of<T>::text_of_lookup(values...));
    }
    template <typename T>
    [[nodiscard]] bool contains(id<T> id) const {
        return find(id) != nullptr;
    }
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] bool contains(const V&... values) const {
        return find<T, Tag>(values...) != nullptr;
    }
    template <typename T, typename Tag, std::ranges::random_access_range Keys>
    void find_many(const Keys& keys, std::span<const T*> found) const {
        view<T, Tag>().find_many(keys, found);
    }
    template <typename T, typename Tag>
    [[nodiscard]] auto view() const {
        if constexpr (is_hashed(key_called<T, Tag>::kind))
            return snapshot_view(hashed_view<T, key_position<T, Tag>>(of<T>()));
        else
            return snapshot_view(ordered_view<T, key_position<T, Tag>>(of<T>()));
    }
    template <typename T>
    [[nodiscard]] auto objects() const {
        return snapshot_view(id_view<T>(of<T>()));
    }
    template <typename T>
    [[nodiscard]] std::size_t count() const {
        const object_index<T>& in = of<T>();
        return detail::guarded([&] { return std::size_t{in.size()}; });
    }
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] std::size_t count(const V&... values) const {
        return view<T, Tag>().count(values...);
    }
    template <typename T>
    [[nodiscard]] id<T> next_id() const {
        const object_index<T>& in = of<T>();
        return detail::guarded([&] { return in.next_id(); });
    }
    /// @}

private:
    /// A registered type: its index is made when it is first asked for.
    struct type {
        type(const type_windows* its, index_base::maker maker) noexcept
            : windows(its), make(maker) {}

        const type_windows* windows;
        index_base::maker make;
        std::once_flag made;
        std::unique_ptr<index_base> index;
    };

    void enter(std::size_t number, const type_schema& schema, index_base::maker make);
    [[nodiscard]] const index_base& index_of(std::size_t number, std::string (*name)()) const;
    template <typename T>
    [[nodiscard]] const object_index<T>& of() const {
        return static_cast<const object_index<T>&>(
            index_of(detail::type_number<T>, detail::type_name<T>));
    }

    std::unique_ptr<snapshot_segment> segment_;
    std::vector<std::unique_ptr<type>> types_; ///< by the number of the type
};

} // namespace chainbase

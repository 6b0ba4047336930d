#pragma once

#include <chainbase/fwd.hpp>
#include <pool_allocator/pool.hpp>
#include <pool_allocator/window.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::detail {

inline std::atomic<std::size_t> types_numbered{0};
/// Types are numbered per process, so that finding a type's index needs no search.
template <typename T>
inline const std::size_t type_number = types_numbered++;

/// The words that begin every type's root block, whatever its container.
struct root_prefix {
    pool_state pool;
    std::uint32_t next_id;
    // hash_state tables[]
};

} // namespace chainbase::detail

namespace chainbase {

/// The windows of one type, mapped; owned by the segment.
struct type_windows {
    std::string name;
    std::unique_ptr<window> objects;
    std::unique_ptr<window> ids;
    std::vector<std::unique_ptr<window>> tables; ///< of its hashed keys, in declaration order
    std::vector<std::unique_ptr<window>> btrees; ///< of its btree keys, likewise
    bool created = false;                        ///< new in this process, not yet initialised

    /// Calls visit(window&) for each, in their order.
    template <typename Visitor>
    void each(Visitor&& visit) const {
        visit(*objects);
        visit(*ids);
        for (const auto& table : tables)
            visit(*table);
        for (const auto& tree : btrees)
            visit(*tree);
    }
};

/// The common base of the indexes of all types.
class index_base {
public:
    virtual ~index_base() = default;
    index_base(const index_base&) = delete;
    index_base& operator=(const index_base&) = delete;

    [[nodiscard]] const std::string& type_name() const noexcept { return name_; }

    /// Moves objects from the end into free slots and gives the space back. Requires that nothing
    /// can be undone; references to objects become invalid. Throws out_of_space_error.
    virtual void compact() = 0;
    /// Makes an index of one type over windows that are only read.
    using maker = std::unique_ptr<index_base> (*)(const type_windows& type);
    /// One for this type.
    [[nodiscard]] virtual maker maker_of_readers() const noexcept = 0;

    /// Throws not_found_error: no object has this id, or this value of a key.
    [[noreturn]] void throw_not_found(std::uint32_t id) const;
    [[noreturn]] void throw_not_found(const std::string& key, const std::string& value) const;
    /// Throws usage_error: get_or_create made an object with another value of the key than the one
    /// looked up.
    [[noreturn]] void throw_other_key(const std::string& key, const std::string& wanted,
                                      const std::string& given) const;

protected:
    /// `log` is null when only reading.
    index_base(undo_log* log, const type_windows& type);

    /// Requires that the state is open for writing.
    [[nodiscard]] undo_log& log() const noexcept { return *log_; }
    [[nodiscard]] bool is_writable() const noexcept { return log_ != nullptr; }
    void require_writable() const {
        if (!is_writable()) [[unlikely]]
            throw_read_only();
    }
    /// Calls build(with) with all stores exempt from logging.
    static void initialise_unlogged(segment& state, void (*build)(void*), void* with);

    /// @name Errors common to all types
    /// @{
    [[noreturn]] void throw_read_only() const;
    [[noreturn]] void throw_foreign() const;
    [[noreturn]] void throw_no_ids() const;
    [[noreturn]] void throw_id_initialised(std::uint32_t from, std::uint32_t to) const;
    [[noreturn]] void throw_id_taken(std::uint32_t id) const;
    [[noreturn]] void throw_id_modified(std::uint32_t id) const;
    [[noreturn]] void throw_taken(const std::string& key, const std::string& value,
                                  std::uint32_t by) const;
    [[noreturn]] void throw_taken() const;
    /// Throws damaged_error: a table, a ring of equal keys or the id table leads to a slot without
    /// an object; `what` says which.
    [[noreturn]] void throw_bad_link(const char* what, slot_number slot) const;
    /// Throws damaged_error: the links of an ordered key lead deeper than any tree is high.
    [[noreturn]] void throw_endless_tree() const;
    /// @}

private:
    std::string name_;
    undo_log* log_; ///< null when only reading
};

} // namespace chainbase

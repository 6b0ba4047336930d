#pragma once

#include <chainbase/rows/probe.hpp>
#include <chainbase/rows/type_rows.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace chainbase::rows {

/// Goes through objects of a type in slices, between which everything may change: each object that
/// is there all the time, and whose key does not change, is visited once. One thread at a time.
class row_cursor {
public:
    /// Returns whether the slice goes on.
    using visitor = std::function<bool(slot_number)>;

    virtual ~row_cursor() = default;

    /// Visits what comes next, until there is nothing more or `visit` ends the slice. Returns
    /// whether there may be more. Throws damaged_error, and what `visit` throws; then it is of no
    /// more use.
    virtual bool advance(const type_rows& of, const visitor& visit) = 0;
};

/// By id.
class id_cursor final : public row_cursor {
public:
    /// From id `from` to id `to`, both included, or the other way.
    explicit id_cursor(std::uint32_t from = 0, std::uint32_t to = UINT32_MAX,
                       bool is_reverse = false) noexcept
        : from_(from), to_(to), is_reverse_(is_reverse) {}

    bool advance(const type_rows& of, const visitor& visit) override;

private:
    /// Not yet visited.
    std::uint64_t from_;
    std::uint64_t to_;
    bool is_reverse_;
};

/// In the order of an ordered or ranked key.
class key_cursor final : public row_cursor {
public:
    /// What is visited: nothing before `from`, nothing after `to` and what begins with it.
    struct bounds {
        std::optional<probe> from;
        std::optional<probe> to;
        bool is_reverse = false;
    };

    /// `key` outlives it. Requires that it is a key of a type that is not hashed, whose order is
    /// known (class probe).
    key_cursor(const type_schema::key& key, bounds within);

    bool advance(const type_rows& of, const visitor& visit) override;

private:
    [[nodiscard]] slot_number start(const tree_reader& tree) const;
    [[nodiscard]] slot_number resume(const type_rows& of, const tree_reader& tree) const;
    [[nodiscard]] slot_number after(const tree_reader& tree, slot_number slot) const;
    [[nodiscard]] bool is_within(const std::byte* object) const;
    void remember(const type_rows& of, const std::vector<slot_number>& visited);

    const type_schema::key& key_;
    bounds within_;
    /// Where the last slice ended: a key, and the objects that have it and were visited, the last
    /// of them last.
    std::optional<probe> last_;
    std::vector<std::uint32_t> visited_;
};

} // namespace chainbase::rows

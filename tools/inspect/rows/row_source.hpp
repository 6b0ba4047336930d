#pragma once

#include <chainbase/rows/type_rows.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/state/named_state.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// A state whose objects are looked at: closed, or beside its writer, in turns with it; or as its
/// writer left it when it died, rolled back to the last completed block in a copy of this process
/// (no writer can open the state meanwhile). No file changes but `readers`, in which turns are
/// taken. Several threads may take turns, each its own.
class row_source {
public:
    /// How long a turn may take that reads many objects: what a writer waits at most.
    static constexpr std::chrono::milliseconds slice{2};

    /// Of the state, or the checkpoint, of that name (class named_state). Throws what that and
    /// opening a segment read-only throw; unclean_error when there is nothing to be
    /// seen before the next opening restores a checkpoint.
    explicit row_source(std::filesystem::path state);
    ~row_source();
    row_source(const row_source&) = delete;
    row_source& operator=(const row_source&) = delete;

    /// Takes a turn: calls `look`, in which nothing changes. What it looked at may be gone after
    /// it. After another turn, beside a writer that is at work, it rests first: twenty times as
    /// long as that took, times the number of readers. Throws what the read lock throws.
    void take_turn(const std::function<void()>& look);

    /// Takes a turn to see it.
    [[nodiscard]] std::int64_t current_revision();

    /// @name In a turn
    /// @{
    /// The types, in the order in which they were registered. Schemas stay where they are for good.
    [[nodiscard]] std::vector<const type_schema*> types();
    /// Whether there is a type of this name.
    [[nodiscard]] bool has(const std::string& type) const;
    /// The objects of a type. Throws usage_error, which lists the types, when there is none of that
    /// name; damaged_error.
    [[nodiscard]] rows::type_rows of(const std::string& type);
    [[nodiscard]] std::int64_t revision() const;
    /// A number that goes up where a change begins and where it ends, odd in between: what was
    /// looked at in two turns is of one moment if it is the same in both.
    [[nodiscard]] std::uint64_t changes() const;
    /// @}

    /// As it was named.
    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }
    /// The folder of the state that it is, or that it is a checkpoint of.
    [[nodiscard]] const std::filesystem::path& origin() const noexcept { return named_.origin(); }
    /// Whether its writer died, and what was unfinished is rolled back in the copy.
    [[nodiscard]] bool is_rolled_back() const noexcept;

private:
    class mapped;
    class shared;
    class left_behind;

    [[nodiscard]] const type_schema* kept(const type_schema& schema);

    std::filesystem::path state_;
    named_state named_;
    std::unique_ptr<mapped> mapped_;
    std::mutex schemas_mutex_;
    std::deque<type_schema> schemas_;
};

} // namespace chainbase::inspect

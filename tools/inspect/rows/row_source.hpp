#pragma once

#include <chainbase/offline/rows/type_rows.hpp>
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

/// Reads the objects of a state: closed, or beside its writer, in turns with it; or after its
/// writer died, rolled back to the last completed block in a private copy (no writer can open the
/// state meanwhile). Changes no file except `readers`, which registers turns. Several threads may
/// take turns, each its own.
class row_source {
public:
    /// Longest turn that reads many objects: the longest wait of a writer.
    static constexpr std::chrono::milliseconds slice{2};

    /// Opens the state or the checkpoint of that name (class named_state). Throws what that and
    /// opening a segment read-only throw; unclean_error when nothing can be read before the next
    /// opening restores a checkpoint.
    explicit row_source(std::filesystem::path state);
    ~row_source();
    row_source(const row_source&) = delete;
    row_source& operator=(const row_source&) = delete;

    /// Takes a turn: calls `look`, during which nothing changes. What it read may change
    /// afterwards. Beside a working writer, first pauses twenty times as long as the previous turn
    /// took, times the number of readers. Throws what the read lock throws.
    void take_turn(const std::function<void()>& look);

    /// Takes a turn to read it.
    [[nodiscard]] std::int64_t current_revision();

    /// @name In a turn
    /// @{
    /// The types in the order of registration. Schemas keep their addresses.
    [[nodiscard]] std::vector<const type_schema*> types();
    /// Whether there is a type of this name.
    [[nodiscard]] bool has(const std::string& type) const;
    /// The objects of a type. Throws usage_error listing the types when there is none of that name;
    /// damaged_error.
    [[nodiscard]] rows::type_rows of(const std::string& type);
    [[nodiscard]] std::int64_t revision() const;
    /// A counter that rises where a change begins and where it ends, odd in between: what two turns
    /// read belongs to one moment if it is the same in both.
    [[nodiscard]] std::uint64_t changes() const;
    /// @}

    /// All objects, or also the files of their keys, are going to be read: brings them into memory
    /// meanwhile, if they are on a disk and memory has room (disk_pages.hpp).
    void read_all(bool and_keys) const;

    /// The name passed to the constructor.
    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }
    /// The folder of the state, or of the checkpoint's state.
    [[nodiscard]] const std::filesystem::path& origin() const noexcept { return named_.origin(); }
    /// Whether its writer died, and the copy is rolled back.
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

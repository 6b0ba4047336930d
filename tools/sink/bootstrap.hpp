#pragma once

#include <chainbase/feed/feed_files.hpp>
#include <chainbase/feed/follower.hpp>
#include <tools/sink/databases.hpp>
#include <tools/sink/known_tables.hpp>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace chainbase::sink {

/// A state as a sink sees it before it reads objects.
struct state_description {
    std::string identity; ///< 32 hexadecimal digits
    std::deque<type_schema> types;

    /// Reads it, whoever writes the state, or nobody. Throws what opening it for reading throws.
    [[nodiscard]] static state_description of(const std::filesystem::path& state);
};

/// The newest block of a state that no process writes: what a sink knows it by where there is no
/// feed. Throws what a snapshot throws.
struct block_of_state {
    revision_number revision = 0;
    std::uint32_t serial = 0; ///< 0: its log does not say

    [[nodiscard]] static block_of_state of(const std::filesystem::path& state);
    bool operator==(const block_of_state&) const = default;
};

/// Copies all objects of a state into the tables of databases, which are emptied.
///
///     p0   a cursor of the feed begins at the block of a snapshot
///     s    rows are copied as of a later block, of which the feed has told; if that is too old
///          before all are read, the rest as of another one
///     end  where the feed has told of the last of these
///
/// What the feed tells from p0 to end, applied to these rows, makes them those of one block.
class bootstrap {
public:
    /// All outlive it. `is_over`: then it ends with interrupted_error.
    bootstrap(const std::filesystem::path& state, known_tables& tables, databases& to,
              std::function<bool()> is_over)
        : state_(state), tables_(tables), to_(to), is_over_(std::move(is_over)) {}

    /// With a feed: `from` is moved to p0, the tables take the types of then; returns `end`. Throws
    /// busy_error when no node writes the feed.
    feed::feed_position run(feed::follower& from, const std::string& name,
                            const std::string& identity);
    /// Of a state that nobody writes, or writes a feed of: as it is. Throws busy_error when it
    /// changed meanwhile.
    void run(const std::string& identity);

private:
    class rows_of_state;

    void begin(const cursor& at);
    void load(rows_of_state& rows);
    void load_type(rows_of_state& rows, const table& of);
    void require_going_on() const;

    std::filesystem::path state_;
    known_tables& tables_;
    databases& to_;
    std::function<bool()> is_over_;
    std::uint64_t epoch_ = 0;
};

} // namespace chainbase::sink

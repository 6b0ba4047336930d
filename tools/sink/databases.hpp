#pragma once

#include <pool_allocator/trace/trace.hpp>
#include <tools/sink/database.hpp>
#include <tools/sink/known_tables.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::sink {

/// Where rows go, and how.
struct sink_options {
    std::string state;
    std::string to;                      ///< a database; with shards their coordinator
    std::vector<std::string> shards;     ///< empty: rows go to `to`
    ddl_options tables;                  ///< `in` follows from `to`
    std::vector<std::string> distribute; ///< as known_tables takes them
    std::string name;                    ///< of the feed's cursor; empty: made of the databases
    std::uint32_t answer_seconds = 30;   ///< link_options::answers_within

    /// The databases that have rows.
    [[nodiscard]] std::vector<std::string> targets() const {
        return shards.empty() ? std::vector{to} : shards;
    }
};

/// The databases of a sink, on each of which work is done in a thread of its own, again where it
/// can succeed then.
///
/// One thread calls it.
class databases {
public:
    /// The tables outlive it. `is_over`: asked while waiting, from several threads; then
    /// interrupted_error. Throws usage_error.
    databases(const sink_options& asked, const known_tables& tables, std::function<bool()> is_over,
              bool reads_only = false);
    ~databases();
    databases(const databases&) = delete;
    databases& operator=(const databases&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }
    [[nodiscard]] database_link& link(std::size_t number) noexcept { return *all_[number].link; }
    [[nodiscard]] const ddl& made() const noexcept { return made_; }
    /// Of each, as of the last call that asked or moved it.
    [[nodiscard]] const std::optional<cursor>& at(std::size_t number) const noexcept {
        return all_[number].at;
    }

    /// Asks each where it is. Throws usage_error when one is of another state, or another one of
    /// the shards, than it was.
    void look(const std::string& state);
    /// Makes the sink's own tables where they are missing.
    void make();
    /// Makes tables, and with `indexed` their indexes; notes the catalogue.
    void make(const std::vector<const table*>& tables, bool indexed);

    /// Does `work(number)` for each, all at once, and waits; each again after a retry_error, if
    /// it may be. Throws the first exception.
    void each(const std::function<void(std::size_t)>& work);

    /// Empties the tables of each: database i is at `to[i]` then. Throws fenced_error when another
    /// sink moved it since look().
    void begin_bootstrap(const std::vector<cursor>& to, const std::vector<const table*>& tables);
    /// Begins to copy `rows[i]` into database i. Requires that nothing is being done. Is not done
    /// again after a retry_error, which wait() throws.
    void begin_load(std::vector<load_batch> rows);
    /// Begins to apply `changes[i]` to database i, and moves its cursor to `to`; those that are
    /// there already are left alone. Requires that nothing is being applied.
    void begin(std::vector<batch> changes, const std::vector<cursor>& to);
    /// Whether nothing is being copied or applied.
    [[nodiscard]] bool is_idle() const;
    /// Waits until it was. Throws what it met.
    void wait();
    /// As wait(), of what is of no use any more: throws fenced_error only.
    void give_up();

private:
    /// Of one database, by its name.
    struct figures {
        explicit figures(const std::string& name);

        trace::gauge revision; ///< of its cursor
        trace::gauge rows;     ///< applied since the start
        trace::gauge retries;
    };
    struct one {
        explicit one(std::unique_ptr<database_link> to);

        std::unique_ptr<database_link> link;
        figures shown;
        std::optional<cursor> at;
        std::future<void> work;
        std::uint64_t rows = 0;
        std::uint64_t retries = 0;
    };

    void patiently(one& of, const std::function<void()>& work) const;
    void apply(one& to, const batch& changes, const cursor& next) const;

    const known_tables& tables_;
    ddl made_;
    std::function<bool()> is_over_;
    std::vector<one> all_;
};

} // namespace chainbase::sink

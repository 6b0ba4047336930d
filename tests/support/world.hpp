#pragma once

#include <tests/support/modelled_type.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::test {

/// How a random walk goes.
struct walk_options {
    habits changes{};
    std::uint64_t deep_every = 300;       ///< operations between full comparisons
    std::uint64_t undos_per_check = 1;    ///< undos between full comparisons
    std::uint32_t refusals_watched = 100; ///< changes per thousand; a refused one leaves no trace
    std::uint32_t max_depth = 6;          ///< nested sessions
    /// Keep snapshots and models of every session and compare after every undo. Without it the
    /// models are read from the database again after an undo, and a state with sessions can be
    /// taken over.
    bool verify = true;
    open_options how = quick_options();
};

/// A database of all sample types and its model, changed together. What undo leaves is compared
/// with a snapshot taken at the session's start, and everything with the model. Throws mismatch.
class world {
public:
    explicit world(std::filesystem::path state, const walk_options& options = {});
    ~world();

    [[nodiscard]] database& db() noexcept { return *db_; }
    [[nodiscard]] const database& db() const noexcept { return *db_; }
    [[nodiscard]] std::size_t depth() const noexcept { return sessions_.size(); }
    [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; }
    [[nodiscard]] std::uint64_t undone() const noexcept { return undone_; }
    /// The most objects that each type had at a time: of the type with the fewest.
    [[nodiscard]] std::size_t peak() const;

    /// Creates objects until each type has the number wanted.
    void fill(random_source& random);
    /// One random step: an operation, mostly, or something about sessions.
    void step(random_source& random);
    /// One random operation on a random type. What fails must leave no trace.
    void change(random_source& random);
    /// As change, without the look at what failed operations leave.
    change_result change_plainly(random_source& random);

    /// @name Sessions, in database and model
    /// @{
    void start();
    void undo();
    void squash();
    void push();
    void undo_all();
    void commit(std::size_t oldest);
    /// @}

    /// Closes and opens the state; sessions that were not pushed are undone by it.
    void reopen();
    void compact();
    void check(random_source& random) const;
    void check_changes(random_source& random) const;
    [[nodiscard]] snapshot take_snapshot() const { return snapshot(db_->memory()); }

private:
    void tell(std::string what) const {
        if (options_.changes.tell) options_.changes.tell(std::move(what));
    }
    struct open_session {
        std::optional<session> guard; ///< empty when pushed
        std::optional<snapshot> begin;
    };
    void open();
    void read_models();
    void steer_sessions(random_source& random);
    void compare_with(const std::optional<snapshot>& begin) const;

    std::filesystem::path state_;
    walk_options options_;
    std::unique_ptr<database> db_;
    std::vector<std::unique_ptr<modelled_type>> types_;
    std::vector<open_session> sessions_;
    std::uint64_t steps_ = 0;
    std::uint64_t refusals_ = 0;
    std::uint64_t undone_ = 0;
};

/// Of the logical content of a database of the sample types, read object by object, and of its
/// revision.
[[nodiscard]] std::uint64_t digest_of(const database& db);
/// Compares every key of a database of the sample types with its objects. Throws mismatch.
void check_keys_of(const database& db);

} // namespace chainbase::test

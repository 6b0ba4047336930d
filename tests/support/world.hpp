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

/// Parameters of a random walk.
struct walk_options {
    change_options changes{};
    std::uint64_t deep_every = 300;    ///< operations between full comparisons
    std::uint64_t undos_per_check = 1; ///< undos between full comparisons
    /// refused changes per thousand that are checked to leave no trace
    std::uint32_t refusals_watched = 100;
    std::uint32_t max_depth = 6; ///< nested sessions
    /// Keep snapshots and models of every session and compare after every undo. Otherwise the
    /// models are read again from the database after an undo, and a state with sessions can be
    /// continued.
    bool verify = true;
    open_options how = quick_options();
};

/// A database of all sample types and its model, changed together. Compares the result of undo with
/// a snapshot from the session's start, and everything with the model. Throws mismatch.
class world {
public:
    explicit world(std::filesystem::path state, const walk_options& options = {});
    ~world();

    [[nodiscard]] database& db() noexcept { return *db_; }
    [[nodiscard]] const database& db() const noexcept { return *db_; }
    [[nodiscard]] std::size_t depth() const noexcept { return sessions_.size(); }
    [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; }
    [[nodiscard]] std::uint64_t undone() const noexcept { return undone_; }
    /// The highest number of objects of each type so far; the lowest of these.
    [[nodiscard]] std::size_t peak() const;

    /// Creates objects until each type has the number wanted.
    void fill(random_source& random);
    /// One random step: mostly an operation, otherwise a session call.
    void step(random_source& random);
    /// One random operation on a random type. A failed one must leave no trace.
    void change(random_source& random);
    /// As change, without checking what failed operations leave.
    change_result change_unchecked(random_source& random);

    /// @name Sessions, in database and model
    /// @{
    void start();
    void undo();
    void squash();
    void push();
    void undo_all();
    void commit(std::size_t oldest);
    /// @}

    /// Closes and reopens the state, which undoes unpushed sessions.
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

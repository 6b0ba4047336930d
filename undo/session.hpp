#pragma once

#include <undo/undo_log.hpp>

#include <utility>

namespace chainbase {

/// The guard of a session: undoes it when destroyed, unless it was pushed, squashed or undone.
///
/// Sessions nest and end in reverse order. Cheap to move; must not outlive its database. Used by
/// the writer thread only.
///
/// A guard acts on the session it started and on no other: one whose session has ended by another
/// way (database::undo, commit, the guard of a session below, closing or abandoning the state) does
/// nothing, also when a new session has got the same revision since. In a process that was forked
/// its calls throw usage_error, and the session stays the parent's.
class session {
public:
    /// Starts a session. Throws usage_error within an operation, out_of_space_error, limit_error.
    explicit session(undo_log& log) : log_(&log), id_(log.start_session()) {}
    session(session&& other) noexcept : log_(std::exchange(other.log_, nullptr)), id_(other.id_) {}
    /// Undoes what it held, then takes over. Throws usage_error within an operation.
    session& operator=(session&& other) {
        if (this != &other) {
            undo();
            log_ = std::exchange(other.log_, nullptr);
            id_ = other.id_;
        }
        return *this;
    }
    /// Undoes. Destroyed within an operation, which nothing can be undone in, it leaves its session
    /// open: undoing the one below or closing the state takes it back.
    ///
    /// In another process than the one that started it, it does nothing.
    ~session() {
        if (log_ && log_->is_here() && !undo_log::in_operation()) undo();
    }

    /// Keeps the changes as an undoable revision of their own (a block): it survives a kill, once
    /// the sessions below were pushed too. Throws usage_error within an operation.
    void push() {
        if (undo_log* log = release()) log->push_session(id_);
    }
    /// Merges the changes, and those of sessions above that are still there, into the session
    /// below; without one they are permanent. Throws usage_error within an operation.
    void squash() {
        if (undo_log* log = release())
            while (log->has_session(id_))
                log->squash();
    }
    /// Takes all changes back, and those of sessions above that are still there. Throws usage_error
    /// within an operation.
    void undo() {
        if (undo_log* log = release())
            while (log->has_session(id_))
                log->undo();
    }

    [[nodiscard]] revision_number revision() const noexcept { return id_.revision; }
    /// Whether the guard still holds the session.
    [[nodiscard]] bool active() const noexcept { return log_ != nullptr; }

private:
    undo_log* release() {
        undo_log::require_no_operation();
        if (log_) log_->require_here();
        return std::exchange(log_, nullptr);
    }

    undo_log* log_;
    session_id id_;
};

} // namespace chainbase

#pragma once

#include <undo/undo_log.hpp>

#include <utility>

namespace chainbase {

/// The guard of a session: undoes it when destroyed, unless it was pushed, squashed or undone.
///
/// Sessions nest and end in reverse order. Cheap to move; must not outlive its database. Used by
/// the writer thread only.
///
/// A guard acts on the session it started and on no other: one whose session was ended otherwise
/// (database::undo, commit, the guard of a session below, closing or abandoning the state) does
/// nothing, even if a new session has the same revision. In a forked process its calls throw
/// usage_error, and the session stays the parent's.
class session {
public:
    /// Starts a session. Throws usage_error within an operation, out_of_space_error, limit_error.
    explicit session(undo_log& log) : log_(&log), id_(log.start_session()) {}
    /// A guard without a session: it does nothing. revision() returns `revision`.
    [[nodiscard]] static session disabled(revision_number revision) noexcept {
        return session(revision);
    }
    session(session&& other) noexcept : log_(std::exchange(other.log_, nullptr)), id_(other.id_) {}
    /// Undoes its own session, then takes over. Throws usage_error within an operation, and when
    /// the other session lies above its own, which would undo both; then nothing changed.
    session& operator=(session&& other) {
        if (this != &other) {
            if (active() && log_ == other.log_ && other.id_.revision > id_.revision)
                undo_log::throw_assigned_to_outer();
            undo();
            log_ = std::exchange(other.log_, nullptr);
            id_ = other.id_;
        }
        return *this;
    }
    /// Undoes its session. Nothing can be undone within an operation: destroyed in one, it leaves
    /// the session open until the one below is undone or the state is closed.
    ///
    /// Does nothing in another process than the one that started the session.
    ~session() {
        if (log_ && log_->is_here() && !undo_log::in_operation()) undo();
    }

    /// Completes the session: its changes become an undoable revision (a block), which survives a
    /// kill once the sessions below are pushed too. Throws usage_error within an operation.
    void push() {
        if (undo_log* log = release()) log->push_session(id_);
    }
    /// Merges the changes, and those of remaining sessions above, into the session below; without
    /// one they become permanent. Throws usage_error within an operation.
    void squash() {
        if (undo_log* log = release())
            while (log->has_session(id_))
                log->squash();
    }
    /// Undoes all changes, and those of remaining sessions above. Throws usage_error within an
    /// operation.
    void undo() {
        if (undo_log* log = release())
            while (log->has_session(id_))
                log->undo();
    }

    [[nodiscard]] revision_number revision() const noexcept { return id_.revision; }
    /// Whether the guard holds a session that can still be undone.
    [[nodiscard]] bool active() const noexcept { return log_ && log_->has_session(id_); }

private:
    explicit session(revision_number revision) noexcept : log_(nullptr), id_{revision, 0} {}

    undo_log* release() {
        undo_log::require_no_operation();
        if (log_) log_->require_here();
        return std::exchange(log_, nullptr);
    }

    undo_log* log_;
    session_id id_;
};

} // namespace chainbase

#pragma once

#include <undo/undo_log.hpp>

#include <utility>

namespace chainbase {

/// The guard of a session: undoes it when destroyed, unless it was pushed, squashed or undone.
///
/// Sessions nest and end in reverse order. Cheap to move; must not outlive its database. Used by
/// the writer thread only.
class session {
public:
    /// Starts a session. Throws out_of_space_error, limit_error.
    explicit session(undo_log& log) : log_(&log), revision_(log.start_session()) {}
    session(session&& other) noexcept
        : log_(std::exchange(other.log_, nullptr)), revision_(other.revision_) {}
    session& operator=(session&& other) noexcept {
        if (this != &other) {
            undo();
            log_ = std::exchange(other.log_, nullptr);
            revision_ = other.revision_;
        }
        return *this;
    }
    ~session() { undo(); }

    /// Keeps the changes as an undoable revision of their own (a block): it survives a kill, once
    /// the sessions below were pushed too.
    void push() noexcept {
        if (take()) released_->push_session(revision_);
    }
    /// Merges the changes, and those of sessions above that are still there, into the session
    /// below; without one they are permanent.
    void squash() noexcept {
        if (!take()) return;
        while (released_->has_session() && released_->revision() >= revision_)
            released_->squash();
    }
    /// Takes all changes back, and those of sessions above that are still there.
    void undo() noexcept {
        if (!take()) return;
        while (released_->has_session() && released_->revision() >= revision_)
            released_->undo();
    }

    [[nodiscard]] revision_number revision() const noexcept { return revision_; }
    /// Whether the guard still holds the session.
    [[nodiscard]] bool active() const noexcept { return log_ != nullptr; }

private:
    bool take() noexcept {
        released_ = std::exchange(log_, nullptr);
        return released_ != nullptr;
    }

    undo_log* log_;
    undo_log* released_ = nullptr;
    revision_number revision_;
};

} // namespace chainbase

#pragma once

#include <chainbase/database.hpp>

#include <tests/support/failures.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/snapshot.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

namespace chainbase::test {

/// How often an acquisition failed, by its kind.
using failures = std::map<fault::point, std::uint64_t>;

/// Calls `attempt` with the n-th acquisition failing, n = 0, 1, 2, ..., until it succeeds, and
/// `unchanged` after each failure.
template <typename Attempt, typename Unchanged>
void until_success(failures& seen, Attempt attempt, Unchanged unchanged) {
    for (std::uint64_t n = 0;; ++n) {
        try {
            const fail_nth failure(n);
            attempt();
            return;
        } catch (const injected_failure&) {
        }
        ++seen[fail_nth::where()];
        unchanged();
    }
}

/// Calls a function that must not acquire anything: since it may not throw, a failure would end the
/// process.
template <typename Call>
void without_acquiring(Call&& call) {
    const fail_nth first(0);
    call();
    expect(!fail_nth::failed(), "something was acquired");
}

/// The guard of a session whose end acquires nothing.
class watched_session {
public:
    explicit watched_session(session&& guard) noexcept : guard_(std::move(guard)) {}
    watched_session(watched_session&&) = default;
    ~watched_session() { undo(); }

    void push() {
        without_acquiring([&] { guard_.push(); });
    }
    void squash() {
        without_acquiring([&] { guard_.squash(); });
    }
    void undo() {
        without_acquiring([&] { guard_.undo(); });
    }

private:
    session guard_;
};

/// A database that tries every change with the first, the second, ... acquisition failing, and
/// requires an unchanged state each time; undo and commit must acquire nothing. Throws mismatch.
class failing_database : public database {
public:
    using database::database;

    template <typename T, typename Initialise>
    const T& create(Initialise&& initialise) {
        const T* made = nullptr;
        attempt([&] { made = &database::create<T>(initialise); });
        return *made;
    }
    template <typename T, typename Change>
    void modify(const T& object, Change&& change) {
        attempt([&] { database::modify(object, change); });
    }
    template <typename T>
    void remove(const T& object) {
        attempt([&] { database::remove(object); });
    }
    template <typename T>
    void clear() {
        attempt([&] { database::clear<T>(); });
    }
    [[nodiscard]] watched_session start_session() {
        std::optional<session> guard;
        attempt([&] { guard.emplace(database::start_session()); });
        return watched_session(std::move(*guard));
    }
    void undo() {
        without_acquiring([&] { database::undo(); });
    }
    void commit(revision_number revision) {
        without_acquiring([&] { database::commit(revision); });
    }

    [[nodiscard]] static failures& seen() {
        static failures all;
        return all;
    }

private:
    template <typename Call>
    void attempt(Call call) {
        const snapshot before(memory());
        const revision_number revision = this->revision();
        until_success(seen(), call, [&] {
            const snapshot now(memory());
            expect(now == before, "changed: " + now.difference(before));
            expect(this->revision() == revision, "changed: the revision");
        });
    }
};

} // namespace chainbase::test

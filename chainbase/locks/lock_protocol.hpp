#pragma once

#include <cstdint>

/// The steps of the lock between processes, separate from the memory that they act on, so that a
/// test can try every interleaving (tests/chainbase/lock_protocol.cpp).
///
/// `phase` is 1 while a writer holds or awaits the lock. Every acquisition of a reader has a slot
/// with a word of its own:
///
///     idle ----> reading ----------------------> idle      nobody writes
///                   |  \------> granted -------> idle      the writer leaves at this moment
///                   '-> waiting --> granted ---> idle      it waited until the writer left
///
/// A reader announces itself and then reads the phase; the writer sets the phase and then reads the
/// words. All of it is sequentially consistent, so one of them sees the other:
///  1. A writer is inside only while no word is granted, or reading with a phase seen as 0.
///  2. A reader that begins to wait wakes the writer, which may wait for its word to change.
///  3. A leaving writer hands over: it grants every reader that waits, or is about to, so that the
///     reader need not read the phase again. So a reader waits for one writer at most, and the
///     next writer for the readers that arrived before it.
///  4. Sleepers on either side sleep on the reader's word, and only while it has the value that
///     they saw; whoever changes the word wakes them afterwards. Sleeps are limited, since a
///     process may die before it wakes others; see await_reader and await_writer.
namespace chainbase::detail {

enum class turn : std::uint32_t {
    idle,
    reading, ///< inside if the phase was 0 after the announcement
    granted, ///< in
    waiting, ///< waiting for the phase to end
};

/// Enters as a reader. Returns false if it gave up because `at` reports that no writer is alive to
/// end the phase.
///
/// `at` gives word(), set_word(turn), exchange_word(turn& expected, turn), phase(), wake() (the
/// sleepers on the word), and await_writer(), which sleeps while the word is `waiting`, for a short
/// time at most, and returns whether to go on waiting.
template <typename Slot>
[[nodiscard]] bool enter_reading(Slot& at) {
    at.set_word(turn::reading);
    while (at.phase() != 0) {
        turn seen = turn::reading;
        if (!at.exchange_word(seen, turn::waiting)) return true; // granted
        at.wake();
        while (at.phase() != 0 && at.word() == turn::waiting) {
            if (at.await_writer()) continue;
            seen = turn::waiting;
            return !at.exchange_word(seen, turn::idle); // or granted at the last moment
        }
        seen = turn::waiting; // the writer is leaving, or died after leaving
        if (!at.exchange_word(seen, turn::reading)) return true;
    }
    return true;
}

template <typename Slot>
void leave_reading(Slot& at) {
    at.set_word(turn::idle);
    if (at.phase() != 0) at.wake();
}

/// Enters as the writer; also takes over from a writer that died inside. Requires that no other
/// process can be writing.
///
/// `all` gives phase's set_phase(std::uint32_t), slots(), word(n), exchange_word(n, turn& expected,
/// turn), wake(n), and await_reader(n, turn seen): which sleeps while the word is `seen`, for a
/// short time at most, and makes the word of a dead reader idle.
template <typename Slots>
void enter_writing(Slots& all) {
    all.set_phase(1);
    for (std::uint32_t n = 0; n < all.slots(); ++n)
        for (turn seen = all.word(n); seen == turn::reading || seen == turn::granted;
             seen = all.word(n))
            all.await_reader(n, seen);
}

template <typename Slots>
void leave_writing(Slots& all) {
    all.set_phase(0);
    for (std::uint32_t n = 0; n < all.slots(); ++n)
        for (turn seen = all.word(n); seen == turn::reading || seen == turn::waiting;) {
            if (!all.exchange_word(n, seen, turn::granted)) continue;
            if (seen == turn::waiting) all.wake(n);
            break;
        }
}

} // namespace chainbase::detail

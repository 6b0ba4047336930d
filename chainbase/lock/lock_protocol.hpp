#pragma once

#include <cstdint>

/// The steps by which processes take turns, apart from the memory they are made in, so that a test
/// can try every order of them (tests/chainbase/lock_protocol.cpp).
///
/// `phase` is 1 while a writer is in or wants to be. Every acquisition of a reader has a slot with
/// a word of its own:
///
///     idle ----> reading ----------------------> idle      nobody writes
///                   |  \------> granted -------> idle      the writer left at this moment
///                   '-> waiting --> granted ---> idle      it stood aside until the writer left
///
/// A reader says that it is there and then looks at the phase; the writer sets the phase and then
/// looks who is there. All of that is sequentially consistent, so one of them sees the other:
///  1. A writer is in only while no word is granted, or reading with a phase seen as 0.
///  2. A reader that stands aside wakes the writer, which may wait for its word to change.
///  3. Who leaves hands over: a writer makes every reader that waits, or is about to, a granted
///  one,
///     which need not look at the phase again. So a reader waits for one writer at most, and the
///     next writer for the readers that were there before it.
///  4. Sleeping is on the reader's word in either direction, and only while it has the value that
///     was seen: what changes it wakes after that. A process that dies before it wakes others is
///     why nobody sleeps for ever; see await_reader and await_writer.
namespace chainbase::detail {

enum class turn : std::uint32_t {
    idle,
    reading, ///< in if the phase was 0 after that was said
    granted, ///< in
    waiting, ///< for the phase to end
};

/// Takes a turn as a reader. Returns false if it gave up, since `at` says that no writer is there
/// who could end the phase.
///
/// `at` gives word(), set_word(turn), exchange_word(turn& expected, turn), phase(), wake() (who
/// sleeps on the word), and await_writer(): sleeps while the word is `waiting`, for a moment at
/// most, and returns whether to go on waiting.
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
            return !at.exchange_word(seen, turn::idle); // or granted in the last moment
        }
        seen = turn::waiting; // the writer is leaving, or died after it left
        if (!at.exchange_word(seen, turn::reading)) return true;
    }
    return true;
}

template <typename Slot>
void leave_reading(Slot& at) {
    at.set_word(turn::idle);
    if (at.phase() != 0) at.wake();
}

/// Takes the writer's turn; also takes one over from a writer that died in its own. Requires that
/// no other process can be writing.
///
/// `all` gives phase's set_phase(std::uint32_t), slots(), word(n), exchange_word(n, turn& expected,
/// turn), wake(n), and await_reader(n, turn seen): sleeps while the word is `seen`, for a moment at
/// most, and makes the word of a reader that died idle.
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

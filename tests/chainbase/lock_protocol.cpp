// The lock protocol between processes, in every order of its steps: two readers and a writer, each
// of which may die between any two steps and is replaced by another process.

#include <chainbase/locks/lock_protocol.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

using namespace chainbase::detail;

namespace {

constexpr std::uint8_t readers = 2;
constexpr std::uint8_t writer = readers; ///< the actor behind them
constexpr std::uint8_t actors = readers + 1;
constexpr std::uint8_t nothing = 0xFF;

/// One access to shared memory or the kernel.
struct step {
    enum class kind : std::uint8_t {
        claim,    ///< a process begins: the slot, or the writers' lock
        store,    ///< of a word
        exchange, ///< of a word
        load,     ///< of a word
        phase,
        set_phase,
        slots,
        wake,
        sleep,        ///< on a word
        is_held,      ///< a slot
        reclaim_slot, ///< a slot
        is_anyone,    ///< writing, or about to roll back
        enter,        ///< what the lock protects
        leave,
    };
    kind what = kind::claim;
    std::uint8_t slot = 0;
    turn first = turn::idle;
    turn second = turn::idle;

    friend bool operator==(const step&, const step&) = default;
};

/// The answers that an actor got since its round began; they determine its position.
using answers = std::vector<std::uint8_t>;

/// An actor's code, run from the begin of a round to the first step without an answer.
class script {
public:
    struct reached {
        step next;
        std::size_t repeated; ///< length of the last loop iteration in the answers
    };
    explicit script(const answers& past) : past_(past) {}
    std::uint8_t ask(const step& one) {
        if (at_ == past_.size()) throw reached{one, repeated_};
        return past_[at_++];
    }
    /// Marks a loop: the code is about to be where it was so many answers ago.
    void repeat(std::size_t answers) {
        if (at_ == past_.size()) repeated_ = answers;
    }

private:
    const answers& past_;
    std::size_t at_ = 0;
    std::size_t repeated_ = 0;
};

constexpr std::uint8_t done_bit = 0x80;

bool exchange(script& run, std::uint8_t slot, turn& expected, turn to) {
    const std::uint8_t answer = run.ask({step::kind::exchange, slot, expected, to});
    expected = static_cast<turn>(answer & ~done_bit);
    return (answer & done_bit) != 0;
}

struct slot_of_model {
    script& run;
    std::uint8_t n;

    turn word() { return static_cast<turn>(run.ask({step::kind::load, n})); }
    void set_word(turn to) { run.ask({step::kind::store, n, to}); }
    bool exchange_word(turn& expected, turn to) { return exchange(run, n, expected, to); }
    std::uint32_t phase() { return run.ask({step::kind::phase}); }
    void wake() { run.ask({step::kind::wake, n}); }
    bool await_writer() {
        if (run.ask({step::kind::is_anyone}) == 0) return false;
        run.ask({step::kind::sleep, n, turn::waiting});
        run.repeat(4); // phase, word, is_anyone, sleep
        return true;
    }
};

struct slots_of_model {
    script& run;

    void set_phase(std::uint32_t to) { run.ask({step::kind::set_phase, 0, static_cast<turn>(to)}); }
    std::uint32_t slots() { return run.ask({step::kind::slots}); }
    turn word(std::uint32_t n) { return static_cast<turn>(run.ask({step::kind::load, at(n)})); }
    bool exchange_word(std::uint32_t n, turn& expected, turn to) {
        return exchange(run, at(n), expected, to);
    }
    void wake(std::uint32_t n) { run.ask({step::kind::wake, at(n)}); }
    void await_reader(std::uint32_t n, turn seen) {
        if (run.ask({step::kind::is_held, at(n)}) == 0)
            run.ask({step::kind::reclaim_slot, at(n)});
        else
            run.ask({step::kind::sleep, at(n), seen});
        run.repeat(3); // word, is_held, sleep or reclaim_slot
    }
    static std::uint8_t at(std::uint32_t n) { return static_cast<std::uint8_t>(n); }
};

/// A phase of an acquisition; answers are recorded from its begin.
enum class stage : std::uint8_t { claims, enters, is_in, ends };

stage play_reader(script& run, std::uint8_t n, stage at) {
    slot_of_model own{run, n};
    if (at == stage::enters) return enter_reading(own) ? stage::is_in : stage::ends;
    run.ask({step::kind::enter, n});
    run.ask({step::kind::leave, n});
    leave_reading(own);
    return stage::ends;
}

stage play_writer(script& run, stage at) {
    slots_of_model all{run};
    if (at == stage::enters) {
        enter_writing(all);
        return stage::is_in;
    }
    run.ask({step::kind::enter, writer});
    run.ask({step::kind::leave, writer});
    leave_writing(all);
    return stage::ends;
}

/// Returns the next stage.
stage play(std::uint8_t actor, stage at, const answers& past) {
    script run(past);
    if (at == stage::claims) {
        run.ask({step::kind::claim, actor});
        return stage::enters;
    }
    return actor == writer ? play_writer(run, at) : play_reader(run, actor, at);
}

/// The extent of the search.
struct extent {
    std::array<std::uint8_t, actors> rounds; ///< of each actor
    std::uint8_t deaths = 0;                 ///< in total
    bool claims = false;                     ///< readers must claim slots first
};

/// The memory shared by all processes, and the bookkeeping of the checks; plain bytes, so that
/// equal states are recognised.
struct memory {
    std::uint8_t phase = 0;
    std::uint8_t slots = 0;
    std::array<turn, readers> words{};
    std::array<bool, actors> is_alive{}; ///< as reported by the kernel
    std::array<std::uint8_t, actors> sleeps_on{nothing, nothing, nothing};
    std::array<bool, actors> was_woken{};
    std::array<bool, actors> is_in{};
    std::array<std::uint8_t, actors> rounds_done{};
    std::array<stage, actors> stages{};
    bool is_torn = false; ///< a writer died in the protected section
    std::uint8_t deaths = 0;
    // For fairness, while no process has died:
    std::array<std::uint8_t, readers> writers_since{}; ///< entered since this reader asked
    std::array<bool, readers> asked_behind{};          ///< behind a waiting writer
    bool is_writer_waiting = false;
};

struct situation {
    memory shared;
    std::array<answers, actors> past;

    [[nodiscard]] std::string key() const {
        std::string text;
        const auto add = [&](const auto& part) {
            text.append(reinterpret_cast<const char*>(&part), sizeof part);
        };
        const memory& m = shared;
        add(m.phase), add(m.slots), add(m.words), add(m.is_alive), add(m.sleeps_on);
        add(m.was_woken), add(m.is_in), add(m.rounds_done), add(m.stages);
        add(m.is_torn), add(m.deaths), add(m.writers_since), add(m.asked_behind);
        add(m.is_writer_waiting);
        for (const answers& one : past) {
            text += static_cast<char>(one.size());
            text.append(one.begin(), one.end());
        }
        return text;
    }
};

/// Tries every order of steps, and every death, from an initial situation.
class explorer {
public:
    explicit explorer(const extent& how) : how_(how) {}

    /// Throws a text with the fault and the steps that led there.
    void run() {
        situation begin;
        if (!how_.claims)
            for (std::uint8_t actor = 0; actor < actors; ++actor) {
                claim(begin.shared, actor);
                begin.shared.stages[actor] = stage::enters;
            }
        visit(begin);
        while (!open_.empty()) {
            const situation now = std::move(open_.back());
            open_.pop_back();
            go_on_from(now);
        }
    }
    [[nodiscard]] std::size_t situations() const { return seen_.size(); }
    [[nodiscard]] std::size_t ends() const { return ends_; }

private:
    void visit(situation next) {
        if (seen_.insert(next.key()).second) open_.push_back(std::move(next));
    }
    [[nodiscard]] bool is_done(const situation& now, std::uint8_t actor) const {
        return now.shared.rounds_done[actor] == how_.rounds[actor];
    }
    static void require(bool holds, const char* what) {
        if (!holds) throw std::string(what);
    }

    void go_on_from(const situation& now) {
        bool is_over = true;
        bool has_moved = false;
        for (std::uint8_t actor = 0; actor < actors; ++actor) {
            if (is_done(now, actor)) continue;
            is_over = false;
            has_moved = advance(now, actor) || has_moved;
            die(now, actor);
        }
        if (is_over) ++ends_;
        if (is_over || has_moved) return;
        require(now.shared.deaths > 0, "all sleep, and nobody died: a wake-up was lost");
        for (std::uint8_t actor = 0; actor < actors; ++actor) // time passes
            if (now.shared.sleeps_on[actor] != nothing) end_sleep(now, actor);
    }

    /// Returns whether the actor could continue by itself.
    bool advance(const situation& now, std::uint8_t actor) {
        const memory& m = now.shared;
        if (m.sleeps_on[actor] != nothing) {
            if (m.was_woken[actor]) {
                end_sleep(now, actor);
                return true;
            }
            end_sleep(now, actor); // spurious wake-up: nothing may rely on the sleep
            return false;
        }
        situation next = now;
        try {
            next.shared.stages[actor] = play(actor, m.stages[actor], now.past[actor]);
        } catch (const script::reached& at) {
            if (at.repeated != 0) forget_loop(next, actor, at);
            perform(next, actor, at.next);
            visit(std::move(next));
            return true;
        }
        next.past[actor].clear();
        if (next.shared.stages[actor] == stage::ends) end_round(next, actor);
        visit(std::move(next));
        return true;
    }

    /// Bounds the number of situations. Only if the earlier answers lead to the same step.
    static void forget_loop(situation& next, std::uint8_t actor, const script::reached& at) {
        const answers& past = next.past[actor];
        const answers before(past.begin(), past.end() - static_cast<std::ptrdiff_t>(at.repeated));
        try {
            play(actor, next.shared.stages[actor], before);
        } catch (const script::reached& then) {
            if (then.next == at.next) next.past[actor] = before;
        }
    }

    void end_round(situation& next, std::uint8_t actor) const {
        next.shared.stages[actor] = stage::enters;
        ++next.shared.rounds_done[actor];
        // the process ends and its locks are released
        if (is_done(next, actor)) next.shared.is_alive[actor] = false;
    }

    void end_sleep(situation next, std::uint8_t actor) {
        next.shared.sleeps_on[actor] = nothing;
        next.shared.was_woken[actor] = false;
        next.past[actor].push_back(0);
        visit(std::move(next));
    }

    /// Another process with the same remaining work replaces it.
    void die(situation next, std::uint8_t actor) {
        memory& m = next.shared;
        if (m.deaths == how_.deaths || !m.is_alive[actor]) return;
        ++m.deaths;
        m.is_alive[actor] = false;
        m.stages[actor] = stage::claims;
        m.sleeps_on[actor] = nothing;
        m.was_woken[actor] = false;
        if (actor == writer && m.is_in[actor]) m.is_torn = true;
        m.is_in[actor] = false;
        next.past[actor].clear();
        visit(std::move(next));
    }

    void perform(situation& next, std::uint8_t actor, const step& one) {
        const std::uint8_t answer = answer_to(next.shared, actor, one);
        if (next.shared.sleeps_on[actor] == nothing) next.past[actor].push_back(answer);
    }

    std::uint8_t answer_to(memory& m, std::uint8_t actor, const step& one) {
        turn& word = m.words[std::min<std::uint8_t>(one.slot, readers - 1)];
        switch (one.what) {
        case step::kind::claim:
            return claim(m, actor);
        case step::kind::store:
            if (one.first == turn::reading) note_asking(m, actor);
            word = one.first;
            return 0;
        case step::kind::exchange: {
            const turn before = word;
            if (before == one.first) word = one.second;
            return static_cast<std::uint8_t>(before) | (before == one.first ? done_bit : 0);
        }
        case step::kind::load:
            return static_cast<std::uint8_t>(word);
        case step::kind::phase:
            return m.phase;
        case step::kind::set_phase:
            m.phase = static_cast<std::uint8_t>(one.first);
            if (m.phase == 1) note_asking(m, actor);
            return 0;
        case step::kind::slots:
            return m.slots;
        case step::kind::wake:
            wake(m, one.slot);
            return 0;
        case step::kind::sleep:
            if (word == one.first) m.sleeps_on[actor] = one.slot;
            return 0;
        case step::kind::is_held:
            return m.is_alive[one.slot];
        case step::kind::reclaim_slot:
            if (!m.is_alive[one.slot]) word = turn::idle;
            return 0;
        case step::kind::is_anyone:
            return m.is_alive[writer];
        case step::kind::enter:
            enter(m, actor);
            return 0;
        case step::kind::leave:
            m.is_in[actor] = false;
            return 0;
        }
        return 0;
    }
    /// As reader_file::claim.
    static std::uint8_t claim(memory& m, std::uint8_t actor) {
        m.is_alive[actor] = true;
        if (actor == writer) return 0;
        m.words[actor] = turn::idle;
        wake(m, actor);
        m.slots = std::max<std::uint8_t>(m.slots, actor + 1);
        return 0;
    }
    static void wake(memory& m, std::uint8_t slot) {
        for (std::uint8_t other = 0; other < actors; ++other)
            if (m.sleeps_on[other] == slot) m.was_woken[other] = true;
    }
    static void note_asking(memory& m, std::uint8_t actor) {
        if (actor == writer) {
            m.is_writer_waiting = true;
            m.asked_behind.fill(false);
            return;
        }
        m.writers_since[actor] = 0;
        m.asked_behind[actor] = m.is_writer_waiting;
    }
    static void enter(memory& m, std::uint8_t actor) {
        m.is_in[actor] = true;
        if (actor == writer) {
            for (std::uint8_t n = 0; n < readers; ++n) {
                require(!m.is_in[n], "a writer came in beside a reader");
                ++m.writers_since[n];
            }
            m.is_torn = false; // rolls back
            m.is_writer_waiting = false;
            return;
        }
        require(!m.is_in[writer], "a reader came in beside a writer");
        require(!m.is_torn, "a reader came in where a writer had died");
        if (m.deaths > 0) return;
        require(m.writers_since[actor] <= 1, "a reader waited for two writers");
        require(!m.asked_behind[actor] || !m.is_writer_waiting, "a reader overtook a writer");
    }

    extent how_;
    std::unordered_set<std::string> seen_;
    std::vector<situation> open_;
    std::size_t ends_ = 0;
};

/// Empty if no fault was found.
std::string explore(const extent& how) {
    explorer all(how);
    try {
        all.run();
    } catch (const std::string& what) {
        return what;
    }
    CHECK(all.ends() > 0);
    CHECK(all.situations() > 10'000); // else something was not tried
    return {};
}

/// A soak searches further.
bool has_time() {
    return chainbase::test::test_operations(0) >= 1'000'000;
}

} // namespace

TEST_CASE(
    "turns are taken in every order of steps: readers and writers never meet, none sleeps on") {
    CHECK(explore({.rounds = {1, 1, 2}}) == "");
    if (has_time()) CHECK(explore({.rounds = {2, 1, 2}}) == "");
}

TEST_CASE("readers that come for the first time are seen") {
    CHECK(explore({.rounds = {1, 1, 1}, .claims = true}) == "");
}

TEST_CASE("any process dies between any two steps, and another one takes its place") {
    CHECK(explore({.rounds = {1, 0, 2}, .deaths = 2}) == "");
    CHECK(explore({.rounds = {1, 1, 1}, .deaths = 1}) == "");
    if (has_time()) CHECK(explore({.rounds = {1, 1, 2}, .deaths = 1}) == "");
}

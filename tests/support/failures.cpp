#include <catch2/catch.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/mismatch.hpp>

#include <utility>

namespace chainbase::test {

// --- failing acquisitions ---

namespace {

std::uint64_t left = 0;
bool has_failed = false;
fault::point failed_at{};

bool acquires(fault::point at) {
    return at == fault::point::slot || at == fault::point::chunk || at == fault::point::growth;
}

void fail(fault::point at) {
    if (!acquires(at) || has_failed || left-- != 0) return;
    has_failed = true;
    failed_at = at;
    throw injected_failure();
}

} // namespace

fail_nth::fail_nth(std::uint64_t n) {
    left = n;
    has_failed = false;
    fault::hook = fail;
}

fail_nth::~fail_nth() {
    fault::hook = nullptr;
}

bool fail_nth::failed() noexcept {
    return has_failed;
}

fault::point fail_nth::where() noexcept {
    return failed_at;
}

// --- kills ---

namespace {

/// Sets up and works; returns whether the process was killed at the n-th arrival.
bool dies(const kill_point& at, std::uint64_t n, const kill_trial& of,
          const std::filesystem::path& state, progress& told) {
    const auto setup = [&] { of.setup(state); };
    if (of.setup && of.in_children)
        run_process(setup);
    else if (of.setup)
        setup();
    return run_process([&] { of.work(state, {[&] { at.arm(n, &told); }, told}); }).killed;
}

} // namespace

std::uint64_t points_of(const kill_point& at, const kill_trial& of) {
    const scratch_folder folder;
    const auto told = shared_progress();
    expect(!dies(at, UINT64_MAX, of, folder / "state", *told), "killed by somebody else");
    return told->reached;
}

std::optional<int> kill_at(const kill_point& at, std::uint64_t n, const kill_trial& of) {
    const scratch_folder folder;
    const auto told = shared_progress();
    const auto state = folder / "state";
    if (!dies(at, n, of, state, *told)) return std::nullopt;
    INFO("killed at point " << n << ", step " << told->step << " of them; " << told->done
                            << " steps done, " << told->begun << " begun");
    const auto check = [&] { of.check(state, *told); };
    if (of.in_children)
        run_process(check);
    else
        check();
    return told->step;
}

std::uint64_t kill_at_each(const kill_point& at, const kill_trial& of, std::uint64_t first,
                           const std::function<std::uint64_t(std::uint64_t)>& next,
                           const std::function<void(int)>& seen) {
    std::uint64_t kills = 0;
    for (std::uint64_t n = first;; n = next(n)) {
        const std::optional<int> step = kill_at(at, n, of);
        if (!step) return kills;
        if (seen) seen(*step);
        ++kills;
    }
}

void kill_all_along(const kill_point& at, const kill_trial& of, std::uint64_t points,
                    std::uint64_t tries, std::uint64_t jitter) {
    for (std::uint64_t i = 0; i < tries; ++i)
        REQUIRE(kill_at(at, points * i / tries + i % jitter, of));
}

// --- chains ---

kill_trial chain_trial(reference_chain& reference, std::uint64_t steps) {
    kill_trial trial;
    trial.work = [&reference, steps](const std::filesystem::path& state,
                                     const killed_process& self) {
        chain_model chain(state, reference.seed(), reference.options());
        self.arm();
        apply_steps(chain, 0, steps, self.told);
    };
    trial.check = [&reference](const std::filesystem::path& state, const progress& told) {
        INFO("seed " << reference.seed());
        check_state_left(state, reference, told);
    };
    return trial;
}

std::uint64_t steps_that_reach(const reference_chain& of, fault::point at, std::uint64_t wanted,
                               std::uint64_t least) {
    const auto told = shared_progress();
    run_process([&] {
        const scratch_folder folder;
        chain_model chain(folder / "state", of.seed(), of.options());
        kill_point(at).arm(UINT64_MAX, told.get());
        for (; told->done < least || told->reached <= wanted; ++told->done) {
            expect(told->done < 50 * least, "the chain hardly comes to what is to be tested");
            chain.apply(told->done);
        }
    });
    return told->done;
}

} // namespace chainbase::test

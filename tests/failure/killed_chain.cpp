#include <sys/mman.h>
#include <sys/wait.h>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <string>

namespace chainbase::test {

std::shared_ptr<progress> shared_progress() {
    void* at =
        mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return {new (at) progress, [](progress* p) { munmap(p, sizeof *p); }};
}

pid_t fork_process(const std::function<void()>& work) {
    const pid_t process = fork();
    if (process < 0) throw mismatch("cannot fork");
    if (process > 0) return process;
    try {
        work();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "child: %s\n", e.what());
        _exit(1);
    }
    _exit(0);
}

ending wait_for(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        expect(errno == EINTR, "waitpid");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return {true};
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "the child process failed, status " + std::to_string(status));
    return {false};
}

void wait_until_ready(pid_t process, const progress& told) {
    while (told.ready == 0) {
        expect(waitpid(process, nullptr, WNOHANG) == 0, "the child process ended early");
        usleep(200);
    }
}

ending run_process(const std::function<void()>& work) {
    return wait_for(fork_process(work));
}

reference_chain::reference_chain(std::uint64_t seed) : chain_(folder_ / "reference", seed) {
    digests_.push_back(digest_of(chain_.state().db()));
    revisions_.push_back(chain_.state().db().revision());
}

std::uint64_t reference_chain::digest_after(std::uint64_t steps) {
    while (digests_.size() <= steps) {
        chain_.apply(digests_.size() - 1);
        digests_.push_back(digest_of(chain_.state().db()));
        revisions_.push_back(chain_.state().db().revision());
    }
    return digests_[steps];
}

revision_number reference_chain::revision_after(std::uint64_t steps) {
    (void)digest_after(steps);
    return revisions_[steps];
}

void apply_steps(chain_model& chain, std::uint64_t from, std::uint64_t to, progress& told) {
    for (std::uint64_t step = from; step < to; ++step) {
        told.begun = step + 1;
        chain.apply(step);
        told.done = step + 1;
    }
}

std::uint64_t check_state_left(const std::filesystem::path& state, reference_chain& reference,
                               const progress& told) {
    world left(state, {.verify = false});
    check_keys_of(left.db());
    const std::uint64_t found = digest_of(left.db());
    for (const std::uint64_t steps : {told.begun.load(), told.done.load()}) {
        if (found != reference.digest_after(steps)) continue;
        expect(left.db().revision() == reference.revision_after(steps), "revision");
        return steps;
    }
    throw mismatch("the state stands at revision " + std::to_string(left.db().revision()) +
                   ", and is neither that after step " + std::to_string(told.done) +
                   " nor after step " + std::to_string(told.begun));
}

} // namespace chainbase::test

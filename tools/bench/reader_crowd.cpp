#include <pool_allocator/error.hpp>
#include <tools/bench/reader_crowd.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace chainbase::bench {

reader_crowd::reader_crowd(std::uint32_t readers, const std::string& command) {
    std::string shell = "sh";
    std::string option = "-c";
    std::string loop = "while :; do " + command + "; done";
    char* const arguments[] = {shell.data(), option.data(), loop.data(), nullptr};
    posix_spawnattr_t own_group;
    posix_spawnattr_init(&own_group);
    posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
    int failure = 0;
    while (failure == 0 && groups_.size() < readers) {
        pid_t made = 0;
        failure = posix_spawn(&made, "/bin/sh", nullptr, &own_group, arguments, environ);
        if (failure == 0) groups_.push_back(made);
    }
    posix_spawnattr_destroy(&own_group);
    if (failure == 0) return;
    end();
    throw error(std::string("bench: cannot start a reader: ") + std::strerror(failure));
}

reader_crowd::~reader_crowd() {
    end();
}

void reader_crowd::end() noexcept {
    for (const pid_t group : groups_)
        ::kill(-group, SIGKILL);
    for (const pid_t group : groups_)
        ::waitpid(group, nullptr, 0);
    groups_.clear();
}

} // namespace chainbase::bench

#include <catch2/catch.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <tests/failure/killed_chain.hpp>
#include <tests/failure/own_mounts.hpp>
#include <tests/failure/state_image.hpp>
#include <unistd.h>

#include <string>

namespace chainbase::test {

namespace {

/// Anyone may mount in a user namespace, if the kernel's owner lets anyone have one. In it this
/// user is root, so that files stay its own.
bool become_root() {
    if (::geteuid() == 0) return true;
    const std::string user = "0 " + std::to_string(::geteuid()) + " 1";
    const std::string group = "0 " + std::to_string(::getegid()) + " 1";
    if (::unshare(CLONE_NEWUSER) != 0) return false;
    write_all("/proc/self/setgroups", "deny");
    write_all("/proc/self/uid_map", user);
    write_all("/proc/self/gid_map", group);
    return ::geteuid() == 0;
}

bool own_mounts() {
    return become_root() && ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

} // namespace

void run_with_mounts(const std::function<bool()>& mount_all, const std::function<void()>& work) {
    const auto told = shared_progress();
    const ending end = run_process([&] {
        if (!own_mounts() || !mount_all()) return;
        told->ready = 1;
        work();
    });
    REQUIRE_FALSE(end.killed);
    if (told->ready == 0) WARN("skipped: may not mount");
}

} // namespace chainbase::test

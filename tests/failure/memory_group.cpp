// A control group without free memory. The kernel answers fallocate on a tmpfs there with SIGKILL,
// so the engine checks the space first.

#include <catch2/catch.hpp>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

constexpr const char* groups = "/sys/fs/cgroup";

bool put(const fs::path& file, const std::string& text) {
    std::ofstream to(file);
    to << text << std::flush;
    return to.good();
}

bool are_groups_mounted() {
    struct statfs system{};
    return statfs(groups, &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC;
}

/// A control group below the top, with `bytes` of memory and no swap.
class small_group {
public:
    explicit small_group(std::uint64_t bytes)
        : at_(fs::path(groups) / ("chainbase-test-" + std::to_string(getpid()))) {
        if (!are_groups_mounted()) return;
        std::error_code why;
        made_ = fs::create_directory(at_, why) && !why;
        if (!made_) return;
        put(at_ / "memory.swap.max", "0"); // missing without swap
        usable_ = put(at_ / "memory.max", std::to_string(bytes));
    }
    small_group(const small_group&) = delete;
    small_group& operator=(const small_group&) = delete;
    ~small_group() {
        std::error_code ignored;
        if (made_) fs::remove(at_, ignored);
    }
    [[nodiscard]] bool is_usable() const { return usable_; }
    void enter() const { expect(put(at_ / "cgroup.procs", std::to_string(getpid())), "enter"); }
    void limit(std::uint64_t bytes) const {
        expect(put(at_ / "memory.max", std::to_string(bytes)), "memory.max");
    }

private:
    fs::path at_;
    bool made_ = false;
    bool usable_ = false;
};

/// Blocks of large notes in a process that needs little memory itself. Returns the message.
std::string write_blocks(database& db, std::uint32_t& written, std::uint32_t most) {
    constexpr std::uint32_t each = 20;
    try {
        for (; most > 0; --most) {
            session block = db.start_session();
            for (std::uint32_t i = 0; i < each; ++i)
                write_note(db, std::to_string(written + i) + std::string(20'000, 'x'), 1);
            block.push();
            db.commit(db.revision());
            written += each;
        }
        return {};
    } catch (const out_of_space_error& e) {
        return e.what();
    }
}

void require_blocks(const database& db, std::uint32_t written) {
    expect(db.count<note>() == written, "not the state after the last block");
    for (std::uint32_t i = 0; i < written; ++i) {
        const note* found = db.find(id<note>(i));
        expect(found && found->title.view().starts_with(std::to_string(i) + "x"), "a note");
    }
}

void exhaust(const small_group& group, const fs::path& state) {
    group.enter();
    std::uint32_t written = 0;
    {
        database db(state, quick_options());
        db.add_type<note>("note");
        const std::string said = write_blocks(db, written, 1000);
        expect(said.find("memory.max") != std::string::npos, said);
        expect(said.find(state.string()) != std::string::npos, said);
        require_blocks(db, written);
        expect(!write_blocks(db, written, 1).empty(), "room from nowhere");
        require_blocks(db, written);
        group.limit(std::uint64_t{256} << 20);
        expect(write_blocks(db, written, 20).empty(), "refused though there is room");
        require_blocks(db, written);
        db.close();
    }
    database again(state, quick_options());
    again.add_type<note>("note");
    require_blocks(again, written);
}

} // namespace

TEST_CASE("the memory of a control group is used up: refused before the kernel kills") {
    const small_group group(std::uint64_t{48} << 20);
    if (!group.is_usable()) {
        WARN("skipped: may not make a control group with a limit of memory (version 2)");
        return;
    }
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=400m") == 0; },
                    [&] { exhaust(group, place / "state"); });
}

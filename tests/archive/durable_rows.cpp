// With durability::commit the machine loses power after objects went to the archive: where a block
// is durable that let go of an object, its row is.

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>
#include <tests/archive/note.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

open_options durable() {
    open_options how = small_state();
    how.promise = durability::commit;
    how.checkpoints.interval = std::chrono::milliseconds(0);
    return how;
}

/// A state and its archive, of which another folder has what was synced.
class durable_notes {
public:
    explicit durable_notes(const fs::path& folder) : folder_(folder) {
        state.add_type<note>("note");
        all.emplace(state, *rows, "note");
        state.memory().sync_before_checkpoints([this] {
            if (is_broken) throw io_error("rows are not on storage, as asked for");
            rows->sync();
            fs::remove_all(synced());
            fs::copy(folder_ / "rows", synced(), fs::copy_options::recursive);
        });
    }

    ~durable_notes() { state.memory().sync_before_checkpoints(nullptr); } // the rows go first

    template <typename Work>
    void block(Work&& work) {
        session one = state.start_session();
        work();
        one.push();
        state.commit(state.revision());
    }
    /// Ten notes, the fourth one finished.
    void write_some() {
        block([&] {
            for (int i = 0; i < 10; ++i)
                write(state, "ann", std::to_string(i), i);
        });
        block([&] { all->retire(state.get<note>(id<note>(3))); });
    }
    std::size_t hand_over() {
        std::size_t moved = 0;
        block([&] { moved = all->hand_over(state.committed_revision()); });
        return moved;
    }
    /// The segment goes, and what of the archive was not synced.
    void lose_power() {
        state.abandon();
        all.reset();
        rows.reset();
        fs::remove_all(folder_ / "state/segment");
        fs::remove_all(folder_ / "rows");
        fs::rename(synced(), folder_ / "rows");
    }

    std::atomic<bool> is_broken = false;

private:
    [[nodiscard]] fs::path synced() const { return folder_ / "rows.synced"; }

    fs::path folder_;

public:
    database state{folder_ / "state", durable()};
    std::unique_ptr<archive::store> rows = archive::open_store(folder_ / "rows");
    std::optional<notes> all;
};

} // namespace

TEST_CASE("a row is durable where the block is that let go of its object") {
    const temporary_folder folder;
    {
        durable_notes before(folder.path());
        before.write_some();
        before.state.wait_until_durable();
        REQUIRE(before.hand_over() == 1);
        before.state.wait_until_durable();
        CHECK(before.state.memory().checkpoints().redo->is_whole);
        before.lose_power();
    }
    durable_notes after(folder.path());
    CHECK(after.state.opened().how == opening::way::restored);
    CHECK(after.state.count<note>() == 9);
    CHECK(after.all->find(id<note>(3)));
}

TEST_CASE("a block whose rows cannot be made durable does not come to storage") {
    spdlog::set_level(spdlog::level::off);
    const temporary_folder folder;
    revision_number durable_revision = 0;
    {
        durable_notes before(folder.path());
        before.write_some();
        before.state.wait_until_durable();
        durable_revision = before.state.revision();
        before.is_broken = true;
        REQUIRE(before.hand_over() == 1);
        CHECK_THROWS_AS(before.state.wait_until_durable(), io_error);
        before.lose_power();
    }
    durable_notes after(folder.path());
    CHECK(after.state.revision() == durable_revision);
    CHECK(after.state.count<note>() == 10);
    CHECK(after.all->find(id<note>(3)));
    spdlog::set_level(spdlog::level::warn);
}

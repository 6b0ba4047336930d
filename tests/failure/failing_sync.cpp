// A file of the segment cannot be brought to storage when a state is closed. The system tells that
// once, and a second attempt seems to work.

#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <cerrno>

#include "note.hpp"

using namespace chainbase;
using namespace chainbase::test;

namespace {

int calls_until_failure = 0; ///< 0: none

}

/// In place of the C library's, for this program.
extern "C" int fdatasync(int file) {
    if (calls_until_failure != 0 && --calls_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    return static_cast<int>(syscall(SYS_fdatasync, file));
}

TEST_CASE("a state whose sync failed once never counts as closed") {
    spdlog::set_level(spdlog::level::off);
    open_options how = quick_options();
    how.promise = durability::process;
    how.sync = true;
    for (int call = 1; call < 12; ++call) {
        const scratch_folder folder;
        {
            database db(folder / "state", how);
            db.add_type<note>("note");
            write_note(db, "one", 1);
            calls_until_failure = call;
            CHECK_THROWS_AS(db.close(), io_error);
        } // which would close it, too
        const auto header = detail::header_in(folder / "state/segment");
        REQUIRE(header);
        CHECK(header->clean == 0);
        database again(folder / "state", how);
        again.add_type<note>("note");
        CHECK(again.count<note>() == 1);
    }
    spdlog::set_level(spdlog::level::warn);
}

// What is told of a log while its writer works: all of it, or that it cannot be read just now.
#include <chainbase/database.hpp>
#include <undo/log_sample.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// A label that was changed in three sessions, whose records fill more than two chunks.
struct long_log {
    long_log() : db(folder / "state", quick_options()) {
        db.add_type<label>("label");
        const label& one = db.create<label>([](label&) {});
        for (int i = 0; i < 3; ++i) {
            session block = db.start_session();
            for (int changes = 0; changes < 20; ++changes)
                db.modify(one, [&](label& l) {
                    l.text = std::string(60'000, static_cast<char>('a' + changes));
                });
            block.push();
        }
    }

    scratch_folder folder;
    database db;
};

open_options only_to_look() {
    open_options how;
    how.mode = open_mode::read_only;
    how.allow_unclean = true;
    return how;
}

void check_same(const log_sample& sample, const database& db) {
    REQUIRE(sample.is_readable());
    const undo_log& log = *db.memory().log();
    CHECK(sample.revision() == db.revision());
    CHECK(sample.committed_revision() == db.committed_revision());
    CHECK(sample.sessions() == log.sessions());
    CHECK(sample.measure().values == log.bytes_in_use());
}

} // namespace

TEST_CASE("a sample of a log tells what the log does") {
    long_log s;
    REQUIRE(s.db.memory().log()->bytes_in_use() > 2 * undo_log::chunk_bytes);
    segment reader(s.folder / "state", only_to_look());
    check_same(log_sample(reader.log_file()), s.db);
    s.db.commit(s.db.revision() - 1);
    check_same(log_sample(reader.log_file()), s.db);
    s.db.commit(s.db.revision());
    check_same(log_sample(reader.log_file()), s.db);
}

TEST_CASE("a sample of a log that became shorter behind the mapping cannot be read") {
    long_log s;
    std::filesystem::copy(s.folder / "state", s.folder / "copy",
                          std::filesystem::copy_options::recursive);
    segment reader(s.folder / "copy", only_to_look());
    CHECK(log_sample(reader.log_file()).is_readable());
    std::filesystem::resize_file(s.folder / "copy/segment/undo_log",
                                 window_header::page_bytes + undo_log::chunk_bytes);
    CHECK_FALSE(log_sample(reader.log_file()).is_readable());
}

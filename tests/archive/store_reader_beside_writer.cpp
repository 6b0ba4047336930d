// A reader that opens while another process writes, flushes and compacts sees everything that was
// written before it opened, whole batches only, and goes on seeing it.
#include <archive/key.hpp>

#include "support.hpp"
#include "writer_process.hpp"

using namespace archive_test;

namespace {

std::uint32_t walk(const store& s, table_id rows) {
    std::uint32_t expected = 0;
    for (auto at = s.rows(rows); at.valid(); at.next(), ++expected)
        REQUIRE(at.id() == expected);
    return expected;
}

/// An opening beside a writer that is much faster says that it is to be tried again.
std::unique_ptr<store> open_reader(const std::string& path) {
    store_options options;
    options.read_only = true;
    for (;;) {
        try {
            return open_store(path, options);
        } catch (const chainbase::io_error& busy) {
            REQUIRE_THAT(busy.what(), Catch::Matchers::Contains("try again"));
        }
    }
}

} // namespace

TEST_CASE("a reader misses nothing that was written before it opened") {
    scratch_folder folder;
    const std::string path = (folder / "store").string();
    writer_process writer(path, 0);
    writer.wait_until_acknowledged(50);

    for (int i = 0; i < 16; ++i) {
        const std::uint32_t before = writer.acknowledged();
        const auto s = open_reader(path);
        const table_id rows = s->open_table("rows", {"by_record"});
        const auto count = static_cast<std::uint32_t>(s->count(rows));
        REQUIRE(count >= 10 * before);
        for (std::uint32_t id = 10 * before; id-- > 10 * before - 100;)
            REQUIRE(s->contains(rows, id));
        REQUIRE_FALSE(s->contains(rows, count));
        if (i % 8 != 0) continue;
        writer.wait_until_acknowledged(count / 10 + 50); // flushes and compacts meanwhile
        REQUIRE(walk(*s, rows) == count);
        REQUIRE(s->find(rows, 0, make_key("row 0"))->id() == 0);
    }
    writer.kill();
}

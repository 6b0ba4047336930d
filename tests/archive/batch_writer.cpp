// batch_writer FOLDER FROM [LAST SYNC INGEST]
//
// Writes batches to a store and prints their number on stdout after each: until it is killed, or
// until LAST are written, when it ends without closing. Syncs after SYNC batches, else now and
// then. Batch n puts the rows 10 n ... 10 n + 9 and one row of a table that every batch rewrites;
// batch 0 also the only row of a table that stays in the first log. Batches of INGEST rows are
// ingested as sorted files.
#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>
#include <archive/store.hpp>

#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace chainbase::archive;

namespace {

void add(write_batch& batch, table_id table, std::uint32_t id, const std::string& record) {
    const byte_buffer key = make_key(record);
    const secondary_key keys[] = {{0, key}};
    batch.put(table, id, as_bytes(record), keys);
}

} // namespace

int main(int count, char** arguments) {
    const auto number = [&](int i) {
        return i < count ? static_cast<std::uint32_t>(std::atoi(arguments[i])) : 0;
    };
    store_options options;
    options.write_buffer_bytes = 2 << 20; // so that kills meet flushes and compactions too
    if (number(5) != 0) options.ingest_rows = number(5);
    const auto store = open_store(arguments[1], options);
    const table_id rows = store->open_table("rows", {"by_record"});
    const table_id progress = store->open_table("progress", {"by_record"});
    const table_id once = store->open_table("once", {"by_record"});
    write_batch batch;
    for (std::uint32_t n = number(2);; ++n) {
        batch.clear();
        for (std::uint32_t id = 10 * n; id < 10 * n + 10; ++id)
            add(batch, rows, id, "row " + std::to_string(id) + std::string(id % 700, '.'));
        add(batch, progress, 0, "batch " + std::to_string(n));
        if (n == 0) add(batch, once, 0, "once");
        store->write(batch);
        const std::uint32_t done = n + 1;
        if (number(4) == 0 ? done % 50 == 0 : done == number(4)) store->sync();
        if (::write(STDOUT_FILENO, &done, sizeof done) != sizeof done) return 1;
        if (done == number(3)) ::_exit(0);
    }
}

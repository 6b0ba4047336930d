#include <pool_allocator/flat_tables.hpp>
#include <undo/undo_log.hpp>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <filesystem>
#include <string>

using namespace chainbase;

TEST_CASE("a table that is gone is not asked to give space back") {
    std::string name = (std::filesystem::temp_directory_path() / "table-XXXXXX").string();
    const std::filesystem::path folder = mkdtemp(name.data());
    {
        const address_space addresses(std::size_t{64} << 20, 2);
        window log_file = window::create({&addresses, 0}, folder / "log", undo_log::geometry);
        undo_log log(addresses, log_file, true);
        window file = window::create({&addresses, 1}, folder / "table", hash_table::geometry);
        auto& state = *reinterpret_cast<hash_state*>(file.root());
        hash_table::initialise(file, state);
        {
            hash_table table(file, state, &log);
            operation change(log, 0);
            for (slot_number slot = 1; slot <= 1000; ++slot) {
                table.reserve();
                log.reserve(hash_table::store_log_bytes);
                table.insert(slot * 2'654'435'761U, slot);
            }
            change.complete();
        }
        const std::size_t held = file.held_bytes();
        operation(log, 0).complete(); // gives back what was outgrown before it
        CHECK(file.held_bytes() == held);
    }
    std::filesystem::remove_all(folder);
}

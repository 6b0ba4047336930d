#include <pool_allocator/shared_buffer.hpp>
#include <undo/session.hpp>
#include <undo/undo_log.hpp>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

/// A log and buffers without a database.
struct memory {
    memory() {
        std::string name = (std::filesystem::temp_directory_path() / "runs-XXXXXX").string();
        folder = mkdtemp(name.data());
        log_file = std::make_unique<chainbase::window>(chainbase::window::create(
            {&addresses, 0}, folder / "log", chainbase::undo_log::geometry));
        log = std::make_unique<chainbase::undo_log>(addresses, *log_file, true);
        buffers = std::make_unique<chainbase::size_classes>(addresses, folder,
                                                            chainbase::window::mode::create);
        buffers->attach(*log);
    }
    ~memory() { std::filesystem::remove_all(folder); }

    chainbase::buffer_handle allocate(const std::string& content) {
        chainbase::operation change(*log, 0);
        const auto handle = buffers->allocate(std::as_bytes(std::span(content)));
        change.complete();
        return handle;
    }
    void free(chainbase::buffer_handle handle) {
        chainbase::operation change(*log, 0);
        buffers->free_later(handle);
        change.complete();
    }
    std::string content(chainbase::buffer_handle handle) {
        const auto range = chainbase::address_space::containing(addresses.base());
        return {reinterpret_cast<const char*>(chainbase::size_classes::locate(range, handle)),
                handle.length()};
    }

    std::filesystem::path folder;
    chainbase::address_space addresses{std::size_t{256} << 20, 32};
    std::unique_ptr<chainbase::window> log_file;
    std::unique_ptr<chainbase::undo_log> log;
    std::unique_ptr<chainbase::size_classes> buffers;
};

} // namespace

TEST_CASE("buffers of every size keep their content while others come, go and are undone") {
    memory m;
    const std::uint64_t seed = 77;
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<std::pair<chainbase::buffer_handle, std::string>> live;
    const auto make = [&] {
        const std::size_t sizes[] = {1, 16, 17, 48, 100, 4000, 65'536, 65'537, 70'000, 200'000};
        std::string text(sizes[random() % 10] + random() % 3,
                         static_cast<char>('a' + random() % 26));
        live.emplace_back(m.allocate(text), text);
    };
    const auto drop = [&] {
        if (live.empty()) return;
        const std::size_t i = random() % live.size();
        m.free(live[i].first);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    };
    const auto check = [&] {
        for (const auto& [handle, text] : live)
            REQUIRE(m.content(handle) == text);
        const chainbase::usage used = m.buffers->measure();
        REQUIRE(used.header + used.links + used.values + used.slack + used.punched == used.total);
    };
    for (int round = 0; round < 150; ++round) {
        for (std::uint64_t i = random() % 12; i > 0; --i)
            random() % 3 ? make() : drop();
        const auto before = live;
        const auto used_before = m.buffers->measure_runs().slots_live;
        chainbase::session session(*m.log);
        for (std::uint64_t i = random() % 12; i > 0; --i)
            random() % 2 ? make() : drop();
        check();
        if (random() % 2) {
            session.undo();
            live = before;
            REQUIRE(m.buffers->measure_runs().slots_live == used_before);
        } else {
            session.push();
            m.log->commit(m.log->revision());
        }
        check();
        while (live.size() > 60)
            drop();
    }
    while (!live.empty())
        drop();
    CHECK(m.buffers->measure_runs().slots_live == 0);
}

// What `info` foresees is what the next opening does, whatever is wrong with a state.

#include <chainbase/database.hpp>
#include <chainbase/detail/segment_header.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/two_checkpoints.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/checkpoints_on_disk.hpp>

#include <functional>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

json info_of(const fs::path& state) {
    const outcome result = inspect_with("info " + state.string() + " --json");
    REQUIRE(result.code == 0);
    CHECK(result.output.starts_with("{\n \"schema_version\": 1,"));
    CHECK(inspect_with("info " + state.string()).code == 0);
    return json::parse(result.output);
}

bool opens(const fs::path& state) {
    try {
        database db(state, with_checkpoints());
        db.add_type<account>("account");
        return true;
    } catch (const error&) {
        return false;
    }
}

template <typename Change>
void change_header(const fs::path& state, Change&& change) {
    segment_header header = detail::header_in(state / "segment").value();
    change(header);
    header.checksum = detail::static_checksum(header);
    detail::write_header(state / "segment", header);
}

void restart_the_machine(const fs::path& state) {
    change_header(state, [](segment_header& h) { h.boot[0] = 'x'; });
}

void die(const fs::path& state) {
    change_header(state, [](segment_header& h) { h.clean = 0; });
}

struct damage {
    const char* name;
    std::function<void(const fs::path&)> make;
    const char* does;
    const char* code; ///< of a trouble; empty: there is none
    const char* condition;
};

/// Does it to a copy of the state, asks, and opens it.
void expect(const fs::path& origin, const damage& one) {
    const fs::path state = origin.string() + ".copy";
    fs::copy(origin, state, fs::copy_options::recursive);
    one.make(state);
    const folder_image before = image_of(state);
    const json found = info_of(state);
    INFO(one.name << "\n" << found.dump(1));
    CHECK(image_of(state) == before);
    CHECK(found.at("next_opening").at("does") == one.does);
    CHECK(found.at("condition") == one.condition);
    bool is_told = *one.code == '\0' && found.at("troubles").empty();
    for (const json& each : found.at("troubles"))
        is_told = is_told || each.at("code") == one.code;
    CHECK(is_told);
    CHECK(opens(state) == (found.at("next_opening").at("does") != "refuse"));
    fs::remove_all(state);
}

} // namespace

TEST_CASE("info of a closed state") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    const folder_image before = image_of(state);
    const json found = info_of(state);
    CHECK(image_of(state) == before);
    CHECK(found.at("condition") == "closed");
    CHECK(found.at("next_opening").at("does") == "attach");
    CHECK(found.at("troubles").empty());
    CHECK(found.at("header").at("format") == segment_header::current_format);
    CHECK(found.at("header").at("clean") == 1);
    CHECK(found.at("header").at("this_boot") == true);
    CHECK(found.at("log").at("revision") == made.revision);
    CHECK(found.at("log").at("irreversible_revision") == made.irreversible);
    CHECK(found.at("log").at("sessions") == made.revision - made.irreversible);
    CHECK(found.at("writer") == json({{"process", getpid()}, {"alive", false}}));
    CHECK(found.at("place").at("segment") == (state / "segment").string());
    CHECK(found.at("place").at("in_memory") == false);
    CHECK(found.at("place").at("file_system").is_string());
    CHECK(found.at("huge_pages").at("writer").is_null());
    const json schema = json::parse(inspect_with("schema --json " + state.string()).output);
    CHECK(found.at("schema").at("hash") == schema.at("hash"));
    CHECK(found.at("schema").at("types").size() == 4);
    CHECK(found.at("checkpoints").empty());
    CHECK(found.at("promise") == "process");
    CHECK(found.at("archive").is_null());
    CHECK(found.at("permissions").at("mode") == "0700");
    CHECK(found.at("permissions").at("readers_group").is_null());
    CHECK_THAT(inspect_with("info " + state.string()).output,
               Contains("opening    would attach: it was closed properly") &&
                   Contains("revision   12, irreversible 9; 3 session(s)"));
}

TEST_CASE("info beside a writer and after its death") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    {
        writer_process writer(state);
        for (int i = 0; i < 5; ++i) {
            const json found = info_of(state);
            CHECK(found.at("condition") == "writer_running");
            CHECK(found.at("next_opening").at("does") == "refuse");
            CHECK_THAT(found.at("next_opening").at("why").get<std::string>(),
                       Contains(std::to_string(writer.process())));
            CHECK(found.at("troubles").empty());
            CHECK(found.at("writer") == json({{"process", writer.process()}, {"alive", true}}));
            CHECK(found.at("log").at("sessions") <= 9);
            const json& pages = found.at("huge_pages").at("writer");
            REQUIRE(pages.is_object());
            CHECK(pages.at("mappings").get<int>() > 20);
            CHECK(pages.at("resident").get<std::uint64_t>() > 100'000);
        }
        writer.kill();
    }
    const json found = info_of(state);
    CHECK(found.at("condition") == "writer_died");
    CHECK(found.at("next_opening").at("does") == "roll_back");
    CHECK(found.at("troubles").at(0).at("code") == "writer_died");
    const std::int64_t revision = reopen_sample_state(state);
    CHECK_THAT(found.at("next_opening").at("why").get<std::string>(),
               Contains("which gives revision " + std::to_string(revision)));
    CHECK(info_of(state).at("next_opening").at("does") == "attach");
}

TEST_CASE("info foresees what opening does with a segment that is damaged") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_two_checkpoints(state);
    const auto segment_file = [](const char* name, std::uintmax_t length) {
        return [=](const fs::path& at) { fs::resize_file(at / "segment" / name, length); };
    };
    const auto removed = [](const char* name) {
        return [=](const fs::path& at) { fs::remove_all(at / name); };
    };
    const auto other_format = [](const fs::path& at) {
        change_header(at, [](segment_header& h) { ++h.format; });
    };
    const auto wide = [](const fs::path& at) {
        fs::permissions(at, fs::perms::others_read, fs::perm_options::add);
    };
    const auto ring = [](const fs::path& at) {
        die(at);
        flip_bit(at / "segment/undo_log", 8 * (sizeof(window_header) + offsetof(log_words, tail)));
    };
    const auto planted = [](const fs::path& at) {
        (void)std::ofstream(at / "segment.json").put('{');
        fs::permissions(at / "segment.json", fs::perms(0600));
    };
    const auto one_checkpoint = segment_file("../checkpoint/published.1", 50);
    for (const damage& one : std::vector<damage>{
             {"nothing", [](const fs::path&) {}, "attach", "", "closed"},
             {"killed", die, "roll_back", "writer_died", "writer_died"},
             {"no header", removed("segment/header"), "refuse", "header_missing", "unknown"},
             {"header cut", segment_file("header", 60), "refuse", "header_damaged", "unknown"},
             {"other format", other_format, "refuse", "other_format", "unknown"},
             {"no lock", removed("lock"), "refuse", "lock_missing", "closed"},
             {"others may read", wide, "refuse", "access", "closed"},
             {"catalogue", segment_file("catalogue.json", 9), "refuse", "catalogue_damaged",
              "closed"},
             {"log", ring, "refuse", "log_damaged", "writer_died"},
             {"segment.json", planted, "refuse", "place_damaged", "unknown"},
             {"a checkpoint", one_checkpoint, "attach", "checkpoint_damaged", "closed"}})
        expect(state, one);
}

TEST_CASE("info foresees which checkpoint is restored and when there is none") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_two_checkpoints(state);
    const auto lost = [](const fs::path& at) { fs::remove_all(at / "segment"); };
    const auto restarted = [](const fs::path& at) {
        die(at);
        restart_the_machine(at);
    };
    const auto torn = [&](const fs::path& at) {
        restarted(at);
        fs::resize_file(at / "segment/undo_log", 100);
        fs::resize_file(at / "segment/catalogue.json", 5);
    };
    const auto no_checkpoint = [](const auto& then) {
        return [=](const fs::path& at) {
            fs::remove_all(at / "checkpoint");
            then(at);
        };
    };
    const auto both_damaged = [&](const fs::path& at) {
        restarted(at);
        for (const char* name : {"checkpoint/published.0", "checkpoint/published.1"})
            fs::resize_file(at / name, 50);
    };
    for (const damage& one : std::vector<damage>{
             {"restarted", restarted, "restore", "machine_restarted", "machine_restarted"},
             {"torn", torn, "restore", "machine_restarted", "machine_restarted"},
             {"lost", lost, "restore", "segment_lost", "segment_lost"},
             {"restarted and none", no_checkpoint(restarted), "refuse", "machine_restarted",
              "machine_restarted"},
             {"both damaged", both_damaged, "refuse", "checkpoint_damaged", "machine_restarted"}})
        expect(state, one);
    const json before = info_of(state);
    CHECK(before.at("promise") == "checkpoint");
    REQUIRE(before.at("checkpoints").size() == 2);
    CHECK(before.at("checkpoints").at(0).at("generation") == 2);
    CHECK(before.at("checkpoints").at(0).at("revision") == before.at("log").at("revision"));
    CHECK(before.at("checkpoints").at(1).at("generation") == 1);
    restarted(state);
    CHECK_THAT(info_of(state).at("next_opening").at("why").get<std::string>(),
               Contains("checkpoint 2 of revision"));
}

TEST_CASE("info of a state that was closed without storage before the machine restarted") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_two_checkpoints(state, quick_options());
    expect(state, {"not synced", restart_the_machine, "refuse", "not_on_storage", "closed"});
}

TEST_CASE("info of a segment in memory, of its copy and when it is gone") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    open_options how = with_checkpoints();
    fs::create_directory(scratch / "memory");
    how.memory_folder = scratch / "memory";
    build_two_checkpoints(state, how);
    const json found = info_of(state);
    CHECK(found.at("next_opening").at("does") == "attach");
    CHECK(found.at("place").at("in_memory") == true);
    CHECK_THAT(found.at("place").at("segment").get<std::string>(),
               Contains((scratch / "memory").string()));
    const auto nothing = [](const fs::path&) {};
    expect(state, {"a copy", nothing, "restore", "segment_lost", "segment_lost"});
    fs::remove_all(scratch / "memory");
    fs::create_directory(scratch / "memory");
    expect(state, {"gone", nothing, "restore", "segment_lost", "segment_lost"});
}

TEST_CASE("info: what an interrupted creation left is made into a state by opening") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    fs::create_directory(state);
    fs::permissions(state, fs::perms(0700));
    std::ofstream(state / "lock").flush();
    fs::permissions(state / "lock", fs::perms(0600));
    const json found = info_of(state);
    CHECK(found.at("next_opening").at("does") == "create");
    CHECK(opens(state));
}

TEST_CASE("info where no state is: exit 1") {
    const scratch_folder scratch;
    for (const std::string& folder : {scratch.path().string(), (scratch / "none").string()}) {
        const outcome said = inspect_with("info " + folder + " 2>&1");
        CHECK(said.code == 1);
        CHECK_THAT(said.output, Contains(folder) && Contains("check the path"));
    }
}

TEST_CASE("huge pages are summed over the mappings of the segment and no other") {
    const scratch_folder scratch;
    fs::create_directories(scratch / "proc/71");
    std::ofstream(scratch / "proc/71/smaps")
        << "7f00-7f10 rw-s 00000000 00:17 5    /dev/shm/a b/segment/header\n"
           "Rss:                  8 kB\nShmemPmdMapped:     2048 kB\nTHPeligible:    1\n"
           "VmFlags: rd wr mr\n"
           "7f10-7f20 rw-s 00000000 00:17 6    /dev/shm/a b/segment/undo_log\n"
           "Rss:                 12 kB\nFilePmdMapped:      4096 kB\nAnonHugePages:  6 kB\n"
           "7f20-7f30 rw-s 00000000 00:17 7    /dev/shm/a b/other\n"
           "Rss:               1000 kB\nShmemPmdMapped:     9999 kB\n"
           "7f30-7f40 rw-p 00000000 00:00 0 \nRss:   1000 kB\n";
    const auto found = inspect::pages_mapped_by(71, "/dev/shm/a b/segment", scratch.path());
    REQUIRE(found);
    CHECK(found->mappings == 2);
    CHECK(found->resident == 20 * 1024);
    CHECK(found->shmem_pmd_mapped == 2048 * 1024);
    CHECK(found->file_pmd_mapped == 4096 * 1024);
    CHECK(found->anon_huge_pages == 6 * 1024);
    CHECK_FALSE(inspect::pages_mapped_by(71, "/dev/shm/a", scratch.path()));
    CHECK_FALSE(inspect::pages_mapped_by(72, "/dev/shm/a b/segment", scratch.path()));
}

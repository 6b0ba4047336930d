#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

using namespace chainbase::test;
using nlohmann::json;

namespace {

json stat_of(const std::filesystem::path& state) {
    const outcome result = inspect_with("stat " + state.string() + " --json");
    REQUIRE(result.code == 0);
    return json::parse(result.output);
}

void require_memory(const json& part) {
    const auto of = [&](const char* name) { return part.at(name).get<std::uint64_t>(); };
    REQUIRE(of("header") + of("links") + of("values") + of("slack") + of("punched") == of("total"));
    REQUIRE(of("files") == of("total"));
    for (const char* slots : {"live", "free", "never_used"})
        REQUIRE(part.at("slots").at(slots).is_number_unsigned());
}

std::uint64_t total_of(const json& part) {
    return part.at("total").get<std::uint64_t>();
}

} // namespace

TEST_CASE("stat --json has every member, and its numbers add up") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    const json found = stat_of(state);

    CHECK(found.at("state") == state.string());
    CHECK(found.at("segment") == (state / "segment").string());
    CHECK(found.at("condition") == "closed");
    CHECK(found.at("consistent") == true);
    CHECK(found.at("discrepancies").empty());
    CHECK(found.at("writer").is_string());
    CHECK(found.at("archive").is_null());

    const json& header = found.at("header");
    CHECK(header.at("format") == 2);
    CHECK(header.at("windows") == 80);
    CHECK(header.at("window_bytes") == 64 << 20);
    CHECK(header.at("boot").get<std::string>().size() == 36);
    require_memory(header.at("memory"));

    const json& log = found.at("log");
    CHECK(log.at("revision") == made.revision);
    CHECK(log.at("irreversible_revision") == made.irreversible);
    CHECK(log.at("sessions") == made.revision - made.irreversible);
    CHECK(log.at("bytes_in_use") == log.at("memory").at("values"));
    CHECK(log.at("changes").get<std::uint64_t>() >= made.accounts + made.posts);
    require_memory(log.at("memory"));

    std::uint64_t sum = total_of(header.at("memory")) + total_of(log.at("memory"));
    CHECK(found.at("buffers").size() == 25);
    for (const json& buffers : found.at("buffers")) {
        CHECK(buffers.at("name").get<std::string>().starts_with("buffers."));
        CHECK(buffers.at("slot_bytes").get<std::uint64_t>() >= 16);
        require_memory(buffers.at("memory"));
        sum += total_of(buffers.at("memory"));
    }
    CHECK(found.at("types").size() == 4);
    for (const json& type : found.at("types")) {
        for (const char* part : {"nodes", "ids", "tables", "total"})
            require_memory(type.at(part));
        CHECK(type.at("node_bytes").get<std::uint64_t>() >=
              type.at("value_bytes").get<std::uint64_t>() +
                  type.at("link_bytes").get<std::uint64_t>());
        sum += total_of(type.at("total"));
    }
    const json& account = found.at("types").at(0);
    CHECK(account.at("name") == "account");
    CHECK(account.at("objects") == made.accounts);
    CHECK(account.at("next_id") == made.accounts);
    CHECK(account.at("keys").at(0) == "by_name (ordered_unique)");

    const json& sums = found.at("sums");
    CHECK(total_of(found.at("total")) == sum);
    CHECK(total_of(sums) == sum);
    CHECK(sums.at("files") == sum);
    CHECK(sums.at("header").get<std::uint64_t>() + sums.at("log").get<std::uint64_t>() +
              sums.at("buffers").get<std::uint64_t>() + sums.at("types").get<std::uint64_t>() ==
          sum);
}

TEST_CASE("stat --json works beside a writer and after its death, and says which") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    {
        writer_process writer(state);
        for (int i = 0; i < 5; ++i) {
            const json found = stat_of(state);
            CHECK(found.at("condition") == "writer_running");
            CHECK(found.at("writer") == std::to_string(writer.process()));
        }
    }
    CHECK(stat_of(state).at("condition") == "writer_died");
}

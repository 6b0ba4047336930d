// Rows of memory and of the archive as one sequence: what lifecycle::range() and from() give.
#include <archive/store.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/rows/merged_rows.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/json_lines.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct place {
    std::uint32_t id;
    bool is_archived;
    std::int64_t weight;

    friend bool operator==(const place&, const place&) = default;
    friend std::ostream& operator<<(std::ostream& to, const place& one) {
        return to << one.id << (one.is_archived ? " archived " : " ") << one.weight;
    }
};
using places = std::vector<place>;

template <typename Cursor>
places typed(Cursor at) {
    places all;
    for (; at.valid(); at.next())
        all.push_back({at->id().value, !at->in_memory(), at->template get<&note::weight>()});
    return all;
}

places told(const fs::path& state, const inspect::row_query& asked) {
    inspect::row_source from(state);
    const auto archive = inspect::open_archive(from);
    inspect::merged_rows rows(from, asked, archive.get());
    places all;
    for (; const auto* const one = rows.next(); rows.pop()) {
        const json row = json::parse(one->json);
        CHECK(row.at("id") == one->id);
        CHECK(row.size() == one->cells.size());
        all.push_back({one->id, one->is_archived, row.at("weight").get<std::int64_t>()});
    }
    CHECK_FALSE(rows.has_moved());
    return all;
}

} // namespace

TEST_CASE("archived range: both places in the order of each key as the typed calls give it") {
    const std::uint64_t seed = new_seed();
    INFO("seed " << seed);
    for (const auto kind : {archive::store_kind::rocksdb, archive::store_kind::memory}) {
        INFO(archive::to_string(kind));
        const scratch_folder folder;
        const auto state = folder / "state";
        random_source random(seed);
        places by_id;
        std::vector<std::pair<inspect::row_query, places>> asked;
        with_notes(state, kind, [&](database& db, notes& all) {
            make_some_notes(db, all, random);
            all.for_each([&](const auto& one) {
                by_id.push_back(
                    {one.id().value, !one.in_memory(), one.template get<&note::weight>()});
            });
            asked.push_back({{"note", "id", {}, {}, {}, false}, by_id});
            asked.push_back(
                {{"note", "by_weight", {}, {}, {}, false}, typed(all.range<by_weight>())});
            asked.push_back(
                {{"note", "by_author", {}, {}, {}, false}, typed(all.range<by_author>())});
            for (const char* author : some_authors)
                asked.push_back({{"note", "by_author", {author}, {}, {}, false},
                                 typed(all.range<by_author>(std::string_view(author)))});
            for (const std::int64_t weight : {-31, -7, 0, 5, 29, 40}) {
                const std::string word = std::to_string(weight);
                asked.push_back({{"note", "by_weight", {word}, {}, {}, false},
                                 typed(all.range<by_weight>(weight))});
                asked.push_back({{"note", "by_weight", {}, {word}, {}, false},
                                 typed(all.from<by_weight>(weight))});
                places until = typed(all.range<by_weight>());
                std::erase_if(until, [&](const place& one) { return one.weight < weight; });
                asked.push_back({{"note", "by_weight", {}, {}, {word}, false}, until});
            }
        });
        places some = by_id;
        std::erase_if(some, [](const place& one) { return one.id < 100 || one.id > 300; });
        asked.push_back({{"note", "id", {}, {"100"}, {"300"}, false}, some});
        for (const auto& [query, expected] : asked) {
            INFO(query.key << " " << (query.only.empty() ? "" : query.only[0]) << " from "
                           << (query.from.empty() ? "" : query.from[0]) << " to "
                           << (query.to.empty() ? "" : query.to[0]));
            CHECK(told(state, query) == expected);
        }
    }
}

TEST_CASE("archived range: range count dump and diff tell where each row is") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_notes(state);
    const std::string name = state.string();
    const auto lines =
        json_lines_of(inspect_with("range " + name + " note by_weight --archive --json").output);
    REQUIRE(lines.size() == 12);
    for (int i = 0; i < 10; ++i) {
        CHECK(lines[1 + i].at("row").at("id") == 9 - i);
        CHECK(lines[1 + i].at("archived") == (9 - i < 4));
    }
    CHECK(lines.back().at("more") == false);
    const auto first =
        json_lines_of(inspect_with("range " + name + " note --archive --limit 3 --json").output);
    CHECK(first.size() == 5);
    CHECK(first.back().at("more") == true);
    CHECK(inspect_with("range " + name + " note --archive").output.find("archive") !=
          std::string::npos);
    CHECK(inspect_with("count " + name + " note --archive").output == "10\n");
    CHECK(inspect_with("count " + name + " note").output == "6\n");
    CHECK(inspect_with("count " + name + " note by_weight --from 3 --archive").output == "4\n");
    CHECK(inspect_with("range " + name + " note --archive --reverse 2>/dev/null").code == 2);

    const auto file = (folder / "dump").string();
    REQUIRE(inspect_with("dump " + name + " note --archive --output " + file).code == 0);
    std::ifstream in(file);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    const auto dumped = json_lines_of(whole);
    REQUIRE(dumped.size() == 12);
    CHECK(dumped[1].at("note").at("id") == 0);
    CHECK(dumped[1].at("archived") == true);
    CHECK(dumped[5].size() == 1);
    std::size_t cut = 0; // after the head and three rows
    for (int line = 0; line < 4; ++line)
        cut = whole.find('\n', cut) + 1;
    fs::resize_file(file, cut);
    CHECK(inspect_with("dump " + name + " note --output " + file + " --resume 2>/dev/null").code ==
          2);
    CHECK(inspect_with("dump " + name + " note --archive --output " + file + " --resume").code ==
          0);
    std::ifstream again(file);
    CHECK(std::string{std::istreambuf_iterator<char>(again), {}} == whole);
}

TEST_CASE("archived range: rows that the archive lost are told") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_notes(state);
    fs::remove_all(state / "archive");
    for (const std::string verb : {"range", "count", "dump"}) {
        const outcome result = inspect_with(verb + " " + state.string() + " note --archive 2>&1");
        CHECK(result.code == 1);
        CHECK(result.output.find("handed over 4 rows of note") != std::string::npos);
        CHECK(inspect_with(verb + " " + state.string() + " note").code == 0);
    }
}

TEST_CASE("archived range: diff with the archive sees no difference in what only left memory") {
    const scratch_folder folder;
    const auto a = folder / "a";
    const auto b = folder / "b";
    build_notes(a);
    fs::copy(a, b, fs::copy_options::recursive);
    with_notes(b, archive::store_kind::rocksdb, [](database& db, notes& all) {
        all.hand_over(db.committed_revision()); // 4 and 5
    });
    const std::string both = a.string() + " " + b.string() + " --type note";
    const outcome in_memory = inspect_with("diff " + both);
    CHECK(in_memory.code == 5);
    const std::string left_out = "4 and 6 rows were handed over to the archives, which were not";
    CHECK(in_memory.output.find("note: " + left_out) != std::string::npos);
    const outcome in_all = inspect_with("diff " + both + " --archive");
    CHECK(in_all.code == 0);
    CHECK(in_all.output.find(left_out) == std::string::npos);
    const json type = json::parse(inspect_with("diff " + both + " --json").output).at("types")[0];
    CHECK(type.at("handed_over_a") == 4);
    CHECK(type.at("handed_over_b") == 6);
    with_notes(b, archive::store_kind::rocksdb,
               [](database&, notes& all) { all.remove(id<note>(2)); });
    const outcome result = inspect_with("diff " + both + " --archive --json");
    CHECK(result.code == 5);
    const json rows = json::parse(result.output).at("rows");
    REQUIRE(rows.size() == 1);
    CHECK(rows.at(0).at("id") == 2);
    CHECK(rows.at(0).at("archived_in_a") == true);
    CHECK(rows.at(0).at("b").is_null());
}

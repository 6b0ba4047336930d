// Every kind of damage that a check is to find, one word at a time: the finding is in the right
// part, names the file and the word, and the object where it is one's. And whatever is flipped, a
// check ends, and throws nothing but what it says.

#include <chainbase/database.hpp>
#include <chainbase/index_base.hpp>
#include <chainbase/rows/type_layout.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/check_support.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t accounts = 40;
constexpr std::uint64_t root = sizeof(window_header);

/// A state as a kill leaves it (so that no checksum tells of everything), with objects of all kinds
/// of keys, buffers of several classes and page runs, free slots and sessions.
class sample {
    scratch_folder folder_;

public:
    const fs::path state;

    sample() : state(folder_ / "state") {
        const fs::path origin = folder_ / "origin";
        database db(origin, quick_options());
        db.add_type<account>("account");
        db.add_type<post>("post");
        db.add_type<stake>("stake");
        fill(db);
        for (int i = 0; i < 3; ++i) {
            auto block = db.start_session();
            db.modify(db.get(id<account>(20)), [](account& a) { ++a.balance; });
            block.push();
        }
        for (std::uint32_t i = 0; i < accounts; ++i)
            if (const account* one = db.find(id<account>(i))) slots_[i] = slot_of(db, *one);
        for (std::uint32_t i = 0; i < accounts; ++i)
            if (const post* one = db.find(id<post>(i))) post_slots_[i] = slot_of(db, *one);
        for (std::uint32_t i = 0; i < accounts; ++i)
            stake_slots_[i] = slot_of(db, db.get(id<stake>(i)));
        fs::copy(origin, state, fs::copy_options::recursive);
        types_ = catalogue::read(state / "segment");
    }

    [[nodiscard]] const type_schema& schema(const std::string& type) const {
        return types_.find(type)->schema;
    }
    [[nodiscard]] slot_number slot(const std::string& type, std::uint32_t id) const {
        return type == "account" ? slots_[id] : type == "post" ? post_slots_[id] : stake_slots_[id];
    }
    /// Where the node of an object is in its file; of slot 0 without an id.
    [[nodiscard]] std::uint64_t node(const std::string& type,
                                     std::optional<std::uint32_t> id = {}) const {
        const slot_number at = id ? slot(type, *id) : 0;
        return window_header::page_bytes + std::uint64_t{at} * schema(type).node_bytes;
    }
    [[nodiscard]] std::uint64_t field(const std::string& type, std::uint32_t id,
                                      const std::string& name) const {
        for (const auto& one : schema(type).fields)
            if (one.name == name) return node(type, id) + schema(type).value_offset + one.offset;
        throw std::runtime_error("no field " + name);
    }
    /// Where the links of a tree key are.
    [[nodiscard]] std::uint64_t links(const std::string& type, const std::string& key,
                                      std::optional<std::uint32_t> id = {}) const {
        const auto layout = rows::type_layout::of(schema(type));
        for (const auto& one : layout.trees)
            if (one.key->name == key) return node(type, id) + one.links_at;
        throw std::runtime_error("no tree " + key);
    }
    [[nodiscard]] fs::path file(const std::string& name) const { return state / "segment" / name; }

    template <typename Word = std::uint32_t>
    [[nodiscard]] Word read(const std::string& name, std::uint64_t at) const {
        Word word{};
        std::ifstream in(file(name), std::ios::binary);
        in.seekg(static_cast<std::streamoff>(at));
        in.read(reinterpret_cast<char*>(&word), sizeof word);
        return word;
    }
    template <typename Word = std::uint32_t>
    void write(const std::string& name, std::uint64_t at, Word word) const {
        std::fstream out(file(name), std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(static_cast<std::streamoff>(at));
        out.write(reinterpret_cast<const char*>(&word), sizeof word);
    }

private:
    template <typename T>
    static slot_number slot_of(const database& db, const T& object) {
        const auto& windows = *db.memory().windows()[std::is_same_v<T, account> ? 0
                                                     : std::is_same_v<T, post>  ? 1
                                                                                : 2];
        const auto distance = reinterpret_cast<const std::byte*>(&object) - windows.objects->base();
        return static_cast<slot_number>(
            (static_cast<std::size_t>(distance) - window_header::page_bytes) /
            windows.objects->header().slot_bytes);
    }
    static void fill(database& db) {
        for (std::uint32_t i = 0; i < accounts; ++i) {
            db.create<account>([&](account& a) {
                a.name = std::string_view("name-" + std::to_string(i));
                a.balance = i;
                a.number = 1000 + i;
                a.group = i % 4;
            });
            db.create<post>([&](post& p) {
                p.author = "author-" + std::to_string(i % 5);
                p.permlink = "permlink-" + std::to_string(i);
                p.body = std::string(i == 3 || i == 7 ? 100'000 : 20 + 40 * (i % 6), 'b');
                const std::uint32_t votes[] = {i, 2};
                p.votes = std::span<const std::uint32_t>(votes);
            });
            db.create<stake>([&](stake& s) {
                s.owner = i % 6;
                s.score = i;
                s.weight = i % 3;
            });
        }
        for (const std::uint32_t gone : {5, 11, 17, 3}) { // the last one leaves free pages
            db.remove(db.get(id<account>(gone)));
            db.remove(db.get(id<post>(gone)));
        }
    }

    catalogue types_;
    slot_number slots_[accounts] = {};
    slot_number post_slots_[accounts] = {};
    slot_number stake_slots_[accounts] = {};
};

/// What must be found.
struct expected {
    std::string type;
    std::string part;
    std::string words;                        ///< within what is said
    std::optional<std::uint32_t> object = {}; ///< that it is about
};

bool is(const found_damage& found, const expected& wanted) {
    return found.type == wanted.type && found.part == wanted.part &&
           found.what.what.find(wanted.words) != std::string::npos &&
           (!wanted.object || found.what.object == wanted.object);
}

/// Checks with one word of a file changed, and puts it back.
template <typename Word>
void expect_found(const sample& of, const std::string& name, std::uint64_t at, Word word,
                  const expected& wanted) {
    const Word before = of.read<Word>(name, at);
    REQUIRE(before != word);
    of.write(name, at, word);
    std::vector<found_damage> all;
    {
        const check::state_check done(of.state);
        all = all_findings(done.report());
    }
    of.write(name, at, before);
    INFO(name << " at " << at << ": " << before << " -> " << word << "; wanted in " << wanted.type
              << " " << wanted.part << ": " << wanted.words << "; found:\n"
              << text_of(all));
    CHECK(std::any_of(all.begin(), all.end(), [&](const auto& one) { return is(one, wanted); }));
}

std::vector<found_damage> findings_in(const sample& of) {
    return all_findings(check::state_check(of.state).report());
}

} // namespace

TEST_CASE("the sample has nothing to find") {
    const sample of;
    INFO(text_of(findings_in(of)));
    CHECK(findings_in(of).empty());
}

TEST_CASE("damage of a pool is found") {
    const sample of;
    struct pool {
        std::string file, type, part;
    };
    const std::vector<pool> pools{{"account.objects", "account", "objects"},
                                  {"buffers.16", "", "buffers.16"},
                                  {"buffers.256", "", "buffers.256"}};
    for (const auto& [file, type, part] : pools) {
        const auto head = of.read(file, root);
        const auto used = of.read(file, root + 4);
        const auto live = of.read(file, root + 8);
        REQUIRE(head != 0);
        const std::uint64_t node =
            window_header::page_bytes + std::uint64_t{head} * of.read(file, 16);
        expect_found<std::uint32_t>(of, file, root, used + 5, {type, part, "free list leads to"});
        expect_found<std::uint32_t>(of, file, root, 0, {type, part, "the counts say"});
        expect_found<std::uint32_t>(of, file, root + 4, 0, {type, part, "slots were used"});
        expect_found<std::uint32_t>(of, file, root + 4, UINT32_MAX,
                                    {type, part, "slots were used"});
        expect_found<std::uint32_t>(of, file, root + 8, live + 1, {type, part, "the counts say"});
        expect_found<std::uint32_t>(of, file, root + 8, used + 1, {type, part, "are in use"});
        expect_found<std::uint32_t>(of, file, node, head, {type, part, "again"});
        expect_found<std::uint32_t>(of, file, node, UINT32_MAX, {type, part, "free list leads to"});
    }
    expect_found<std::uint64_t>(of, "account.objects", root + 24, 7,
                                {"account", "objects", "container's pointer to its pool"});
}

TEST_CASE("damage of page runs is found") {
    const sample of;
    const std::string file = "buffers.runs";
    const auto first = of.read(file, root);
    REQUIRE(first != 0);
    const std::uint64_t run = std::uint64_t{first} * 4096;
    const auto pages = of.read(file, run + 4);
    const expected list{"", "buffers.runs", "list of free runs"};
    expect_found<std::uint32_t>(of, file, root, 1'000'000, list);
    expect_found<std::uint32_t>(of, file, run, first, list);
    expect_found<std::uint32_t>(of, file, run + 4, 1'000'000, list);
    expect_found<std::uint32_t>(of, file, run + 4, pages - 1, {"", "buffers.runs", "in use and"});
    expect_found<std::uint32_t>(of, file, root + 4, 1'000'000,
                                {"", "buffers.runs", "pages were used"});
    expect_found<std::uint32_t>(of, file, root + 8, 3, {"", "buffers.runs", "in use and"});
    expect_found<std::uint32_t>(of, file, root, 0, {"", "buffers.runs", "in use and"});
}

TEST_CASE("damage of ids is found") {
    const sample of;
    const std::string file = "account.ids";
    const auto entry = [](std::uint32_t id) { return window_header::page_bytes + 4 * id; };
    expect_found(of, file, entry(4), of.slot("account", 6),
                 {"account", "ids", "which holds object 6", 4});
    expect_found<std::uint32_t>(of, file, entry(4), 0, {"account", "ids", "no id leads to it", 4});
    expect_found<std::uint32_t>(of, file, entry(4), 1U << 31,
                                {"account", "ids", "leads to slot", 4});
    expect_found(of, file, entry(5), of.read("account.objects", root),
                 {"account", "ids", "which is free", 5});
    expect_found<std::uint32_t>(of, "account.objects", root + 12, UINT32_MAX,
                                {"account", "ids", "ids were given"});
    expect_found<std::uint32_t>(of, "account.objects", root + 12, 39,
                                {"account", "ids", "no id leads to it", 39});
    expect_found<std::uint32_t>(of, "account.objects", of.field("account", 8, "id"), 9,
                                {"account", "ids", "which holds object 9", 8});
}

TEST_CASE("damage of trees is found") {
    const sample of;
    struct tree {
        std::string type, key;
    };
    for (const auto& [type, key] : std::vector<tree>{{"account", "by_name"},
                                                     {"account", "by_balance"},
                                                     {"account", "by_group"},
                                                     {"account", "by_distance"},
                                                     {"post", "by_link"},
                                                     {"stake", "by_score"},
                                                     {"stake", "by_weight"}}) {
        const std::string file = type + ".objects";
        for (const std::uint32_t id : {0U, 10U, 19U, 39U}) {
            const std::uint64_t at = of.links(type, key, id);
            const expected here{type, key, ""};
            const auto parent = of.read(file, at);
            expect_found<std::uint32_t>(of, file, at, parent + 2, {type, key, "its parent is", id});
            expect_found<std::uint32_t>(of, file, at, parent ^ 1, here);
            for (const int word : {4, 8}) {
                expect_found<std::uint32_t>(of, file, at + word, 0,
                                            {type, key, "reached already", id});
                expect_found<std::uint32_t>(of, file, at + word, 0x3FFF'FFFF,
                                            {type, key, "which is no object", id});
                if (of.read(file, at + word) != 0xC000'0000)
                    expect_found<std::uint32_t>(of, file, at + word, 0xC000'0000,
                                                {type, key, "not reached"});
            }
            if (type == "stake")
                expect_found<std::uint32_t>(of, file, at + 12, of.read(file, at + 12) + 1,
                                            {type, key, "counts", id});
        }
        const std::uint64_t header = of.links(type, key);
        expect_found<std::uint32_t>(of, file, header, of.read(file, header) ^ 1,
                                    {type, key, "header is black"});
        expect_found<std::uint32_t>(of, file, header, 0x8000'0000, {type, key, "not reached"});
        expect_found<std::uint32_t>(of, file, header + 4, 0, {type, key, "the first object"});
        expect_found<std::uint32_t>(of, file, header + 8, 0, {type, key, "the last object"});
    }
}

TEST_CASE("keys that are not in order or not unique are found") {
    const sample of;
    const std::string file = "account.objects";
    expect_found<std::uint64_t>(of, file, of.field("account", 8, "name"), 'z',
                                {"account", "by_name", "comes before"});
    expect_found<std::int64_t>(of, file, of.field("account", 8, "balance"), -7,
                               {"account", "by_balance", "comes before"});
    expect_found<std::uint32_t>(of, file, of.field("account", 8, "group"), 77,
                                {"account", "by_group", "comes before"});
    expect_found<std::int64_t>(of, "stake.objects", of.field("stake", 8, "score"), 1000,
                               {"stake", "by_score", "comes before"});
    const auto other = of.read<std::uint64_t>("post.objects", of.field("post", 9, "permlink"));
    expect_found(of, "post.objects", of.field("post", 8, "permlink"), other,
                 {"post", "by_address", "hash of its key", 8});
    // name-8 becomes name-9
    const auto name = of.read<std::uint64_t>(file, of.field("account", 9, "name"));
    expect_found(of, file, of.field("account", 8, "name"), name,
                 {"account", "by_name", "equal to that of"});
}

TEST_CASE("damage of hash tables and rings is found") {
    const sample of;
    const std::string file = "account.0.hash";
    const auto layout = rows::type_layout::of(of.schema("account"));
    const std::uint64_t words = root + layout.tables[0].words_at;
    const std::uint64_t begin = 8ULL << of.read("account.objects", words);
    std::uint64_t at = begin;
    while (of.read(file, at) != of.slot("account", 20))
        at += 8;
    const auto hash = of.read(file, at + 4);
    const auto wanted = [&](const char* text, std::optional<std::uint32_t> id = {}) {
        return expected{"account", "by_number", text, id};
    };
    expect_found<std::uint32_t>(of, file, at, 0, wanted("no entry", 20));
    expect_found<std::uint32_t>(of, file, at, 0, wanted("an empty entry has a hash"));
    expect_found<std::uint32_t>(of, file, at, 1U << 30, wanted("which is no object"));
    expect_found(of, file, at, of.slot("account", 21), wanted("has two entries", 21));
    expect_found<std::uint32_t>(of, file, at + 4, hash ^ 1, wanted("the hash of its key", 20));
    expect_found<std::uint32_t>(of, file, at + 4, ~hash, wanted("a search that begins", 20));
    expect_found<std::uint32_t>(of, "account.objects", words, 40, wanted("is not in a file"));
    expect_found<std::uint32_t>(of, "account.objects", words, 3, wanted("is not in a file"));
    expect_found<std::uint32_t>(of, "account.objects", words + 4, 7, wanted("are counted"));
    expect_found<std::uint64_t>(of, "account.objects", of.field("account", 8, "number"), 1,
                                wanted("the hash of its key", 8));

    const std::uint64_t ring =
        *rows::type_layout::of(of.schema("post")).tables[1].ring_at + of.node("post", 10);
    const auto posts = [&](const char* text, std::optional<std::uint32_t> id = {}) {
        return expected{"post", "by_author", text, id};
    };
    expect_found<std::uint32_t>(of, "post.objects", ring, 9999, posts("which is no object", 10));
    expect_found(of, "post.objects", ring, of.slot("post", 10), posts("in another place", 10));
    expect_found(of, "post.objects", ring, of.slot("post", 12), posts("in another place", 10));
    expect_found(of, "post.objects", ring, of.slot("post", 20), posts("the one before it", 20));
    const auto author = of.read<std::uint64_t>("post.objects", of.field("post", 12, "author"));
    expect_found(of, "post.objects", of.field("post", 10, "author"), author,
                 posts("another key", 10));
    expect_found<std::uint32_t>(of, "post.objects", ring + 4, 0, posts("the one before it", 10));
}

TEST_CASE("references to no buffer of their own are found") {
    const sample of;
    const std::string file = "post.objects";
    const auto expect = [&](const char* field, std::uint64_t handle, const char* text,
                            const expected* instead = nullptr) {
        const expected usual{"post", "references", text, 8};
        expect_found<std::uint64_t>(of, file, of.field("post", 8, field), handle,
                                    instead ? *instead : usual);
    };
    const auto body = of.read<std::uint64_t>(file, of.field("post", 8, "body"));
    const auto other = of.read<std::uint64_t>(file, of.field("post", 14, "body")); // as long
    const auto run = of.read<std::uint64_t>(file, of.field("post", 7, "body"));
    const auto votes = of.read<std::uint64_t>(file, of.field("post", 8, "votes"));
    const std::string name =
        "buffers." +
        std::to_string(size_classes::bytes_of_class(size_classes::class_of(body & 0xFFFF'FFFF)));
    const expected lost{"", name, "nor any object's"};
    expect("body", 0, "", &lost);
    expect("body", body ^ (1ULL << 63), "is no buffer");
    expect("body", body & ~0xFFFF'FFFFULL, "is no buffer");
    expect("body", body | 0x3FFF'0000ULL << 32, "beyond the");
    const expected shared{"post", "references", "another object's, too", 14};
    expect("body", other, "", &shared);
    expect_found<std::uint64_t>(of, file, of.field("post", 14, "body"), body,
                                {"post", "references", "another object's, too", 14});
    expect_found<std::uint64_t>(of, file, of.field("post", 14, "body"), run,
                                {"post", "references", "another object's, too", 14});
    expect("votes", votes + 1, "are no array of 4 each");
    const auto free = of.read("buffers.16", root);
    expect("votes", buffer_handle::make(free, 8).bits, "the buffer is free");
    const auto page = of.read("buffers.runs", root);
    expect("votes", buffer_handle::make(page, 70'000).bits, "the buffer is free");
    expect("votes", buffer_handle::make(page, UINT32_MAX).bits, "beyond the");
}

TEST_CASE("damage of the log is found") {
    const sample of;
    const auto tail = of.read<std::uint64_t>("undo_log", root);
    for (const std::uint64_t word : {0, 8, 16, 24}) // tail, completed, newest, oldest
        expect_found<std::uint64_t>(of, "undo_log", root + word, 3, {"", "undo_log", "not within"});
    expect_found<std::uint32_t>(of, "undo_log", root + 52, UINT32_MAX,
                                {"", "undo_log", "chunks are in use"});
    // The last record is of a session that was pushed: rolling back does not come there.
    expect_found<std::uint64_t>(of, "undo_log", tail - 8, UINT64_MAX,
                                {"", "undo_log", "not the end of a record"});
}

TEST_CASE("damage of header, catalogue and files is found") {
    const sample of;
    expect_found<std::uint64_t>(of, "header", 24, 4096, {"", "header", "checksum is wrong"});
    expect_found<std::uint32_t>(of, "header", 36, 9, {"", "header", "neither closed nor open"});
    expect_found<std::uint32_t>(of, "catalogue.json", 60, 0, {"", "header", "not valid JSON"});
    for (const char* name :
         {"undo_log", "buffers.16", "account.objects", "account.ids", "account.0.hash"}) {
        expect_found<std::uint32_t>(of, name, 16, 12345, {"", "header", "checksum does not match"});
        const fs::path aside = of.state / "aside";
        fs::rename(of.file(name), aside);
        auto all = findings_in(of);
        INFO(name << "\n" << text_of(all));
        CHECK(std::any_of(all.begin(), all.end(), [&](const found_damage& one) {
            return one.what.file == std::string("segment/") + name;
        }));
        fs::copy_file(aside, of.file(name));
        fs::resize_file(of.file(name), 4096 + 100);
        CHECK_FALSE(findings_in(of).empty());
        fs::resize_file(of.file(name), 4096);
        CHECK_FALSE(findings_in(of).empty());
        fs::rename(aside, of.file(name));
    }
    CHECK(findings_in(of).empty());
    fs::remove(of.state / "lock");
    CHECK_FALSE(findings_in(of).empty());
}

TEST_CASE("two types at one place are found") {
    const sample of;
    std::string text = read_file(of.file("catalogue.json"));
    const auto at = text.rfind("\"first_window\": ");
    REQUIRE(at != std::string::npos);
    text.replace(at, text.find_first_of(",\n", at) - at, "\"first_window\": 26");
    replace_file(of.file("catalogue.json"), text);
    const auto all = findings_in(of);
    INFO(text_of(all));
    CHECK(std::any_of(all.begin(), all.end(), [](const found_damage& one) {
        return one.what.what.find("is taken") != std::string::npos;
    }));
}

TEST_CASE("random flips are survived, and those of links are found") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const sample of;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(of.state / "segment"))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::uint64_t found = 0;
    for (std::uint64_t round = 0; round < short_test_operations(1500); ++round) {
        struct flip {
            std::string name;
            std::uint64_t at;
            std::uint32_t before;
        };
        std::vector<flip> flips;
        for (std::uint32_t i = 1 + random.below(3); i > 0; --i) {
            const std::string& name = names[random.below(static_cast<std::uint32_t>(names.size()))];
            const auto bytes = std::min<std::uint64_t>(fs::file_size(of.file(name)), 16384);
            const std::uint64_t at = random.below(static_cast<std::uint32_t>(bytes / 4)) * 4;
            flips.push_back({name, at, of.read(name, at)});
            const std::uint32_t bit = 1U << random.below(32);
            const auto word = random.chance(300) ? static_cast<std::uint32_t>(random.next())
                                                 : flips.back().before ^ bit;
            of.write(name, at, word);
            UNSCOPED_INFO(name << " at " << at << ": " << flips.back().before << " -> " << word);
        }
        try {
            found += check::state_check(of.state).report().found_in_all() != 0;
        } catch (const error&) { // a header of another format
            ++found;
        }
        for (auto one = flips.rbegin(); one != flips.rend(); ++one)
            of.write(one->name, one->at, one->before);
    }
    CHECK(found > 0);
    CHECK(findings_in(of).empty());
}

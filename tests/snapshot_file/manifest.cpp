// Manifests: one way to write each, roots that follow from chunks, and whatever else comes is
// refused, also when its checksum was made to fit.

#include <chainbase/offline/snapshot_file/manifest.hpp>
#include <chainbase/state_root/state_tree.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <tests/snapshot_file/sample_rows.hpp>

#include <algorithm>
#include <functional>

using namespace chainbase;
using namespace chainbase::test;
using namespace chainbase::snapshot_file;
using Catch::Matchers::Contains;

namespace {

sha256_digest random_digest(random_source& random) {
    sha256_digest digest;
    for (std::byte& one : digest)
        one = static_cast<std::byte>(random.below(256));
    return digest;
}

type_schema schema_called(const std::string& name) {
    type_schema schema;
    schema.name = name;
    schema.value_bytes = 16;
    schema.node_bytes = 40;
    schema.fields = {{"id", "id", 0, 4}, {"owner \"}x\\y", "u32[3]", 4, 12}};
    schema.keys = {{"by_owner", "unique", {{"owner", true}}}};
    return schema;
}

/// Chunks below a node of this weight, cut as FORMAT.md says.
void random_chunks(random_source& random, node at, std::uint64_t weight,
                   std::vector<chunk_entry>& into) {
    if (weight < 8) return;
    if (weight <= most_bytes || at.height == 0) {
        const std::uint64_t most = std::min(weight / 8, std::uint64_t{1} << at.height);
        const auto objects =
            static_cast<std::uint32_t>(1 + random.below(static_cast<std::uint32_t>(most)));
        into.push_back({at, objects, weight, random_digest(random), random_digest(random)});
        return;
    }
    const auto [left, right] = halves(at);
    const std::uint64_t part = random.one_in(4)   ? 0
                               : random.one_in(3) ? weight
                                                  : random.next() % weight;
    random_chunks(random, left, part, into);
    // What is left over must not be too little for a row.
    random_chunks(random, right, weight - (part < 8 ? 0 : part), into);
}

type_entry random_type(random_source& random, const std::string& name, bool has_rows) {
    type_entry type;
    type.schema = schema_called(name);
    if (!random.one_in(5))
        random_chunks(random, {0, 32},
                      random.one_in(2) ? 8 + random.below(1000) : random.below(100'000'000),
                      type.chunks);
    if (type.chunks.size() == 1 && type.chunks[0].at.height == 32) { // any height will do
        const unsigned height = 4 * (1 + random.below(8));
        type.chunks[0].at.height = height;
        type.chunks[0].objects = height < 8 ? 1 : std::min(type.chunks[0].objects, 129U);
        if (height >= 8) type.chunks[0].at.height = 8;
    }
    for (const chunk_entry& one : type.chunks)
        type.objects += one.objects;
    if (!type.chunks.empty()) {
        const auto last = static_cast<std::uint32_t>(type.chunks.back().at.end() - 1);
        type.height = snapshots::tree_height(last);
        type.next_id = last == 0xffff'ffff ? last : last + 1;
    }
    if (has_rows) {
        type.archived = random.next() % (type.objects + 1);
        type.row_layout = random.below(5);
        type.archive_keys = {"by_owner", "with \"quotes\""};
        if (random.one_in(3)) type.removed = type.chunks;
    }
    type.is_committed = random.one_in(2);
    type.root = type.computed_root();
    return type;
}

manifest random_manifest(random_source& random, std::uint32_t types) {
    manifest all;
    all.chain = random.one_in(3) ? "" : "hive \"main\" \\n\xC3\xBC";
    all.revision = static_cast<revision_number>(random.next() >> 1);
    if (random.one_in(2)) all.block = {random.next(), "00ffab"};
    const char* const kinds[]{"", "none", "memory", "rocksdb"};
    all.archive = kinds[random.below(4)];
    for (std::uint32_t i = 0; i < types; ++i)
        all.types.push_back(
            random_type(random, fmt::format("type{:03}", i), all.archive.size() > 4));
    all.state_root = all.computed_state_root();
    return all;
}

/// With a checksum that fits what is before it.
std::string summed(const std::string& text) {
    const std::string before = text.substr(0, text.rfind(",\"sum\""));
    return before +
           fmt::format(",\"sum\":\"{:016x}\"}}\n", archive::hash_of(archive::as_bytes(before)));
}

void require_same(const manifest& a, const manifest& b) {
    REQUIRE(a.chain == b.chain);
    REQUIRE(a.revision == b.revision);
    REQUIRE(a.block == b.block);
    REQUIRE(a.state_root == b.state_root);
    REQUIRE(a.archive == b.archive);
    REQUIRE(a.types.size() == b.types.size());
    for (std::size_t i = 0; i < a.types.size(); ++i) {
        REQUIRE(a.types[i].schema == b.types[i].schema);
        REQUIRE(a.types[i].next_id == b.types[i].next_id);
        REQUIRE(a.types[i].is_committed == b.types[i].is_committed);
        REQUIRE(a.types[i].objects == b.types[i].objects);
        REQUIRE(a.types[i].archived == b.types[i].archived);
        REQUIRE(a.types[i].row_layout == b.types[i].row_layout);
        REQUIRE(a.types[i].archive_keys == b.types[i].archive_keys);
        REQUIRE(a.types[i].height == b.types[i].height);
        REQUIRE(a.types[i].root == b.types[i].root);
        REQUIRE(a.types[i].chunks == b.types[i].chunks);
        REQUIRE(a.types[i].removed == b.types[i].removed);
    }
}

/// A manifest of two types with two chunks and one.
manifest small_manifest() {
    random_source random(5);
    manifest all;
    all.chain = "test";
    all.revision = 12;
    all.block = {12, "0a"};
    all.archive = "memory";
    all.types.resize(2);
    all.types[0].schema = schema_called("account");
    all.types[0].chunks = {{{0, 4}, 3, 1000, random_digest(random), random_digest(random)}};
    all.types[1].schema = schema_called("post");
    all.types[1].chunks = {{{0, 7}, 100, most_bytes, random_digest(random), random_digest(random)},
                           {{128, 7}, 100, 3000, random_digest(random), random_digest(random)}};
    all.types[1].archived = 50;
    all.types[1].is_committed = true;
    for (type_entry& one : all.types) {
        one.height = one.chunks.size() == 1 ? 4 : 8;
        one.objects = one.chunks.size() == 1 ? 3 : 200;
        one.next_id = 256;
        one.root = one.computed_root();
    }
    all.state_root = all.computed_state_root();
    return all;
}

void require_refused(const std::string& text, const std::string& why) {
    CAPTURE(text);
    REQUIRE_THROWS_AS(manifest::of(text, "of the test"), damaged_error);
    REQUIRE_THROWS_WITH(manifest::of(text, "of the test"),
                        Contains("of the test") && Contains(why));
}

/// What somebody makes who knows how sums are made.
void require_forgery_refused(const std::function<void(manifest&)>& alter, const std::string& why,
                             bool with_roots = true) {
    manifest all = small_manifest();
    alter(all);
    if (with_roots) {
        for (type_entry& one : all.types)
            one.root = one.computed_root();
        all.state_root = all.computed_state_root();
    }
    require_refused(all.text(), why);
}

void require_edit_refused(const std::string& what, const std::string& by, const std::string& why) {
    std::string text = small_manifest().text();
    const std::size_t at = text.find(what);
    REQUIRE(at != text.npos);
    text.replace(at, what.size(), by);
    require_refused(summed(text), why);
}

} // namespace

TEST_CASE("a manifest is read as it was written") {
    random_source random(test_seed(21));
    CAPTURE(random.seed());
    std::size_t chunks = 0;
    for (std::uint64_t i = 0; i < short_test_operations(200); ++i) {
        const manifest all = random_manifest(random, random.below(6));
        const std::string text = all.text();
        CAPTURE(text);
        const manifest read = manifest::of(text, "x");
        require_same(read, all);
        REQUIRE(read.text() == text);
        REQUIRE(read.name() == sha256().of(archive::as_bytes(text)));
        std::uint64_t objects = 0;
        for (const type_entry& one : all.types) {
            objects += one.objects;
            chunks += one.chunks.size();
            REQUIRE(read.find(one.schema.name)->root == one.root);
        }
        REQUIRE(read.objects() == objects);
        REQUIRE(read.find("type") == nullptr);
        REQUIRE(read.find("typf") == nullptr);
    }
    REQUIRE(chunks > 1000);
}

TEST_CASE("a manifest is JSON with its members in the order of the page") {
    manifest all;
    all.chain = "a\"b";
    all.revision = 7;
    REQUIRE(all.text() ==
            summed(R"({"snapshot":1,"chain":"a\"b","revision":7,"block":null,"state_root":null,)"
                   R"("archive":null,"catalogue":{"format":1,"container_layout":1,"types":[]},)"
                   R"("types":[],"sum")"));
    all.types.resize(1);
    all.types[0].schema.name = "x y";
    all.types[0].schema.value_bytes = 4;
    all.types[0].schema.fields = {{"id", "id", 0, 4}};
    all.types[0].next_id = 3;
    REQUIRE_THAT(all.text(), Contains(R"("types":[{"name":"x y","first_window":0,"hash":")"));
    REQUIRE_THAT(all.text(),
                 Contains(R"("types":[{"name":"x y","next_id":3,"is_committed":false,"objects":0,)"
                          R"("archived":0,"row_layout":0,"archive_keys":[],"height":0,"root":")" +
                          std::string(64, '0') + R"(","chunks":[],"removed":[]}],"sum":")"));
    REQUIRE(all.bytes() == 0);
    REQUIRE(all.chunks() == 0);
}

TEST_CASE("the roots of types and state are those of the state root") {
    random_source random(test_seed(22));
    CAPTURE(random.seed());
    for (std::uint64_t i = 0; i < short_test_operations(100); ++i) {
        manifest all;
        std::vector<std::string> names;
        std::vector<sample_rows> rows_of;
        for (std::uint32_t n = 0; n < 1 + random.below(20); ++n) {
            rows_of.push_back(random_rows(random, 200, 30));
            type_entry& type = all.types.emplace_back();
            type.schema.name = fmt::format("type{:03}", n);
            type.height = height_of(rows_of.back());
            type.is_committed = random.one_in(2);
            std::vector<piece> pieces;
            naive_cut(rows_of.back(), {0, type.height}, 1 + random.below(2000), pieces);
            for (const piece& one : pieces)
                type.chunks.push_back({one.at, one.content.objects(), 1, {}, one.root});
            type.root = type.computed_root();
            REQUIRE(type.root == tree_of(rows_of.back()).root());
            if (type.is_committed) names.push_back(type.schema.name);
        }
        state_root::state_tree tree(names);
        for (std::size_t n = 0; n < all.types.size(); ++n) {
            std::vector<state_root::leaf_update> leaves;
            for (const auto& [id, row] : rows_of[n])
                leaves.push_back({id, sha256().of(row.record)});
            if (const auto number = tree.number_of(all.types[n].schema.name))
                tree.update(*number, leaves);
        }
        REQUIRE(all.computed_state_root() ==
                (names.empty() ? std::nullopt : std::optional(tree.root())));
    }
}

TEST_CASE("a flipped bit and a cut in a manifest are found") {
    std::string text = small_manifest().text();
    (void)manifest::of(text, "x");
    for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
        text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
        CAPTURE(bit);
        REQUIRE_THROWS_AS(manifest::of(text, "x"), error);
        text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    }
    for (std::size_t cut = 0; cut < text.size(); ++cut)
        REQUIRE_THROWS_AS(manifest::of(text.substr(0, cut), "x"), damaged_error);
    REQUIRE_THROWS_AS(manifest::of(text + "\n", "x"), damaged_error);
    REQUIRE_THROWS_AS(manifest::of(text + text, "x"), damaged_error);

    random_source random(test_seed(23));
    CAPTURE(random.seed());
    std::string large = random_manifest(random, 60).text();
    for (std::uint64_t i = 0; i < short_test_operations(10'000); ++i) {
        const std::uint32_t bit = random.below(static_cast<std::uint32_t>(8 * large.size()));
        large[bit / 8] = static_cast<char>(large[bit / 8] ^ 1 << bit % 8);
        REQUIRE_THROWS_AS(manifest::of(large, "x"), error);
        large[bit / 8] = static_cast<char>(large[bit / 8] ^ 1 << bit % 8);
    }
}

TEST_CASE("a manifest whose checksum was made to fit is refused, or is one") {
    random_source random(test_seed(24));
    CAPTURE(random.seed());
    const std::string small = small_manifest().text();
    const auto check = [](const std::string& text) {
        CAPTURE(text);
        std::string again = text;
        try {
            again = manifest::of(text, "x").text();
        } catch (const damaged_error&) {
        } catch (const format_error&) {
        }
        REQUIRE(again == text);
    };
    for (std::size_t i = 0; i < small.size(); ++i)
        for (const char other : {'0', '9', '"', ' ', '{', ']', ',', '\\', '-', '\0', '\x80'}) {
            std::string text = small;
            text[i] = other;
            check(summed(text));
        }
    for (std::uint64_t i = 0; i < short_test_operations(10'000); ++i) {
        const std::string other = random.one_in(2) ? small : random_manifest(random, 2).text();
        std::string text = small;
        const auto some = [&](const std::string& of) {
            return random.below(static_cast<std::uint32_t>(of.size()));
        };
        const std::uint32_t at = some(text);
        switch (random.below(3)) {
        case 0:
            text.erase(at, 1 + random.below(100));
            break;
        case 1:
            text.insert(at, other.substr(some(other), random.below(100)));
            break;
        default:
            text = text.substr(0, at) + other.substr(some(other));
        }
        check(summed(text));
    }
    check(summed(std::string(100'000, '[') + ",\"sum\""));
    check(summed(R"({"snapshot":1,"chain":"","revision":0,"block":null,"state_root":null,)"
                 R"("archive":null,"catalogue":)" +
                 std::string(1'000'000, '{')));
}

TEST_CASE("a manifest of another version says so") {
    std::string text = small_manifest().text();
    text.replace(text.find("1"), 1, "2");
    REQUIRE_THROWS_AS(manifest::of(text, "x"), format_error);
    REQUIRE_THROWS_WITH(manifest::of(text, "x"), Contains("version 2, this program reads 1"));
    require_refused("", "does not begin");
    require_refused("{}", "does not begin");
    require_refused(R"({"snapshot":1)", "checksum");
}

TEST_CASE("numbers that do not fit each other are refused by name") {
    const auto first = [](auto change) {
        return [change](manifest& all) { change(all.types[1].chunks[0]); };
    };
    const auto post = [](auto change) { return [change](manifest& all) { change(all.types[1]); }; };
    using chunk = chunk_entry;
    using type = type_entry;
    require_forgery_refused(first([](chunk& one) { one.objects = 99; }),
                            "type \"post\": chunks: not as many objects");
    require_forgery_refused(first([](chunk& one) { one.objects = 0; }), "chunk 0: so many objects");
    require_forgery_refused(first([](chunk& one) { one.objects = 129; }), "so many objects");
    require_forgery_refused(first([](chunk& one) { one.bytes = most_bytes + 1; }),
                            "too many bytes");
    require_forgery_refused(first([](chunk& one) { one.bytes = 799; }), "its objects have more");
    require_forgery_refused(first([](chunk& one) { one.bytes = 1000; }), "could be larger");
    require_forgery_refused(first([](chunk& one) { one.at = {64, 6}; }), "so many objects");
    require_forgery_refused(post([](type& one) { one.chunks[1].at.first = 0; }), "not behind");
    require_forgery_refused(post([](type& one) { one.chunks[1].at.first = 129; }), "no node");
    require_forgery_refused(post([](type& one) { one.chunks[1].at.first = 256; }),
                            "not in a tree of this height");
    require_forgery_refused(post([](type& one) { one.next_id = 227; }), "next_id");
    require_forgery_refused(post([](type& one) { one.archived = 201; }), "archived");
    require_forgery_refused(post([](type& one) { one.height = 12; }), "another height");
    require_forgery_refused(post([](type& one) { one.height = 9; }), "another height");
    require_forgery_refused(post([](type& one) { one.height = 4; }), "not in a tree");
    require_forgery_refused(
        [](manifest& all) {
            all.types[1].chunks.clear();
            all.types[1].objects = all.types[1].archived = 0;
        },
        "another height");
    require_forgery_refused(post([](type& one) { one.removed = {one.chunks[1], one.chunks[0]}; }),
                            "type \"post\": removed: chunk 1: it is not behind");
    require_forgery_refused([](manifest& all) { all.archive = "none"; }, "archived");
    require_forgery_refused(
        [](manifest& all) {
            all.archive = "none";
            all.types[1].archived = 0;
            all.types[1].removed = all.types[1].chunks;
        },
        "removed: the archive keeps no rows");
    require_forgery_refused([](manifest& all) { all.archive = ""; }, "archived");
    require_forgery_refused([](manifest& all) { all.archive = "x"; }, "archive: archive: \"x\"");
    require_forgery_refused([](manifest& all) { all.revision = -1; }, "revision: a state has none");
    require_forgery_refused([](manifest& all) { all.block->id = "0G"; }, "hexadecimal");
    require_forgery_refused([](manifest& all) { std::swap(all.types[0], all.types[1]); },
                            "not behind \"post\"");
    require_forgery_refused([](manifest& all) { all.types[1] = all.types[0]; },
                            "not behind \"account\"");
}

TEST_CASE("a type that no program declares is refused by name and field") {
    const auto refused = [](const std::function<void(type_schema&)>& alter,
                            const std::string& why) {
        require_forgery_refused([&](manifest& all) { alter(all.types[1].schema); }, why);
    };
    refused([](type_schema& one) { one.fields[1].offset = 3; },
            "post: field owner \"}x\\y overlaps");
    refused([](type_schema& one) { one.fields.push_back(one.fields[0]); }, "overlaps");
    refused([](type_schema& one) { one.fields[1].offset = 5; }, "is not within an object of 16");
    refused([](type_schema& one) { one.value_bytes = 1'900'000'000; }, "an object has 1900000000");
    refused([](type_schema& one) { one.node_bytes = 0xFFFF'FFFF; }, "an object has 4294967295");
    refused([](type_schema& one) { one.value_bytes = 80; }, "no field describes the 64 bytes");
    refused(
        [](type_schema& one) {
            one.value_bytes = 100;
            one.fields[1].offset = 68;
        },
        "no field describes the 64 bytes before field owner");
    refused(
        [](type_schema& one) {
            one.value_bytes = 24;
            one.fields.push_back({"all", "shared_vector<fixed_string<300000>>", 16, 8});
        },
        "field all holds");
    refused([](type_schema& one) { one.fields[1].type = "fixed_string<12>"; }, "holds a text");
    for (const char* const name : {"", "../account", "a/../../b", ".account"})
        require_forgery_refused([&](manifest& all) { all.types[0].schema.name = name; },
                                "is no name of a type");
    manifest padded = small_manifest();
    padded.types[1].schema.value_bytes = 32;
    CHECK_NOTHROW((void)manifest::of(padded.text(), "x"));
}

TEST_CASE("names that a terminal would obey are refused") {
    const std::string bad[] = {"a\nb", "a\x1B[2J", "a\x7F", "a\xC2\x9B", "a\xFF", "a\xC3"};
    for (const std::string& name : bad) {
        CAPTURE(name);
        const auto refused = [&](const std::function<void(manifest&)>& alter) {
            manifest all = small_manifest();
            alter(all);
            all.state_root = all.computed_state_root();
            REQUIRE_THROWS_AS(manifest::of(all.text(), "x"), damaged_error);
        };
        refused([&](manifest& all) { all.chain = name; });
        refused([&](manifest& all) { all.types[1].schema.name = "post" + name; });
        refused([&](manifest& all) { all.types[1].schema.fields[1].name = name; });
        refused([&](manifest& all) { all.types[1].schema.fields[1].type = name; });
        refused([&](manifest& all) { all.types[1].schema.keys[0].name = name; });
        refused([&](manifest& all) { all.types[1].schema.keys[0].parts[0].field = name; });
        refused([&](manifest& all) { all.types[1].archive_keys = {name}; });
    }
}

TEST_CASE("a digest that is listed twice means the same both times") {
    const auto lifted = [](sha256_digest root, int levels) {
        for (; levels != 0; --levels)
            root = state_root::digest_of_pair(root, {});
        return root;
    };
    const auto forge = [&](const std::function<void(chunk_entry&)>& alter) {
        manifest all = small_manifest();
        type_entry& other = all.types[1];
        other.chunks = all.types[0].chunks;
        other.chunks[0].at.height = 8;
        other.chunks[0].root = lifted(other.chunks[0].root, 4);
        alter(other.chunks[0]);
        other.objects = other.chunks[0].objects;
        other.archived = 0;
        other.height = other.chunks[0].at.height;
        other.root = other.computed_root();
        all.state_root = all.computed_state_root();
        return all.text();
    };
    const std::string why = "type \"post\": the chunk of ids from 0 has the digest of another one";
    CHECK_NOTHROW((void)manifest::of(forge([](chunk_entry&) {}), "x"));
    require_refused(forge([](chunk_entry& one) { one.root[3] ^= std::byte{1}; }), why);
    require_refused(forge([](chunk_entry& one) { one.at.height = 4; }), why);
    require_refused(forge([](chunk_entry& one) { --one.objects; }), why);
    require_refused(forge([](chunk_entry& one) { --one.bytes; }), why);
}

TEST_CASE("roots that do not lead to the state root are refused") {
    const auto forge = [](const std::function<void(manifest&)>& alter, const std::string& why) {
        require_forgery_refused(alter, why, /*with_roots=*/false);
    };
    const auto other = [](sha256_digest& one) { one[7] ^= std::byte{1}; };
    forge([&](manifest& all) { other(all.types[1].chunks[1].root); },
          "type \"post\": chunks: the root does not follow");
    forge(
        [&](manifest& all) { std::swap(all.types[1].chunks[0].root, all.types[1].chunks[1].root); },
        "the root does not follow");
    forge([&](manifest& all) { other(all.types[0].root); }, "the root does not follow");
    forge(
        [&](manifest& all) {
            other(all.types[1].chunks[1].root);
            all.types[1].root = all.types[1].computed_root();
        },
        "state_root: it does not follow");
    forge([&](manifest& all) { other(*all.state_root); }, "state_root: it does not follow");
    forge([](manifest& all) { all.state_root.reset(); }, "state_root: it does not follow");
    forge([](manifest& all) { all.types[0].is_committed = true; },
          "state_root: it does not follow");
    forge([](manifest& all) { all.types[1].is_committed = false; },
          "state_root: it does not follow");
}

TEST_CASE("another way to write a manifest is refused") {
    require_edit_refused("\"revision\":12", "\"revision\":012", "not written as");
    require_edit_refused("\"revision\":12", "\"revision\":12.0", "not \",\"\"");
    require_edit_refused("\"revision\":12", "\"revision\":1e1", "not \",\"\"");
    require_edit_refused("\"revision\":12", "\"revision\":99999999999999999999",
                         "revision: not a whole number of at most 9223372036854775807");
    require_edit_refused("\"revision\":12", "\"revision\": 12", "revision: not a whole number");
    require_edit_refused("\"revision\":12", "\"revision\":12,\"revision\":12", "block");
    require_edit_refused("\"revision\":12,", "", "revision");
    require_edit_refused("\"test\"", R"("\u0074est")", "not written as");
    require_edit_refused("\"test\"", R"("\test")", "not written as");
    require_edit_refused("\"test\"", "\"te\nst\"", "control characters");
    require_edit_refused("\"chain\":\"test\"", "\"chain\":null", "chain: not \"\"\"");
    require_edit_refused("\"next_id\":256", "\"next_id\":4294967296", "next_id");
    require_edit_refused("\"next_id\":256", "\"next_id\":-1", "next_id");
    require_edit_refused("\"is_committed\":false", "\"is_committed\":0", "is_committed");
    require_edit_refused("[0,7,", "[0,7,,", "chunks");
    require_edit_refused("\"name\":\"account\",\"next_id\"", "\"name\":\"accounu\",\"next_id\"",
                         "another one than in the catalogue");
    require_edit_refused("\"value_bytes\":16", "\"value_bytes\":17", "does not match its hash");
    require_edit_refused("\"first_window\":0", "\"first_window\":1", "not written as");
    require_edit_refused("{\"format\":1,", "{\"format\":1,\"more\":1,", "not written as");
    require_edit_refused(",\"sum\"", ",\"more\":1,\"sum\"", "more than a manifest");
    std::string text = small_manifest().text();
    text.insert(text.find("],\"sum\""), ",{}");
    require_refused(summed(text), "more types than in the catalogue");
    text = small_manifest().text();
    const std::size_t second = text.find(",{\"name\":\"post\",\"next_id\"");
    text.erase(second, text.find("],\"sum\"") - second);
    require_refused(summed(text), "fewer types than in the catalogue");
}

// The file of a root's leaves: whatever becomes of it, no wrong tree is made of it.

#include <chainbase/state_root/leaves_file.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <tests/state_root/digests.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/temporary_folder.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::id_tree;
using state_root::leaf_update;
using state_root::read_leaves;
using state_root::state_tree;
using state_root::write_leaves;

namespace fs = std::filesystem;

namespace {

/// The numbers of a file as FORMAT.md has them.
std::string little_endian(std::uint64_t number, unsigned bytes) {
    std::string all;
    for (unsigned i = 0; i < bytes; ++i)
        all += static_cast<char>(number >> 8 * i);
    return all;
}

std::string text_of(const sha256_digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

void add(state_tree& to, std::size_t type, std::uint32_t id, const sha256_digest& leaf) {
    to.update(type, std::vector<leaf_update>{{id, leaf}});
}

/// A tree of so many objects with ids below `range`, and its file.
struct sample : seeded, temporary_folder {
    sample() : temporary_folder(memory_or_disk()) {}
    state_tree any_tree(std::vector<std::string> types, std::uint32_t count, std::uint32_t range) {
        state_tree tree(std::move(types));
        for (std::uint32_t left = count; left != 0 && !tree.types().empty(); --left)
            add(tree, random.below(static_cast<std::uint32_t>(tree.types().size())),
                random.below(range), any_digest(random));
        return tree;
    }
    [[nodiscard]] fs::path file() const { return *this / state_root::leaves_file_name; }
};

bool is_same(const state_tree& a, const state_tree& b) {
    if (a.types() != b.types() || a.root() != b.root() || a.leaves() != b.leaves()) return false;
    std::size_t differing = 0;
    for (std::size_t type = 0; type < a.types().size(); ++type)
        id_tree::differences(a.objects(type), b.objects(type), [&](std::uint32_t) { ++differing; });
    return differing == 0;
}

} // namespace

TEST_CASE_METHOD(sample, "leaves that were written are read again") {
    for (const std::uint32_t count : {0u, 1u, 17u, 3'000u})
        for (const unsigned threads : {0u, 1u, 3u}) {
            CAPTURE(count, threads);
            const state_tree tree =
                any_tree({"vote", "account", "a type without objects"}, count, 5'000);
            write_leaves(file(), tree);
            const auto read = read_leaves(file(), tree.root(), threads);
            REQUIRE(read);
            CHECK(is_same(*read, tree));
        }
    const state_tree no_types({});
    write_leaves(file(), no_types);
    CHECK(read_leaves(file(), no_types.root(), 0));
}

TEST_CASE_METHOD(sample, "more leaves than are read at once are read again") {
    state_tree tree({"account", "vote"});
    std::vector<leaf_update> all;
    for (std::uint32_t id = 0; id < 300'000; ++id)
        all.push_back({3 * id, any_digest(random)});
    tree.update(1, all);
    add(tree, 0, UINT32_MAX, any_digest(random));
    write_leaves(file(), tree);
    const auto read = read_leaves(file(), tree.root(), 1);
    REQUIRE(read);
    CHECK(is_same(*read, tree));
}

TEST_CASE_METHOD(sample, "a shorter file takes the place of a longer one") {
    write_leaves(file(), any_tree({"account"}, 500, 5'000));
    const state_tree tree = any_tree({"account"}, 3, 5'000);
    write_leaves(file(), tree);
    CHECK(fs::file_size(file()) == 24 + 12 + 7 + 36 * tree.leaves());
    CHECK(read_leaves(file(), tree.root(), 0));
}

TEST_CASE_METHOD(sample, "the file has the bytes of its format") {
    state_tree tree({"vote", "account"});
    const sha256_digest first = any_digest(random);
    const sha256_digest second = any_digest(random);
    add(tree, 0, 0x01020304, first);
    add(tree, 0, 7, second);
    write_leaves(file(), tree);
    CHECK(read_all(file()) == "chainbase leaves" + little_endian(1, 4) + little_endian(2, 4) +
                                  little_endian(2, 8) + little_endian(7, 4) + "account" +
                                  little_endian(0, 8) + little_endian(4, 4) + "vote" +
                                  little_endian(7, 4) + text_of(second) +
                                  little_endian(0x01020304, 4) + text_of(first));
}

TEST_CASE_METHOD(sample, "leaves of another root are nothing") {
    const state_tree tree = any_tree({"account"}, 50, 100);
    write_leaves(file(), tree);
    sha256_digest other = tree.root();
    other[31] ^= std::byte{1};
    CHECK_FALSE(read_leaves(file(), other, 0));
    CHECK_FALSE(read_leaves(file(), state_tree({"account"}).root(), 0));
    CHECK(read_leaves(file(), tree.root(), 0));
}

TEST_CASE_METHOD(sample, "a file with a flipped bit is nothing, or the same leaves") {
    const state_tree tree = any_tree({"account", "vote"}, 12, 40);
    write_leaves(file(), tree);
    const std::string whole = read_all(file());
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        CAPTURE(bit);
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
        write_all(file(), flipped);
        REQUIRE_FALSE(read_leaves(file(), tree.root(), 0));
    }
}

TEST_CASE_METHOD(sample, "a file that was cut is nothing") {
    const state_tree tree = any_tree({"account", "vote"}, 12, 40);
    write_leaves(file(), tree);
    const std::string whole = read_all(file());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        write_all(file(), std::string_view(whole).substr(0, length));
        REQUIRE_FALSE(read_leaves(file(), tree.root(), 0));
    }
}

TEST_CASE_METHOD(sample, "a file with altered bytes is nothing, or the same leaves") {
    const state_tree tree = any_tree({"account", "vote"}, 30, 60);
    write_leaves(file(), tree);
    const std::string whole = read_all(file());
    for (int tries = 0; tries < 3'000; ++tries) {
        std::string altered = whole;
        for (std::uint32_t left = 1 + random.below(4); left != 0; --left) {
            const auto size = static_cast<std::uint32_t>(altered.size());
            const std::uint32_t at = random.below(size);
            const std::uint32_t count = 1 + random.below(std::min(40u, size - at));
            switch (random.below(4)) {
            case 0:
                altered.replace(at, count, altered, random.below(size), count);
                break;
            case 1:
                altered.erase(at, count);
                break;
            case 2:
                altered.insert(at, count, static_cast<char>(random.below(256)));
                break;
            default:
                altered[at] = static_cast<char>(random.below(256));
            }
            if (altered.empty()) break;
        }
        write_all(file(), altered);
        const auto read = read_leaves(file(), tree.root(), 0);
        REQUIRE((!read || is_same(*read, tree)));
    }
}

TEST_CASE_METHOD(sample, "a file that claims more than it has takes no memory for it") {
    const sha256_digest root = state_tree({"account"}).root();
    const std::string head = "chainbase leaves" + little_endian(1, 4);
    write_all(file(), head + little_endian(UINT32_MAX, 4));
    CHECK_FALSE(read_leaves(file(), root, 0));
    write_all(file(), head + little_endian(1, 4) + little_endian(UINT64_MAX, 8) +
                          little_endian(7, 4) + "account");
    CHECK_FALSE(read_leaves(file(), root, 0));
    write_all(file(), head + little_endian(1, 4) + little_endian(0, 8) +
                          little_endian(UINT32_MAX, 4) + "account");
    CHECK_FALSE(read_leaves(file(), root, 0));
}

TEST_CASE_METHOD(sample, "types are in the order of their names, and no name is longer than 4096") {
    const auto root_of_file = [&](const std::vector<std::string>& names) {
        std::string all = "chainbase leaves" + little_endian(1, 4) + little_endian(names.size(), 4);
        for (const std::string& name : names)
            all += little_endian(0, 8) + little_endian(name.size(), 4) + name;
        write_all(file(), all);
        return state_tree(names).root();
    };
    CHECK(read_leaves(file(), root_of_file({"account", "vote"}), 0));
    CHECK_FALSE(read_leaves(file(), root_of_file({"vote", "account"}), 0));
    CHECK_FALSE(read_leaves(file(), root_of_file({"account", "account"}), 0));
    CHECK(read_leaves(file(), root_of_file({std::string(4096, 'a')}), 0));
    CHECK_FALSE(read_leaves(file(), root_of_file({std::string(4097, 'a')}), 0));
}

TEST_CASE_METHOD(sample, "the ids of a type rise") {
    const sha256_digest leaf = any_digest(random);
    state_tree tree({"account"});
    add(tree, 0, 1, leaf);
    add(tree, 0, 2, leaf);
    const auto is_read = [&](std::uint32_t first, std::uint32_t second) {
        write_all(file(), "chainbase leaves" + little_endian(1, 4) + little_endian(1, 4) +
                              little_endian(2, 8) + little_endian(7, 4) + "account" +
                              little_endian(first, 4) + text_of(leaf) + little_endian(second, 4) +
                              text_of(leaf));
        return read_leaves(file(), tree.root(), 0).has_value();
    };
    CHECK(is_read(1, 2));
    CHECK_FALSE(is_read(2, 1));
    CHECK_FALSE(is_read(1, 1));
}

TEST_CASE_METHOD(sample, "a missing file is nothing, and one that cannot be read is an error") {
    const state_tree tree = any_tree({"account"}, 5, 10);
    CHECK_FALSE(read_leaves(file(), tree.root(), 0));
    fs::create_directory(file());
    CHECK_THROWS_AS(read_leaves(file(), tree.root(), 0), access_error);
    CHECK_THROWS_AS(write_leaves(file(), tree), io_error);
    fs::remove(file());
    REQUIRE(::mkfifo(file().c_str(), 0600) == 0);
    CHECK_THROWS_AS(read_leaves(file(), tree.root(), 0), access_error); // and waits for no writer
    write_leaves(file(), tree);
    CHECK(read_leaves(file(), tree.root(), 0));
    CHECK_THROWS_AS(write_leaves(*this / "no folder" / "file", tree), io_error);
}

TEST_CASE_METHOD(sample, "a link is not followed, and what others may write is not read") {
    const state_tree tree = any_tree({"account"}, 5, 10);
    write_leaves(*this / "other", tree);
    fs::create_symlink(*this / "other", file());
    CHECK_THROWS_AS(read_leaves(file(), tree.root(), 0), access_error);
    write_leaves(file(), any_tree({"vote"}, 5, 10));
    CHECK(read_leaves(*this / "other", tree.root(), 0));
    fs::permissions(*this / "other", fs::perms::others_write, fs::perm_options::add);
    CHECK_THROWS_AS(read_leaves(*this / "other", tree.root(), 0), access_error);
}

TEST_CASE_METHOD(sample, "the file can be read by those who can read the state") {
    const mode_t before = ::umask(GENERATE(as<mode_t>{}, 0000, 0077, 0777));
    const bool has_readers = GENERATE(false, true);
    if (has_readers) fs::permissions(path(), fs::perms(0750));
    write_leaves(file(), any_tree({"account"}, 5, 10));
    ::umask(before);
    CHECK(fs::status(file()).permissions() == fs::perms(has_readers ? 0640 : 0600));
}

TEST_CASE_METHOD(sample, "a file for which there is no space is removed") {
    const state_tree tree = any_tree({"account"}, 1'000, 5'000);
    write_leaves(file(), any_tree({"account"}, 1, 10));
    {
        const file_size_limit limit(20'000);
        CHECK_THROWS_AS(write_leaves(file(), tree), out_of_space_error);
    }
    CHECK_FALSE(fs::exists(fs::symlink_status(file())));
}

// Snapshots in folders: whole or none, and nothing altered is read. What fails while they are
// written: folder_failures.cpp.

#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>
#include <tests/snapshot_file/sample_state.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

TEST_CASE("a snapshot is read as it was written, and its folder has nothing else") {
    const scratch_folder folder;
    const fs::path path = folder.path() / "s";
    folder_writer to(path);
    const manifest written = sample().write(to);
    REQUIRE(written.find("post")->chunks.size() > 3);
    const folder_reader from(path);
    REQUIRE(from.manifest().text() == written.text());
    sample().require_in(from);

    std::set<std::string> expected{"manifest", "chunks"};
    for (const type_entry& type : written.types)
        for (const chunk_entry& one : type.chunks)
            expected.insert("chunks/" + hex(one.digest));
    REQUIRE(names_below(path) == expected);
    // Types with the same rows share a chunk.
    REQUIRE(expected.size() - 2 == written.chunks() - 1);
    REQUIRE(to.so_far().written == written.chunks() - 1);
    REQUIRE(to.so_far().kept == 1);
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(path / "chunks"))
        bytes += entry.file_size();
    REQUIRE(to.so_far().written_bytes == bytes);
}

TEST_CASE("threads that put chunks come to the same snapshot") {
    const scratch_folder folder;
    folder_writer alone(folder.path() / "a");
    const manifest written = sample().write(alone);
    folder_writer together(folder.path() / "b");
    std::vector<piece> all;
    for (const auto& [name, rows] : sample_types())
        std::ranges::move(pieces_of(rows), std::back_inserter(all));
    std::vector<std::thread> threads;
    for (std::size_t n = 0; n < 4; ++n)
        threads.emplace_back([&, n] {
            for (std::size_t i = 0; i < 2 * all.size(); ++i)
                (void)together.put(all[(i + 3 * n) % all.size()]);
        });
    for (std::thread& one : threads)
        one.join();
    REQUIRE(together.so_far().written == written.chunks() - 1);
    together.finish(written);
    sample().require_in(folder_reader(folder.path() / "b"));
    REQUIRE(names_below(folder.path() / "a") == names_below(folder.path() / "b"));
}

TEST_CASE("a snapshot with a base has the chunks that changed") {
    const scratch_folder folder;
    const fs::path base = folder.path() / "base";
    const fs::path next = folder.path() / "next";
    const fs::path third = folder.path() / "third";
    {
        folder_writer to(base);
        (void)sample().write(to);
    }
    types changed = sample_types();
    changed["account"][8] = {};
    const sample_state now(changed);
    folder_writer to(next, base);
    const manifest written = now.write(to);
    REQUIRE(to.so_far().written == 1);
    REQUIRE(to.so_far().kept == written.chunks() - 1);
    now.require_in(folder_reader(next, {base}));
    const folder_reader alone(next);
    const type_entry& post = *alone.manifest().find("post");
    REQUIRE_THROWS_AS(alone.content(post, post.chunks[0]), io_error);
    REQUIRE_THROWS_WITH(alone.content(post, post.chunks[0]),
                        Contains("post, ids 0 to ") && Contains("was based on"));

    // What the base has from its own base is written.
    folder_writer again(third, next);
    (void)now.write(again);
    REQUIRE(again.so_far().written == written.chunks() - 1);
    now.require_in(folder_reader(third, {next}));

    REQUIRE_THROWS_AS(folder_writer(folder.path() / "x", folder.path() / "y"), usage_error);
    REQUIRE(!fs::exists(folder.path() / "x"));
}

TEST_CASE("a whole snapshot, and what is none, are not written in") {
    const scratch_folder folder;
    const fs::path path = folder.path() / "s";
    {
        folder_writer to(path);
        const manifest written = small_sample().write(to);
        REQUIRE_THROWS_AS(to.finish(written), usage_error);
    }
    const auto before = names_below(path);
    REQUIRE_THROWS_AS(folder_writer(path), usage_error);
    REQUIRE_THROWS_WITH(folder_writer(path), Contains("is a whole snapshot"));
    REQUIRE(names_below(path) == before);

    const fs::path other = folder.path() / "other";
    fs::create_directories(other / "chunks");
    store(other / "chunks" / "mine", "x");
    REQUIRE_THROWS_WITH(folder_writer(other), Contains("holds chunks/mine"));
    fs::rename(other / "chunks" / "mine", other / "mine");
    REQUIRE_THROWS_WITH(folder_writer(other), Contains("holds mine"));
    REQUIRE(names_below(other) == std::set<std::string>{"chunks", "mine"});
    REQUIRE_THROWS_AS(folder_writer(other / "mine"), usage_error);
    REQUIRE_THROWS_WITH(folder_writer(folder.path() / "no" / "s"), Contains("no folder"));
    fs::create_symlink("nowhere", folder.path() / "link");
    REQUIRE_THROWS_AS(folder_writer(folder.path() / "link"), usage_error);

    REQUIRE_THROWS_WITH(folder_reader(folder.path() / "no"), Contains("no such folder"));
    REQUIRE_THROWS_WITH(folder_reader(folder.path()), Contains("is no snapshot"));
    REQUIRE_THROWS_WITH(folder_reader(other), Contains("unfinished"));
}

TEST_CASE("a manifest is not written before its chunks, nor one that cannot be read") {
    const scratch_folder folder;
    folder_writer to(folder.path() / "s");
    manifest all;
    {
        folder_writer other(folder.path() / "other");
        all = small_sample().write(other);
    }
    REQUIRE_THROWS_AS(to.finish(all), usage_error);
    REQUIRE_THROWS_WITH(to.finish(all), Contains("account, ids 0 to 255 was not put"));
    manifest wrong = all;
    wrong.types[0].root[0] ^= std::byte{1};
    REQUIRE_THROWS_AS(to.finish(wrong), usage_error);
    REQUIRE_THROWS_WITH(to.finish(wrong), Contains("the root does not follow"));
    REQUIRE(!fs::exists(folder.path() / "s" / "manifest"));
    (void)small_sample().write(to);
    small_sample().require_in(folder_reader(folder.path() / "s"));
}

TEST_CASE("what an earlier writer left is kept if it is right, and else written again or removed") {
    const scratch_folder folder;
    const fs::path path = folder.path() / "s";
    manifest written;
    {
        folder_writer other(folder.path() / "other");
        written = sample().write(other);
    }
    { // never finished
        folder_writer to(path);
        for (const auto& [name, rows] : sample_types())
            for (const piece& one : pieces_of(rows))
                (void)to.put(one);
    }
    const std::vector<chunk_entry>& posts = written.find("post")->chunks;
    const fs::path damaged = chunk_file_in(path, posts[0]);
    const fs::path kept = chunk_file_in(path, posts[1]);
    std::string bytes = bytes_of(damaged);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    store(damaged, bytes);
    const auto time = fs::last_write_time(kept);
    store(chunk_file_in(path, posts[2]), "");
    store(chunk_file_in(path, posts[3]), bytes_of(kept)); // a whole chunk, but another one
    store(path / "chunks" / std::string(64, '0'), "x");
    store(damaged.string() + ".new", "x");
    store(path / "manifest.new", "x");
    for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file())
            fs::permissions(entry.path(), fs::perms::owner_read | fs::perms::owner_write);

    folder_writer to(path);
    (void)sample().write(to);
    REQUIRE(to.so_far().written == 3);
    REQUIRE(fs::last_write_time(kept) == time);
    REQUIRE(names_below(path) == names_below(folder.path() / "other"));
    sample().require_in(folder_reader(path));
}

TEST_CASE("chunks of removed objects are part of a snapshot") {
    const scratch_folder scratch;
    const fs::path folder = scratch.path() / "s";
    const auto write = [&](bool puts_removed) {
        folder_writer to(folder);
        manifest all;
        type_entry& type = all.types.emplace_back();
        type.schema.name = "vote";
        type.schema.value_bytes = 4;
        type.schema.fields = {{"id", "id", 0, 4}};
        type.next_id = 8;
        type.row_layout = 1;
        all.archive = "rocksdb";
        chunk_content rows;
        rows.add({7, {}, true, {}});
        const piece removed = piece::of({0, 4}, std::move(rows));
        type.removed = {{removed.at, 1, removed.content.bytes().size(),
                         sha256().of(removed.content.bytes()), removed.root}};
        if (puts_removed) REQUIRE(to.put(removed) == type.removed.front());
        to.finish(all);
    };
    REQUIRE_THROWS_WITH(write(false), Contains("vote, ids 0 to 15 was not put"));
    write(true);
    const folder_reader from(folder);
    const type_entry& type = from.manifest().types.front();
    REQUIRE_NOTHROW(from.content(type, type.removed.front()));
}

TEST_CASE("a snapshot is taken over chunk by chunk, and what came is kept") {
    const scratch_folder scratch;
    const fs::path folder = scratch.path() / "taken";
    folder_writer original(scratch.path() / "s");
    const manifest all = small_sample().write(original);
    const folder_reader from(scratch.path() / "s");
    const auto take = [&](std::size_t most) {
        folder_writer to(folder);
        std::size_t taken = 0;
        for (const type_entry& type : all.types)
            for (const chunk_entry& one : type.chunks) {
                if (to.keeps(one)) continue;
                if (taken++ == most) return to.so_far();
                const std::string file = bytes_of(*from.file_of(one));
                to.put_file(one, archive::as_bytes(file));
            }
        to.finish(all);
        return to.so_far();
    };
    REQUIRE(take(1).written == 1);
    const chunk_entry& first = all.types.front().chunks.front();
    REQUIRE(fs::exists(chunk_file_in(folder, first)));
    SECTION("and used") {
        REQUIRE(take(SIZE_MAX).kept >= 1);
    }
    SECTION("unless it is damaged") {
        store(chunk_file_in(folder, first), "x");
        REQUIRE(take(0).kept == 0);
        static_cast<void>(take(SIZE_MAX));
    }
    const folder_reader taken(folder);
    REQUIRE(taken.manifest().name() == all.name());
    small_sample().require_in(taken);
}

TEST_CASE("what is altered in a folder is found") {
    random_source random(test_seed(42));
    CAPTURE(random.seed());
    const scratch_folder folder;
    const fs::path path = folder.path() / "s";
    folder_writer to(path);
    const manifest written = sample().write(to);
    const folder_reader from(path);
    const auto flip = [](const fs::path& file, std::uint64_t bit) {
        std::string bytes = bytes_of(file);
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
        store(file, bytes);
    };
    const type_entry& account = *written.find("account");
    const fs::path small = chunk_file_in(path, account.chunks[0]);
    for (std::uint64_t bit = 0; bit < 8 * fs::file_size(small); ++bit) {
        flip(small, bit);
        REQUIRE_THROWS_AS(from.content(account, account.chunks[0]), damaged_error);
        flip(small, bit);
    }
    const std::string whole = bytes_of(small);
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        store(small, whole.substr(0, cut));
        REQUIRE_THROWS_AS(from.content(account, account.chunks[0]), damaged_error);
    }
    store(small, whole + std::string(100, 'x')); // before memory is taken for it
    REQUIRE_THROWS_WITH(from.content(account, account.chunks[0]),
                        Contains("account, ids 0 to 255") && Contains("at most") &&
                            Contains(hex(account.chunks[0].digest)));
    store(small, whole);
    const fs::path file = path / "manifest";
    for (std::uint64_t bit = 0; bit < 8 * fs::file_size(file); ++bit) {
        flip(file, bit);
        REQUIRE_THROWS_AS(folder_reader(path), error);
        flip(file, bit);
    }
    sample().require_in(folder_reader(path));

    fs::remove(small);
    REQUIRE_THROWS_AS(from.content(account, account.chunks[0]), io_error);
    fs::create_directory(small);
    REQUIRE_THROWS_AS(from.content(account, account.chunks[0]), io_error);
}

TEST_CASE("the chunk of another place is refused, also with a manifest that names it") {
    const scratch_folder folder;
    const fs::path path = folder.path() / "s";
    folder_writer to(path);
    const manifest written = sample().write(to);
    const type_entry& post = *written.find("post");
    const auto file_of = [&](const chunk_entry& one) {
        const std::string bytes = bytes_of(chunk_file_in(path, one));
        return archive::byte_buffer(reinterpret_cast<const std::byte*>(bytes.data()),
                                    reinterpret_cast<const std::byte*>(bytes.data()) +
                                        bytes.size());
    };
    const auto refused = [&](const chunk_entry& of, const chunk_entry& as, const std::string& why) {
        REQUIRE_THROWS_AS(verified(file_of(of), as, "of the test"), damaged_error);
        REQUIRE_THROWS_WITH(verified(file_of(of), as, "of the test"),
                            Contains("of the test") && Contains(why));
    };
    const chunk_entry first = post.chunks[0];
    const chunk_entry second = post.chunks[1];
    REQUIRE(first.bytes == second.bytes);
    refused(first, second, "another content");
    chunk_entry forged = second; // the chunk of other ids
    forged.digest = first.digest;
    refused(first, forged, "its id 0 is not from");
    forged = first; // other rows of these ids
    forged.root = second.root;
    refused(first, forged, "do not lead to the root");
    forged = first;
    forged.objects = 2;
    refused(first, forged, "has 1 objects, not 2");
    forged = first;
    forged.bytes += 1;
    refused(first, forged, "not of");
    REQUIRE_NOTHROW(verified(file_of(first), first, ""));

    fs::copy_file(chunk_file_in(path, first), chunk_file_in(path, second),
                  fs::copy_options::overwrite_existing);
    const folder_reader from(path);
    REQUIRE_THROWS_WITH(from.content(post, second), Contains(name_of(post, second)));

    // A manifest of altered rows: it is consistent, and leads to another state root.
    types altered = sample_types();
    altered["account"][0].record.push_back({});
    folder_writer other(folder.path() / "other");
    const manifest another = sample_state(altered).write(other);
    REQUIRE(another.state_root != written.state_root);
    manifest mixed = another; // that claims the root of the state
    mixed.state_root = written.state_root;
    store(folder.path() / "other" / "manifest", mixed.text());
    REQUIRE_THROWS_WITH(folder_reader(folder.path() / "other"),
                        Contains("state_root: it does not follow"));
    mixed.types[0].root = written.types[0].root; // ... and that of the type
    store(folder.path() / "other" / "manifest", mixed.text());
    REQUIRE_THROWS_WITH(folder_reader(folder.path() / "other"), Contains("the root does not"));
    mixed.types[0].chunks[0].root = written.types[0].chunks[0].root; // ... and of the chunk
    store(folder.path() / "other" / "manifest", mixed.text());
    const folder_reader forging(folder.path() / "other");
    REQUIRE_THROWS_WITH(
        forging.content(forging.manifest().types[0], forging.manifest().types[0].chunks[0]),
        Contains("do not lead to the root"));
}

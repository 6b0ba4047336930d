// Snapshots in folders: whole or none, whatever fails while they are written, and nothing altered
// is read.

#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/offline/snapshot_file/folder.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <tests/snapshot_file/sample_rows.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/simulated_disk.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using namespace chainbase::snapshot_file;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

using types = std::map<std::string, sample_rows>;

/// Two small types that have the same rows, one in four chunks, and one without.
types sample_types() {
    random_source random(31);
    types all;
    for (std::uint32_t id = 0; id < 20; ++id)
        all["account"][id * 3] = random_row(random, 50);
    all["account_too"] = all["account"];
    for (std::uint32_t id = 0; id < 5; ++id)
        all["post"][id * 1000] = {archive::byte_buffer(5 << 20, static_cast<std::byte>(id))};
    all["vote"] = {};
    return all;
}

std::vector<piece> pieces_of(const sample_rows& rows) {
    std::vector<piece> chunks;
    chunk_plan plan([&](piece one) { chunks.push_back(std::move(one)); });
    plan.add(piece::of({0, 32}, content_in(rows, {0, 32})));
    plan.finish(height_of(rows));
    return chunks;
}

/// The chunks of some types, computed once.
class sample_state {
public:
    explicit sample_state(const types& all) {
        for (const auto& [name, rows] : all) {
            type_entry& type = manifest_.types.emplace_back();
            type.schema.name = name;
            type.schema.value_bytes = 4;
            type.schema.fields = {{"id", "id", 0, 4}};
            type.objects = rows.size();
            type.next_id = rows.empty() ? 1 : rows.rbegin()->first + 1;
            type.height = height_of(rows);
            type.is_committed = true;
            pieces_.push_back(pieces_of(rows));
            for (const piece& one : pieces_.back())
                type.archived += one.content.archived();
        }
        manifest_.archive = "rocksdb";
    }

    /// What a program does that writes a snapshot.
    manifest write(folder_writer& to) const {
        manifest all = manifest_;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            for (const piece& one : pieces_[i])
                all.types[i].chunks.push_back(to.put(one));
            all.types[i].root = all.types[i].computed_root();
        }
        all.state_root = all.computed_state_root();
        to.finish(all);
        return all;
    }
    void require_in(const folder_reader& from) const {
        REQUIRE(from.manifest().types.size() == pieces_.size());
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            const type_entry& type = from.manifest().types[i];
            REQUIRE(type.chunks.size() == pieces_[i].size());
            for (std::size_t n = 0; n < type.chunks.size(); ++n)
                REQUIRE(archive::same(from.content(type, type.chunks[n]),
                                      pieces_[i][n].content.bytes()));
        }
    }

private:
    manifest manifest_; ///< without chunks
    std::vector<std::vector<piece>> pieces_;
};

const sample_state& sample() {
    static const sample_state state(sample_types());
    return state;
}
/// Of small chunks only, for tests that write it hundreds of times.
const sample_state& small_sample() {
    static const sample_state state([] {
        types all = sample_types();
        all.erase("post");
        all["witness"][7] = {archive::byte_buffer(100)};
        return all;
    }());
    return state;
}

std::set<std::string> names_below(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        names.insert(entry.path().lexically_relative(folder));
    return names;
}

std::string bytes_of(const fs::path& file) {
    std::ifstream from(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
}
void store(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
}

fs::path chunk_file_in(const fs::path& folder, const chunk_entry& one) {
    return folder / "chunks" / hex(one.digest);
}

/// The system's disk, which tells of each change, and of each list of names, beforehand.
class watched_disk final : public disk {
public:
    explicit watched_disk(std::function<void()> before) : before_(std::move(before)) {}

    std::unique_ptr<disk_file> open(const fs::path& file, mode how) override {
        if (how == mode::create) before_();
        return std::make_unique<watched_file>(system_.open(file, how), before_);
    }
    bool exists(const fs::path& file) override { return system_.exists(file); }
    std::vector<std::string> names_in(const fs::path& folder) override {
        before_();
        return system_.names_in(folder);
    }
    void rename(const fs::path& from, const fs::path& to) override {
        before_();
        system_.rename(from, to);
    }
    void remove(const fs::path& file) override {
        before_();
        system_.remove(file);
    }
    void make_folder(const fs::path& folder) override {
        before_();
        system_.make_folder(folder);
    }
    void sync_folder(const fs::path& folder) override {
        before_();
        system_.sync_folder(folder);
    }
    void sync_file_system(const fs::path& folder) override { system_.sync_file_system(folder); }

private:
    class watched_file final : public disk_file {
    public:
        watched_file(std::unique_ptr<disk_file> of, const std::function<void()>& before)
            : of_(std::move(of)), before_(before) {}
        /// Half of it comes before the second call.
        void write(std::uint64_t offset, std::span<const std::byte> data) override {
            before_();
            of_->write(offset, data.first(data.size() / 2));
            before_();
            of_->write(offset, data);
        }
        std::size_t read(std::uint64_t offset, std::span<std::byte> into) const override {
            return of_->read(offset, into);
        }
        void sync() override {
            before_();
            of_->sync();
        }
        void reserve(std::uint64_t offset, std::uint64_t length) override {
            of_->reserve(offset, length);
        }
        void resize(std::uint64_t bytes) override { of_->resize(bytes); }
        std::uint64_t bytes() const override { return of_->bytes(); }

    private:
        std::unique_ptr<disk_file> of_;
        const std::function<void()>& before_;
    };

    disk& system_ = disk::of_system();
    std::function<void()> before_;
};

/// Copies what a simulated disk has to a folder where it can be read.
void copy_to(simulated_disk& from, const fs::path& name, const fs::path& to) {
    fs::create_directories(to / "chunks");
    for (const auto& [file, bytes] : from.sizes()) {
        std::vector<std::byte> content(bytes);
        REQUIRE(from.open(file, disk::mode::read)->read(0, content) == bytes);
        store(to / file.lexically_relative(name),
              {reinterpret_cast<const char*>(content.data()), content.size()});
    }
}

struct power_lost {};

} // namespace

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

TEST_CASE("two writers are not in one folder") {
    const scratch_folder folder;
    const fs::path path = folder.path() / "s";
    folder_writer first(path);
    REQUIRE_THROWS_AS(folder_writer(path), locked_error);
    REQUIRE_THROWS_WITH(folder_writer(path), Contains("another process"));
    (void)small_sample().write(first);
    REQUIRE_THROWS_AS(folder_writer(path), usage_error);

    // Another one finishes while this one looks at the folder, before it has the lock.
    const fs::path raced = folder.path() / "raced";
    std::optional<folder_writer> other(raced);
    int calls = 0;
    watched_disk on([&] {
        if (++calls != 2) return; // of names_in
        (void)small_sample().write(*other);
        other.reset();
    });
    REQUIRE_THROWS_WITH(folder_writer(raced, std::nullopt, &on), Contains("is a whole snapshot"));
    small_sample().require_in(folder_reader(raced));
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

TEST_CASE(
    "a call to the disk that fails leaves no whole snapshot, and the next writer completes it") {
    for (int n = 0, failed = true; failed; ++n) {
        CAPTURE(n);
        const scratch_folder folder;
        const fs::path path = folder.path() / "s";
        int left = n;
        const auto fail = [&] {
            if (left-- == 0) throw out_of_space_error("injected");
        };
        watched_disk on(fail);
        failed = false;
        std::uint64_t first = 0;
        try {
            folder_writer to(path, std::nullopt, &on);
            try {
                (void)small_sample().write(to);
            } catch (const out_of_space_error&) {
                first = to.so_far().written;
                throw;
            }
        } catch (const out_of_space_error&) {
            failed = true;
        }
        REQUIRE((failed || n > 20));
        REQUIRE(fs::exists(path / "manifest") == !failed);
        if (!failed) break;
        folder_writer to(path);
        (void)small_sample().write(to);
        REQUIRE(to.so_far().written + first == 2);
        small_sample().require_in(folder_reader(path));
    }
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

TEST_CASE("a writer that failed goes on itself") {
    int steps = 0;
    for (int n = 5;; ++n) {
        const scratch_folder folder;
        int left = n;
        watched_disk on([&] {
            if (left-- == 0) throw io_error("injected");
        });
        folder_writer to(folder.path() / "s", std::nullopt, &on);
        try {
            (void)small_sample().write(to);
            break;
        } catch (const io_error&) {
        }
        ++steps;
        (void)small_sample().write(to);
        small_sample().require_in(folder_reader(folder.path() / "s"));
    }
    REQUIRE(steps > 10);
}

TEST_CASE("a writer that is killed at any step leaves no whole snapshot, or all of it") {
    for (int n = 0, killed = true; killed; ++n) {
        CAPTURE(n);
        const scratch_folder folder;
        const fs::path path = folder.path() / "s";
        (void)small_sample();
        killed = run_process([&] {
                     int left = n;
                     watched_disk on([&] {
                         if (left-- == 0) std::raise(SIGKILL);
                     });
                     folder_writer to(path, std::nullopt, &on);
                     (void)small_sample().write(to);
                 }).killed;
        REQUIRE((killed || n > 20));
        if (!fs::exists(path / "manifest")) {
            REQUIRE_THROWS_AS(folder_reader(path), usage_error);
            folder_writer to(path);
            (void)small_sample().write(to);
        }
        small_sample().require_in(folder_reader(path));
    }
}

TEST_CASE("whatever a loss of power leaves, a manifest that is there has all of its chunks") {
    random_source random(test_seed(41));
    CAPTURE(random.seed());
    int whole = 0;
    for (int n = 0, lost = true; lost || n % 4 != 0; ++n) {
        CAPTURE(n);
        const scratch_folder folder; // has the lock only
        const fs::path path = folder.path() / "s";
        simulated_disk on;
        int left = n / 4; // each step some times: what is left is a matter of luck
        on.before = [&](simulated_disk::call, const fs::path&) {
            if (left-- <= 0) throw power_lost();
        };
        lost = false;
        try {
            folder_writer to(path, std::nullopt, &on);
            (void)small_sample().write(to);
        } catch (const power_lost&) {
            lost = true;
        }
        on.before = {};
        on.lose_power(random);
        if (on.exists(path / "manifest")) {
            ++whole;
        } else {
            REQUIRE(lost);
            folder_writer to(path, std::nullopt, &on);
            (void)small_sample().write(to);
            on.lose_power(random); // all is on storage
        }
        copy_to(on, path, folder.path() / "copy");
        small_sample().require_in(folder_reader(folder.path() / "copy"));
    }
    REQUIRE(whole > 3);
}

TEST_CASE("chunks that were kept are on storage, too") {
    random_source random(test_seed(43));
    CAPTURE(random.seed());
    for (int n = 0; n < 20; ++n) {
        const scratch_folder folder;
        const fs::path path = folder.path() / "s";
        folder_writer original(folder.path() / "original");
        const manifest written = small_sample().write(original);
        simulated_disk on;
        const chunk_entry& one = written.types.front().chunks.front();
        const std::string bytes = bytes_of(chunk_file_in(folder.path() / "original", one));
        on.open(chunk_file_in(path, one), disk::mode::create) // by a copy that nobody synced
            ->write(0, archive::as_bytes(bytes));
        folder_writer to(path, std::nullopt, &on);
        (void)small_sample().write(to);
        REQUIRE(to.so_far().written == 1);
        on.lose_power(random);
        copy_to(on, path, folder.path() / "copy");
        small_sample().require_in(folder_reader(folder.path() / "copy"));
    }
}

TEST_CASE("what a disk alters while it is written is found at once") {
    for (const char* altered : {"chunks", "manifest"}) {
        const scratch_folder folder;
        const fs::path path = folder.path() / "s";
        simulated_disk on;
        bool is_broken = true;
        on.before = [&](simulated_disk::call which, const fs::path& file) {
            const bool is_there = which == simulated_disk::call::read &&
                                  file.string().find(altered) != std::string::npos;
            if (is_broken && is_there) on.flip(file, 1);
        };
        folder_writer to(path, std::nullopt, &on);
        REQUIRE_THROWS_AS(small_sample().write(to), damaged_error);
        REQUIRE(!on.exists(path / "manifest"));
        is_broken = false;
        (void)small_sample().write(to);
        copy_to(on, path, folder.path() / "copy");
        small_sample().require_in(folder_reader(folder.path() / "copy"));
    }
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

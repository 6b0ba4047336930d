// Whatever fails while a snapshot is written to a folder, and whoever else writes there: it has a
// whole one or none.

#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>
#include <tests/snapshot_file/sample_state.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/simulated_disk.hpp>

#include <csignal>
#include <functional>
#include <optional>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

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

// Power is lost at any change of the disk by RocksDB: synced batches are there, and of the others
// the first ones, whole. The same for an embedder's state with its archive: no object is lost.

#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>
#include <archive/rocksdb/database.hpp>
#include <archive/store.hpp>

#include <catch2/catch.hpp>
#include <rocksdb/file_system.h>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/simulated_disk.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace chainbase::test {

/// Real files below RocksDB that track what a power loss would leave:
///
///  - of a file's content what was synced, and a random prefix of what was appended since;
///  - of names (files created, renamed, linked or deleted) the changes before the last sync of
///    their folder, and a random prefix of the later ones, in order.
///
/// All files below it must be made through it. Thread-safe.
class simulated_files final : public rocksdb::FileSystemWrapper {
public:
    /// A random number below the limit.
    using chance = std::function<std::uint64_t(std::uint64_t limit)>;

    /// `shadows`: a folder on the same file system, for the contents of files without a name.
    explicit simulated_files(std::filesystem::path shadows);

    [[nodiscard]] const char* Name() const override { return "simulated_files"; }

    /// Calls before(number) before each change of the disk, counted from 0; no other thread changes
    /// it meanwhile.
    void watch(std::function<void(std::uint64_t)> before) {
        const std::lock_guard alone(changing_);
        before_ = std::move(before);
    }

    /// Makes in `to` what a power loss would leave now of the files below `folder`. Call it only
    /// from the function passed to watch().
    void copy_after_power_loss(const std::filesystem::path& folder, const std::filesystem::path& to,
                               const chance& below) const;

    rocksdb::IOStatus NewWritableFile(const std::string& file, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus ReuseWritableFile(const std::string& file, const std::string& old,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result,
                                        rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus ReopenWritableFile(const std::string& file,
                                         const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* result,
                                         rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus NewDirectory(const std::string& folder, const rocksdb::IOOptions& options,
                                   std::unique_ptr<rocksdb::FSDirectory>* result,
                                   rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus DeleteFile(const std::string& file, const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                                 const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

private:
    class written_file;
    class synced_folder;

    /// A file's content, independent of its names; its bytes are in the folder of shadows, too.
    struct content {
        std::filesystem::path shadow;
        std::uint64_t bytes = 0;
        std::uint64_t synced = 0;
    };
    using content_ptr = std::shared_ptr<content>;
    /// `name` now means `target`, or nothing.
    struct renaming {
        std::string name;
        content_ptr target;
        bool goes_with_next = false;
    };
    using names = std::map<std::string, content_ptr>;

    /// Runs a change of the disk exclusively.
    template <typename Change>
    rocksdb::IOStatus change(Change&& work);
    [[nodiscard]] content_ptr add(const std::string& file);
    void set(const std::string& name, content_ptr target, bool goes_with_next = false);
    void sync_names(const std::string& folder);

    std::filesystem::path shadows_;
    std::function<void(std::uint64_t)> before_;
    std::mutex changing_;
    std::uint64_t changes_ = 0;
    names now_;
    names synced_;
    std::vector<renaming> since_; ///< in order
};

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

fs::path folder_of(const std::string& name) {
    return fs::path(name).parent_path();
}

std::string normal(const std::string& name) {
    return fs::path(name).lexically_normal();
}

} // namespace

template <typename Change>
IOStatus simulated_files::change(Change&& work) {
    const std::lock_guard alone(changing_);
    if (before_) before_(changes_);
    ++changes_;
    return work();
}

class simulated_files::written_file final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    written_file(simulated_files& disk, std::unique_ptr<rocksdb::FSWritableFile> file,
                 content_ptr content)
        : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), content_(std::move(content)) {}

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
        return disk_.change([&] {
            return appended(data, FSWritableFileOwnerWrapper::Append(data, options, debug));
        });
    }
    IOStatus Append(const Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo& sum, IODebugContext* debug) override {
        return disk_.change([&] {
            return appended(data, FSWritableFileOwnerWrapper::Append(data, options, sum, debug));
        });
    }
    IOStatus Truncate(std::uint64_t size, const IOOptions& options,
                      IODebugContext* debug) override {
        return disk_.change([&] {
            const IOStatus done = FSWritableFileOwnerWrapper::Truncate(size, options, debug);
            if (done.ok()) content_->bytes = size;
            content_->synced = std::min(content_->synced, content_->bytes);
            return done;
        });
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.change(
            [&] { return synced(FSWritableFileOwnerWrapper::Sync(options, debug)); });
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.change(
            [&] { return synced(FSWritableFileOwnerWrapper::Fsync(options, debug)); });
    }

private:
    IOStatus appended(const Slice& data, IOStatus done) {
        if (done.ok()) content_->bytes += data.size();
        return done;
    }
    IOStatus synced(IOStatus done) {
        if (done.ok()) content_->synced = content_->bytes;
        return done;
    }

    simulated_files& disk_;
    content_ptr content_;
};

class simulated_files::synced_folder final : public rocksdb::FSDirectoryWrapper {
public:
    synced_folder(simulated_files& disk, std::unique_ptr<rocksdb::FSDirectory> folder,
                  std::string name)
        : FSDirectoryWrapper(std::move(folder)), disk_(disk), name_(std::move(name)) {}

    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.change([&] {
            disk_.sync_names(name_);
            return FSDirectoryWrapper::Fsync(options, debug);
        });
    }
    IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                                 const rocksdb::DirFsyncOptions& how) override {
        return disk_.change([&] {
            disk_.sync_names(name_);
            return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, how);
        });
    }

private:
    simulated_files& disk_;
    std::string name_;
};

simulated_files::simulated_files(fs::path shadows)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), shadows_(std::move(shadows)) {
    fs::create_directories(shadows_);
}

// --- names ---

simulated_files::content_ptr simulated_files::add(const std::string& file) {
    auto made = std::make_shared<content>();
    made->shadow = shadows_ / std::to_string(changes_);
    fs::create_hard_link(file, made->shadow);
    set(file, made);
    return made;
}

void simulated_files::set(const std::string& name, content_ptr target, bool goes_with_next) {
    const std::string place = normal(name);
    since_.push_back({place, target, goes_with_next});
    if (target)
        now_[place] = std::move(target);
    else
        now_.erase(place);
}

void simulated_files::sync_names(const std::string& folder) {
    std::vector<renaming> left;
    for (renaming& one : since_)
        if (folder_of(one.name) == fs::path(folder))
            one.target ? void(synced_[one.name] = one.target) : void(synced_.erase(one.name));
        else
            left.push_back(std::move(one));
    since_ = std::move(left);
}

void simulated_files::copy_after_power_loss(const fs::path& folder, const fs::path& to,
                                            const chance& below) const {
    names left = synced_;
    std::uint64_t kept = below(since_.size() + 1);
    if (kept > 0 && kept < since_.size() && since_[kept - 1].goes_with_next) ++kept;
    for (std::uint64_t n = 0; n < kept; ++n)
        left[since_[n].name] = since_[n].target;
    for (const auto& [name, target] : left) {
        if (!target) continue;
        const fs::path within = fs::path(name).lexically_relative(folder);
        if (within.empty() || *within.begin() == "..") continue;
        fs::create_directories((to / within).parent_path());
        fs::copy_file(target->shadow, to / within, fs::copy_options::overwrite_existing);
        const std::uint64_t unsynced = target->bytes - target->synced;
        fs::resize_file(to / within, target->synced + below(unsynced + 1));
    }
}

// --- files ---

IOStatus simulated_files::NewWritableFile(const std::string& file,
                                          const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* debug) {
    return change([&] {
        std::error_code none;
        fs::remove(file, none); // it would be truncated; the shadow's content must stay
        std::unique_ptr<rocksdb::FSWritableFile> made;
        const IOStatus done = FileSystemWrapper::NewWritableFile(file, options, &made, debug);
        if (done.ok()) *result = std::make_unique<written_file>(*this, std::move(made), add(file));
        return done;
    });
}

IOStatus simulated_files::ReuseWritableFile(const std::string&, const std::string&,
                                            const rocksdb::FileOptions&,
                                            std::unique_ptr<rocksdb::FSWritableFile>*,
                                            IODebugContext*) {
    return IOStatus::NotSupported("simulated_files: files are not used again");
}

IOStatus simulated_files::ReopenWritableFile(const std::string& file,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* debug) {
    return change([&] {
        const auto known = now_.find(normal(file));
        std::unique_ptr<rocksdb::FSWritableFile> opened;
        const IOStatus done = FileSystemWrapper::ReopenWritableFile(file, options, &opened, debug);
        if (done.ok())
            *result = std::make_unique<written_file>(
                *this, std::move(opened), known == now_.end() ? add(file) : known->second);
        return done;
    });
}

IOStatus simulated_files::NewDirectory(const std::string& folder, const IOOptions& options,
                                       std::unique_ptr<rocksdb::FSDirectory>* result,
                                       IODebugContext* debug) {
    std::unique_ptr<rocksdb::FSDirectory> opened;
    const IOStatus done = FileSystemWrapper::NewDirectory(folder, options, &opened, debug);
    if (done.ok())
        *result = std::make_unique<synced_folder>(*this, std::move(opened),
                                                  folder_of(folder + "/file").lexically_normal());
    return done;
}

IOStatus simulated_files::DeleteFile(const std::string& file, const IOOptions& options,
                                     IODebugContext* debug) {
    return change([&] {
        const IOStatus done = FileSystemWrapper::DeleteFile(file, options, debug);
        if (done.ok()) set(file, nullptr);
        return done;
    });
}

IOStatus simulated_files::RenameFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* debug) {
    return change([&] {
        const IOStatus done = FileSystemWrapper::RenameFile(from, to, options, debug);
        const auto known = now_.find(normal(from));
        if (!done.ok() || known == now_.end()) return done;
        set(to, known->second, true);
        set(from, nullptr);
        return done;
    });
}

IOStatus simulated_files::LinkFile(const std::string& from, const std::string& to,
                                   const IOOptions& options, IODebugContext* debug) {
    return change([&] {
        const IOStatus done = FileSystemWrapper::LinkFile(from, to, options, debug);
        const auto known = now_.find(normal(from));
        if (done.ok() && known != now_.end()) set(to, known->second);
        return done;
    });
}

} // namespace chainbase::test

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::uint32_t batches = 120;
constexpr std::uint32_t rows_of_small = 8;
constexpr std::uint32_t rows_of_large = 50;

archive::store_options small_files() {
    archive::store_options options;
    options.cache_bytes = 1 << 20;
    options.write_buffer_bytes = 64 << 10;
    options.ingest_rows = rows_of_large;
    return options;
}

/// Every eleventh batch is ingested as sorted files.
bool is_large(std::uint32_t batch) {
    return batch % 11 == 7;
}
std::uint32_t rows_in(std::uint32_t batch) {
    return is_large(batch) ? rows_of_large : rows_of_small;
}

/// A row of batch n has its own key, and one shared with rows of other batches.
void write(archive::store& to, archive::table_id table, std::uint32_t number, std::uint32_t first) {
    archive::write_batch batch;
    for (std::uint32_t id = first; id < first + rows_in(number); ++id) {
        const std::string record = std::to_string(id) + std::string(300, 'x');
        const auto own = archive::make_key(id);
        const auto shared = archive::make_key(id % 100);
        const archive::secondary_key keys[] = {{0, own}, {1, shared}};
        batch.put(table, id, archive::as_bytes(record), keys);
    }
    to.write(batch);
}

archive::table_id table_in(archive::store& of) {
    return of.open_table("rows", {"own", "shared"});
}

/// The files after a power loss, and the batches synced before.
struct remains {
    fs::path folder;
    std::uint32_t promised = 0; ///< batches
    std::uint32_t begun = 0;
};

/// Writes all batches, and copies what a power loss would leave before every `stride`-th change of
/// the disk.
std::vector<remains> losses_of(const fs::path& scratch, std::uint32_t offset, std::uint32_t stride,
                               random_source& random) {
    const fs::path folder = scratch / "store";
    std::vector<remains> all;
    std::atomic<std::uint32_t> promised{0};
    std::atomic<std::uint32_t> begun{0};
    const auto disk = std::make_shared<simulated_files>(scratch / "shadows");
    {
        archive::fault::simulated_files = disk;
        const auto store = archive::open_store(folder, small_files());
        const archive::table_id table = table_in(*store);
        store->sync();
        disk->watch([&](std::uint64_t change) {
            if (change % stride != offset) return;
            const remains one{scratch / ("after " + std::to_string(change)), promised, begun};
            fs::create_directories(one.folder);
            for (const char* name : {"format", "synced"}) // files that RocksDB does not write
                fs::copy_file(folder / name, one.folder / name);
            disk->copy_after_power_loss(folder, one.folder,
                                        [&](std::uint64_t limit) { return random.next() % limit; });
            all.push_back(one);
        });
        std::uint32_t first = 0;
        for (std::uint32_t number = 0; number < batches; ++number) {
            begun = number + 1;
            write(*store, table, number, first);
            first += rows_in(number);
            if (is_large(number)) promised = number + 1;
            if (number % 9 == 4) {
                number % 2 == 0 ? store->sync() : store->flush();
                promised = number + 1;
            }
        }
    }
    disk->watch(nullptr);
    archive::fault::simulated_files = nullptr;
    return all;
}

/// The number of batches in the store; requires that they are whole, without a gap.
std::uint32_t batches_in(const archive::store& store, archive::table_id table) {
    std::uint32_t first = 0;
    std::uint32_t number = 0;
    for (; number < batches && first < store.count(table); ++number) {
        for (std::uint32_t id = first; id < first + rows_in(number); ++id) {
            const auto row = store.find(table, 0, archive::make_key(id));
            REQUIRE(row);
            REQUIRE(row->id() == id);
            REQUIRE(archive::as_text(row->record()).starts_with(std::to_string(id) + "x"));
        }
        first += rows_in(number);
    }
    REQUIRE(store.count(table) == first);
    for (std::uint32_t key = 0; key < std::min(first, 100U); ++key) {
        const auto newest = store.find(table, 1, archive::make_key(key));
        REQUIRE(newest);
        REQUIRE(newest->id() == key + (first - 1 - key) / 100 * 100);
    }
    std::uint32_t shared = 0;
    for (auto at = store.keys(table, 1); at.valid(); at.next())
        ++shared;
    REQUIRE(shared == first);
    return number;
}

void check(const remains& one) {
    CAPTURE(one.folder.string(), one.promised, one.begun);
    std::uint32_t found = 0;
    {
        const auto store = archive::open_store(one.folder, small_files());
        const archive::table_id table = table_in(*store);
        found = batches_in(*store, table);
        CHECK(found >= one.promised);
        CHECK(found <= one.begun);
        if (found < batches) // continues
            write(*store, table, found, static_cast<std::uint32_t>(store->count(table)));
    }
    const auto again = archive::open_store(one.folder, small_files());
    CHECK(batches_in(*again, table_in(*again)) == std::min(found + 1, batches));
}

} // namespace

TEST_CASE_METHOD(seeded, "power is lost at any change of the disk: what was promised is there") {
    const std::uint32_t stride = 37;
    const scratch_folder scratch;
    const auto all = losses_of(scratch.path(), random.below(stride), stride, random);
    CHECK(all.size() > 20);
    for (const remains& one : all)
        check(one);
}

// --- an embedder's program, as archive/README.md shows it: no word of syncing ---

namespace {

constexpr std::uint32_t notes_to_write = 40;

/// The order of destruction of the program's objects, and when the archive is opened.
enum class order {
    of_declaration,     ///< state, archive, life cycle; destroyed in reverse
    state_first,        ///< the archive outlives the state
    archive_comes_late, ///< opened after blocks and a checkpoint
    archive_goes_early, ///< destroyed first; the state continues, then closes
};

class embedder {
public:
    embedder(const fs::path& folder, disk& checkpoints) : folder_(folder) {
        open_options how = small_state();
        how.durability = durability::checkpoint;
        how.checkpoints = {std::chrono::milliseconds(0), 3};
        how.checkpoint_disk = &checkpoints;
        state_.emplace(folder / "state", how);
        state_->add_type<note>("note");
    }

    void open_archive() {
        rows_ = archive::open_archive(*state_, folder_ / "archive", {}, small_files());
        all_.emplace(*state_, *rows_, "note");
    }
    void close_archive() {
        all_.reset();
        rows_.reset();
    }
    void close_state() { state_.reset(); }
    [[nodiscard]] database& state() { return *state_; }

    /// Writes a note, retires the previous one, hands over irreversible ones.
    void apply_block() {
        session block = state_->start_session();
        const auto number = state_->next_id<note>().value;
        chainbase::test::write(*state_, "ann", std::to_string(number), number);
        if (all_) {
            (void)all_->hand_over(state_->committed_revision());
            if (number > 0) all_->retire(state_->get<note>(id<note>(number - 1)));
        }
        block.push();
        state_->commit(state_->revision());
    }
    void apply_blocks(std::uint32_t count) {
        for (; count > 0; --count)
            apply_block();
    }
    void run(order in) {
        if (in != order::archive_comes_late) open_archive();
        apply_blocks(notes_to_write / 2);
        if (in == order::archive_comes_late) open_archive();
        apply_blocks(notes_to_write / 2);
        if (in == order::archive_goes_early) close_archive();
        if (in == order::archive_goes_early) apply_blocks(5);
        if (in == order::state_first) close_state();
        close_archive();
        close_state();
    }
    void check() {
        open_archive();
        const std::uint32_t written = state_->next_id<note>().value;
        for (std::uint32_t number = 0; number < written; ++number) {
            CAPTURE(number, written);
            const auto found = all_->find<by_title>("ann", std::to_string(number));
            REQUIRE(found);
            REQUIRE(found->id() == id<note>(number));
        }
        REQUIRE(all_->in_memory() + all_->archived() == written);
        apply_block(); // continues
    }

private:
    fs::path folder_;
    std::optional<database> state_;
    std::unique_ptr<archive::store> rows_;
    std::optional<notes> all_;
};

/// What a power loss left of the state's checkpoints and of the archive.
struct both_remains {
    fs::path folder; ///< of the archive
    std::unique_ptr<simulated_disk> checkpoints;
};

/// Before every `stride`-th change of either disk.
std::vector<both_remains> losses_of(order in, const fs::path& scratch, std::uint32_t stride,
                                    random_source& random) {
    std::vector<both_remains> all;
    simulated_disk checkpoints;
    const auto disk = std::make_shared<simulated_files>(scratch / "shadows");
    archive::fault::simulated_files = disk;
    const std::uint32_t offset = random.below(stride);
    disk->watch([&](std::uint64_t change) {
        if (change % stride != offset) return;
        both_remains one{scratch / ("after " + std::to_string(change)),
                         std::make_unique<simulated_disk>(checkpoints)};
        const fs::path from = scratch / "archive";
        if (!fs::exists(from / "format") || !fs::exists(from / "synced")) return;
        fs::create_directories(one.folder / "archive");
        for (const char* name : {"format", "synced"})
            fs::copy_file(from / name, one.folder / "archive" / name);
        disk->copy_after_power_loss(from, one.folder / "archive",
                                    [&](std::uint64_t limit) { return random.next() % limit; });
        all.push_back(std::move(one));
    });
    embedder(scratch, checkpoints).run(in);
    disk->watch(nullptr);
    archive::fault::simulated_files = nullptr;
    return all;
}

} // namespace

TEST_CASE_METHOD(seeded,
                 "power is lost under an embedder's program: no object is in neither place") {
    const order in = GENERATE(order::of_declaration, order::state_first, order::archive_comes_late,
                              order::archive_goes_early);
    CAPTURE(static_cast<int>(in));
    const scratch_folder scratch;
    auto all = losses_of(in, scratch.path(), 3, random);
    CHECK(all.size() > 10);
    std::size_t restored = 0;
    for (both_remains& one : all) {
        CAPTURE(one.folder.string());
        one.checkpoints->lose_power(random);
        // Its checkpoints are elsewhere; the rest of its folder is not needed.
        fs::remove_all(scratch / "state");
        fs::rename(one.folder / "archive", scratch / "archive of the lost");
        fs::remove_all(scratch / "archive");
        fs::rename(scratch / "archive of the lost", scratch / "archive");
        embedder after(scratch.path(), *one.checkpoints);
        if (after.state().opened().how == opening::way::restored) ++restored;
        after.check();
    }
    CHECK(restored > 1);
}

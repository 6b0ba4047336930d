// The patched files of a redo log, after two whole checkpoints. Without corrected sums, exactly the
// blocks before the first patched one are restored, and the loss of a synced block is reported when
// later data proves it. With corrected sums, an opened state can be undone, or an engine exception
// gives the reason.
//
// Flags: bit 0, correct the sums of blocks and headers; 1, remove the newest checkpoint; 2,
// continue in the restored state; 3, also restore explicitly. Patches of files 0 and 1 change the
// redo files; 2, the low bytes of a field of a block's head, whose sums are then corrected; 3,
// bytes of a block.

#include <chainbase/checkpoint/redo_files.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/offline/check/checkpoint_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <spdlog/spdlog.h>
#include <tests/fuzz/notes.hpp>
#include <tests/support/simulated_disk.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace chainbase;
using namespace chainbase::test;
using checkpoint::redo_header;
using head = checkpoint::redo_block::head;

namespace fs = std::filesystem;

namespace {

using redo_contents = std::array<content, 2>;

/// The file and offset of a block.
struct place {
    std::size_t file;
    std::size_t at;
    std::size_t bytes;
    std::uint64_t sequence;
    std::uint64_t synced;
};

/// The state after a block.
struct state_summary {
    std::uint64_t digest;
    revision_number revision;
    revision_number committed;
    std::uint64_t committed_digest; ///< after undoing everything
};

template <typename T>
T load(const content& from, std::size_t at) {
    T value;
    std::memcpy(&value, from.data() + at, sizeof value);
    return value;
}

struct fixture {
    scratch_folder folder;
    fs::path state = folder / "state";
    simulated_disk disk;
    std::array<fs::path, 2> names;
    redo_contents files;
    fs::path newest;                      ///< publication, which the second file follows
    std::size_t between = 0;              ///< blocks from the older checkpoint to the newest one
    std::vector<state_summary> summaries; ///< after so many blocks since the older one
    std::vector<place> blocks;
    place end_mark{};

    fixture() {
        make();
        const std::vector<std::uint64_t> firsts = checkpoint::redo_files(disk, checkpoints());
        if (firsts.size() != names.size()) std::abort();
        for (std::size_t i = 0; i < names.size(); ++i) {
            names[i] = checkpoint::redo_file(checkpoints(), firsts[i]);
            files[i] = content_of(disk, names[i]);
            find_blocks(i);
        }
        files[1].resize(end_mark.at + end_mark.bytes + 256); // a part of the reserved zeros
        newest = checkpoint::published(disk, checkpoints()).newest_path();
        if (blocks.size() + 1 != summaries.size()) std::abort();
    }

    [[nodiscard]] fs::path checkpoints() const { return state / "checkpoint"; }

private:
    void make() {
        database db(state, options_on(disk, durability::commit));
        db.add_type<note>("note");
        digests_[db.revision()] = digest_of_notes(db);
        add_block(db);
        db.make_checkpoint();
        for (summaries.clear(), add_summary(db); round_ < 15; add_summary(db)) {
            if (round_ == 7) {
                db.make_checkpoint();
                between = summaries.size() - 1;
            }
            add_block(db);
            db.wait_until_durable();
        }
        db.abandon();
    }
    /// Some stay reversible; one replaces an undone one.
    void add_block(database& db) {
        if (round_ % 4 == 3) db.commit(db.revision() - 2);
        if (round_ == 5 || round_ == 12) db.undo();
        auto block = db.start_session();
        write_notes(db, 5 * round_, 5 * round_ + 5);
        if (const note* one = db.find(id<note>{round_}))
            db.modify(*one, [](note& n) { ++n.weight; });
        if (const note* one = db.find(id<note>{2 * round_ + 1})) db.remove(*one);
        block.push();
        ++round_;
    }
    void add_summary(const database& db) {
        digests_[db.revision()] = digest_of_notes(db);
        summaries.push_back({digests_[db.revision()], db.revision(), db.committed_revision(),
                             digests_.at(db.committed_revision())});
    }
    void find_blocks(std::size_t file) {
        std::size_t at = sizeof(redo_header);
        while (at + sizeof(head) <= files[file].size()) {
            const auto found = load<head>(files[file], at);
            const place one{file, at, sizeof(head) + found.body_bytes(), found.sequence,
                            found.synced};
            at += one.bytes;
            if (found.is_end_mark()) {
                end_mark = one;
                return;
            }
            blocks.push_back(one);
        }
    }

    std::uint32_t round_ = 0;
    std::map<revision_number, std::uint64_t> digests_;
};

fixture& all() {
    static fixture only;
    return only;
}

void set_field(content& to, const place& of, const patches::patch& one) {
    constexpr std::array offsets{offsetof(head, sequence),  offsetof(head, revision),
                                 offsetof(head, committed), offsetof(head, lengths),
                                 offsetof(head, changes),   offsetof(head, content),
                                 offsetof(head, synced)};
    const std::size_t at = of.at + offsets[one.byte % offsets.size()];
    const std::size_t bytes = std::min<std::size_t>(one.content.size(), 8);
    if (at + bytes <= to.size()) std::memcpy(to.data() + at, one.content.data(), bytes);
}

void patch_block(content& to, const place& of, const patches::patch& one) {
    const std::size_t at = one.byte % of.bytes;
    const std::size_t bytes = std::min(one.content.size(), of.bytes - at);
    if (of.at + at + bytes <= to.size())
        std::memcpy(to.data() + of.at + at, one.content.data(), bytes);
}

/// Corrects the sums of its body, if its length in the head fits, and of its head.
void seal_block(content& file, const place& one, std::uint64_t seed) {
    if (file.size() < one.at + sizeof(head)) return;
    auto found = load<head>(file, one.at);
    const std::size_t begin = one.at + sizeof found;
    const std::size_t left = file.size() - begin;
    const std::size_t body =
        found.fits(left) ? found.body_bytes() : std::min(left, one.bytes - sizeof found);
    found.body_sum = XXH3_64bits(file.data() + begin, body);
    found.sum = XXH3_64bits_withSeed(&found, offsetof(head, sum), seed);
    std::memcpy(file.data() + one.at, &found, sizeof found);
}

void seal(redo_contents& files) {
    for (content& file : files) {
        if (file.size() < sizeof(redo_header)) continue;
        const std::uint64_t sum = XXH3_64bits(file.data(), offsetof(redo_header, sum));
        std::memcpy(file.data() + offsetof(redo_header, sum), &sum, sizeof sum);
    }
    const auto seal_one = [&](const place& one) {
        seal_block(files[one.file], one, load<redo_header>(all().files[one.file], 0).sum);
    };
    for (const place& one : all().blocks)
        seal_one(one);
    seal_one(all().end_mark);
}

/// Applies the input. Returns whether all sums are as patched.
bool apply_input(redo_contents& files, patches input) {
    bool is_sealed = input.flag(0);
    while (const auto one = input.next()) {
        const place& block = all().blocks[one->page % all().blocks.size()];
        switch (one->file % 4) {
        case 2:
            is_sealed = true;
            set_field(files[block.file], block, *one);
            break;
        case 3:
            patch_block(files[block.file], block, *one);
            break;
        default:
            apply(files[one->file % 4], *one);
        }
    }
    if (is_sealed) seal(files);
    return !is_sealed;
}

/// The blocks expected from files with uncorrected sums.
class expectation {
public:
    expectation(const redo_contents& files, std::size_t first) : files_(files), next_(first) {
        while (next_ < all().blocks.size() && is_whole(all().blocks[next_]))
            ++next_;
        blocks = next_ - first;
        is_lost = is_known_synced();
    }

    std::size_t blocks;
    bool is_lost;

    [[nodiscard]] const state_summary& end() const { return all().summaries[next_]; }

private:
    [[nodiscard]] bool is_as_it_was(std::size_t file, std::size_t at, std::size_t bytes) const {
        return files_[file].size() >= at + bytes &&
               std::memcmp(files_[file].data() + at, all().files[file].data() + at, bytes) == 0;
    }
    [[nodiscard]] bool is_whole(const place& one) const {
        return is_as_it_was(one.file, 0, sizeof(redo_header)) &&
               is_as_it_was(one.file, one.at, one.bytes);
    }
    /// Whether a later file or head proves that the block was synced.
    [[nodiscard]] bool is_known_synced() const {
        if (next_ == all().blocks.size()) return false;
        const place& missing = all().blocks[next_];
        const auto vouches = [&](const place& one) {
            return one.sequence > missing.sequence && one.synced >= missing.sequence &&
                   is_as_it_was(one.file, one.at, sizeof(head));
        };
        return missing.file == 0 || std::ranges::any_of(all().blocks, vouches) ||
               vouches(all().end_mark);
    }

    const redo_contents& files_;
    std::size_t next_;
};

void require(bool condition) {
    if (!condition) std::abort();
}

/// Reads everything that a check reads.
void check(simulated_disk& disk, const expectation* expected) {
    const auto checked = check::check_checkpoints(disk, all().state);
    if (expected) require((checked.report.found > 0) == expected->is_lost);
}

checkpoint::restored restored_from(simulated_disk& disk) {
    return checkpoint::restore(disk, all().checkpoints(), all().folder / "restored");
}

void restore_by_hand(simulated_disk& disk, const expectation* expected) {
    const checkpoint::restored found = restored_from(disk);
    if (!expected) return;
    require(found.blocks == expected->blocks);
    require(found.revision == expected->end().revision);
    require(found.lost_blocks == expected->is_lost);
}

void require_end(database& db, const expectation& expected) {
    const opening& how = db.opened();
    require(how.how == opening::way::restored && how.blocks == expected.blocks);
    require((how.why.find("are lost") != std::string::npos) == expected.is_lost);
    db.add_type<note>("note");
    require(db.revision() == expected.end().revision);
    require(db.committed_revision() == expected.end().committed);
    require(digest_of_notes(db) == expected.end().digest);
}

/// Adds a block, which must be restored, whatever is left of lost blocks.
void go_on(database& db, simulated_disk& disk) {
    db.start_session().push();
    db.wait_until_durable();
    const checkpoint::restored found = restored_from(disk);
    require(found.revision == db.revision() && !found.lost_blocks);
}

void open_state(simulated_disk& disk, bool goes_on, const expectation* expected) {
    database db(all().state, options_on(disk, durability::commit));
    if (expected) require_end(db, *expected);
    if (goes_on) go_on(db, disk);
    db.undo_all();
    if (expected) require(digest_of_notes(db) == expected->end().committed_digest);
    db.close();
}

void read(simulated_disk& disk, const patches& how, const expectation* expected) {
    fs::remove_all(all().state);
    fs::create_directories(all().state);
    try {
        check(disk, expected);
        if (how.flag(3)) restore_by_hand(disk, expected);
        open_state(disk, how.flag(2), expected);
        return;
    } catch (const error&) { // expected
        if (expected) throw;
    }
    try {
        open_state(disk, false, nullptr); // a refused block is not accepted the next time
    } catch (const error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fixture& from = all();
    spdlog::set_level(spdlog::level::off);
    const patches input(data, size);
    redo_contents files = from.files;
    const bool is_summed = apply_input(files, input);
    simulated_disk disk(from.disk);
    for (std::size_t i = 0; i < files.size(); ++i)
        store(disk, from.names[i], files[i]);
    if (input.flag(1)) disk.remove(from.newest);
    const expectation expected(files, input.flag(1) ? 0 : from.between);
    read(disk, input, is_summed ? &expected : nullptr);
    return 0;
}

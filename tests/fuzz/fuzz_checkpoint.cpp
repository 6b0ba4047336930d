// The patched files of a checkpoint: it is restored, or an engine exception gives the reason.
// Without corrected sums, the restored state is one of the two published ones.
//
// Flags: bit 0, correct the sums of the publications; 1, those of the leaves and pages; 2, make
// checkpoints of the restored state. Patches of a fourth file set a field of the newest
// publication.

#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/offline/check/checkpoint_check.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/block_log/bytes.hpp>

#include <spdlog/spdlog.h>
#include <tests/fuzz/notes.hpp>
#include <tests/support/simulated_disk.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace chainbase;
using namespace chainbase::test;
using checkpoint::publication;

namespace fs = std::filesystem;

namespace {

constexpr std::size_t page_bytes = checkpoint::page_bytes;
constexpr std::array<const char*, 3> names{"published.0", "published.1", "pages"};

struct fixture {
    scratch_folder folder;
    fs::path state = folder / "state";
    std::array<content, 3> files;
    std::set<std::uint64_t> digests; ///< of the published states

    fixture() {
        simulated_disk disk;
        database db(state, options_on(disk, durability::checkpoint));
        db.add_type<note>("note");
        for (std::uint32_t round = 0; round < 3; ++round) {
            auto block = db.start_session();
            write_notes(db, 5 * round, 5 * round + 5);
            block.push();
            if (round > 0) digests.insert(digest_of_notes(db));
            db.make_checkpoint();
        }
        for (std::size_t i = 0; i < names.size(); ++i)
            files[i] = content_of(disk, checkpoints() / names[i]);
        db.abandon();
    }

    [[nodiscard]] fs::path checkpoints() const { return state / "checkpoint"; }
};

fixture& all() {
    static fixture only;
    return only;
}

void set_field(publication& to, const patches::patch& one) {
    const std::uint64_t value = one.number();
    const std::size_t which = one.page;
    publication::file* file = to.files.empty() ? nullptr : &to.files[which % to.files.size()];
    switch (one.byte % 9) {
    case 0:
        to.window_bytes = value;
        break;
    case 1:
        to.windows = static_cast<std::uint32_t>(value);
        break;
    case 2:
        to.generation = value;
        break;
    case 3:
        to.revision = static_cast<std::int64_t>(value);
        break;
    case 4:
        if (file) file->bytes = value;
        break;
    case 5:
        if (file) file->index = static_cast<std::uint32_t>(value);
        break;
    case 6:
        if (!file) break;
        file->name.clear();
        for (const std::uint8_t byte : one.content)
            file->name.push_back(static_cast<char>(byte & 127U)); // valid in JSON
        break;
    case 7:
        if (file && !file->leaves.empty())
            file->leaves[(value >> 32U) % file->leaves.size()].slot =
                static_cast<std::uint32_t>(value);
        break;
    default:
        to.state[which % to.state.size()] = static_cast<std::byte>(value);
    }
}

/// The content of a slot, null if the file has none.
std::byte* page_of(content& pages, std::uint64_t slot) {
    if (slot == 0 || (slot + 1) * page_bytes > pages.size()) return nullptr;
    return pages.data() + slot * page_bytes;
}

/// Sums of pages are seeded with that of the file's header.
std::uint64_t seed_of(const content& pages) {
    std::uint64_t seed = 0;
    if (pages.size() >= page_bytes) std::memcpy(&seed, pages.data() + 40, sizeof seed);
    return seed;
}

/// Corrects the sums from the pages up to the publication.
void seal_pages(publication& from, content& pages) {
    const std::uint64_t seed = seed_of(pages);
    const auto sum_of = [&](const std::byte* page) {
        return XXH3_64bits_withSeed(page, page_bytes, seed);
    };
    for (publication::file& file : from.files)
        for (checkpoint::placed_page& leaf : file.leaves) {
            std::byte* entries = page_of(pages, leaf.slot);
            if (!entries) continue;
            for (std::size_t at = 0; at < page_bytes; at += 16) {
                std::uint32_t slot = 0;
                std::memcpy(&slot, entries + at, sizeof slot);
                const std::byte* page = page_of(pages, slot);
                if (!page) continue;
                const std::uint64_t sum = sum_of(page);
                std::memcpy(entries + at + 8, &sum, sizeof sum);
            }
            leaf.sum = sum_of(entries);
        }
}

/// Corrects its own sum over everything that its header claims.
void seal_publication(content& file) {
    if (file.size() < 40) return;
    std::uint32_t text = 0;
    std::uint64_t leaves = 0;
    std::memcpy(&text, file.data() + 20, sizeof text);
    std::memcpy(&leaves, file.data() + 24, sizeof leaves);
    const std::size_t rest = file.size() - 40;
    if (text > rest || leaves > (rest - text) / 16) return;
    content summed(file.begin(), file.begin() + 32);
    summed.insert(summed.end(), file.begin() + 40,
                  file.begin() + static_cast<std::ptrdiff_t>(40 + text + leaves * 16));
    const std::uint64_t sum = checksum(summed);
    std::memcpy(file.data() + 32, &sum, sizeof sum);
}

/// Applies the input. Returns whether a field was set.
bool apply_input(std::array<content, 3>& files, patches input) {
    std::vector<patches::patch> fields;
    while (const auto one = input.next()) {
        if (one->file % 4 < 3)
            apply(files[one->file % 4], *one);
        else
            fields.push_back(*one);
    }
    for (content* file : {&files[0], &files[1]}) {
        if (input.flag(0)) seal_publication(*file);
        if (fields.empty() && !input.flag(1)) continue;
        try {
            publication opened = publication::decode(*file, "fuzz");
            for (const patches::patch& one : fields)
                set_field(opened, one);
            if (input.flag(1)) seal_pages(opened, files[2]);
            *file = opened.encode();
        } catch (const error&) { // unchanged
        }
    }
    return !fields.empty();
}

/// Restores explicitly, and reads everything that a check reads.
void look(simulated_disk& disk, const fs::path& state, const fs::path& into) {
    try {
        (void)check::check_checkpoints(disk, state);
    } catch (const error&) { // expected
    }
    try {
        (void)checkpoint::restore(disk, state / "checkpoint", into);
    } catch (const error&) {
    }
}

void open_state(simulated_disk& disk, const fs::path& state, bool makes_more, bool is_summed) {
    try {
        database db(state,
                    options_on(disk, makes_more ? durability::checkpoint : durability::process));
        if (db.opened().how != opening::way::restored) return;
        if (is_summed) {
            db.add_type<note>("note");
            if (!all().digests.contains(digest_of_notes(db))) std::abort(); // another state
        }
        db.close();
    } catch (const error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    spdlog::set_level(spdlog::level::off);
    fixture& from = all();
    const patches input(data, size);
    std::array<content, 3> files = from.files;
    const bool has_fields = apply_input(files, input);
    simulated_disk disk;
    for (std::size_t i = 0; i < names.size(); ++i)
        store(disk, from.checkpoints() / names[i], files[i]);
    fs::remove_all(from.state);
    fs::create_directories(from.state);
    look(disk, from.state, from.folder / "restored");
    const bool is_summed = !has_fields && !input.flag(0) && !input.flag(1);
    open_state(disk, from.state, input.flag(2), is_summed);
    return 0;
}

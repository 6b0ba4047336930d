#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/detail/segment_header.hpp>
#include <chainbase/files.hpp>
#include <chainbase/segment_place.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chainbase::check {

namespace fs = std::filesystem;

namespace {

constexpr int most_attempts = 5;

/// Whether a publication is still on the disk, and so what it names.
bool is_there(disk& on, const fs::path& folder, std::uint64_t generation) {
    const checkpoint::published now(on, folder);
    const auto is = [&](const checkpoint::publication* one) {
        return one && one->generation == generation;
    };
    return is(now.newest()) || is(now.older());
}

void check_one(disk& on, const fs::path& folder, const checkpoint::publication& one,
               checked_checkpoints& into) {
    checked_publication done{one.generation, one.revision, one.committed, one.time, 0,
                             standing::whole};
    std::vector<std::string> damage;
    try {
        done.pages = checkpoint::check(on, folder, one,
                                       [&](const std::string& what) { damage.push_back(what); });
    } catch (const error& e) {
        damage.emplace_back(e.what());
    }
    if (!damage.empty()) done.standing = standing::damaged;
    if (!damage.empty() && !is_there(on, folder, one.generation)) {
        done.standing = standing::replaced;
        into.report.not_checked.push_back(
            fmt::format("checkpoint {}: it was replaced while it was read", one.generation));
        damage.clear();
    }
    for (std::string& what : damage)
        into.report.add({"checkpoint/pages", {}, std::move(what)});
    into.publications.push_back(done);
}

/// What nobody had waited for may end within a block.
void check_blocks(disk& on, const fs::path& state, const checkpoint::publication& newest,
                  checked_checkpoints& into) {
    const fs::path folder = state / "checkpoint";
    into.blocks = checkpoint::check_blocks(on, folder, newest, [&](const std::string& what) {
        if (file_lock::is_held(state / "lock"))
            into.report.not_checked.push_back("the end of the redo log, which the writer may "
                                              "be writing: " +
                                              what);
        else
            into.report.add({"checkpoint", {}, what});
    });
    into.report.count("blocks", into.blocks);
}

/// The segment and its checkpoints have the same identity, as long as the header can be read.
void check_identity(const fs::path& state, const checkpoint::publication& one,
                    part_report& report) {
    const fs::path file = segment_place(state).folder() / "header";
    if (!fs::exists(file)) return;
    const std::string content = read_file(file);
    if (content.size() < sizeof(segment_header)) return;
    const auto header = copy_at<segment_header>(reinterpret_cast<const std::byte*>(content.data()));
    if (chainbase::detail::is_whole(header) && header.identity != one.state)
        report.add({"segment/header", offsetof(segment_header, identity),
                    "the checkpoints are of another state than the segment"});
}

checked_checkpoints check_once(disk& on, const fs::path& state) {
    const fs::path folder = state / "checkpoint";
    checked_checkpoints all;
    all.report.name = "checkpoint";
    const stopwatch timed(all.report);
    const checkpoint::published found(on, folder);
    if (!found.why().empty()) all.report.add({"checkpoint", {}, found.why()});
    for (const checkpoint::publication* one : {found.newest(), found.older()})
        if (one) check_one(on, folder, *one, all);
    std::uint64_t pages = 0;
    for (const checked_publication& one : all.publications)
        pages += one.pages;
    all.report.count("publications", all.publications.size());
    all.report.count("pages", pages);
    if (found.newest()) {
        check_identity(state, *found.newest(), all.report);
        check_blocks(on, state, *found.newest(), all);
    }
    return all;
}

/// Nothing is known, and nothing is wrong: all was replaced while it was read.
bool is_outrun(const checked_checkpoints& all) {
    return std::all_of(all.publications.begin(), all.publications.end(),
                       [](const auto& one) { return one.standing == standing::replaced; });
}

} // namespace

const checked_publication* checked_checkpoints::restorable() const noexcept {
    const auto whole = std::find_if(publications.begin(), publications.end(), [](const auto& one) {
        return one.standing == standing::whole;
    });
    return whole == publications.end() ? nullptr : &*whole;
}

checked_checkpoints check_checkpoints(disk& on, const fs::path& state) {
    const fs::path folder = state / "checkpoint";
    if (!on.exists(folder / "published.0") && !on.exists(folder / "published.1"))
        throw format_error(state.string() + ": no checkpoint is there; check the path, or open the "
                                            "state with durability::checkpoint to have one");
    for (int attempt = 1;; ++attempt) {
        checked_checkpoints all = check_once(on, state);
        const bool is_told = all.report.found != 0 || !is_outrun(all);
        if (is_told || attempt == most_attempts) return all;
    }
}

} // namespace chainbase::check

#include <chainbase/check/checkpoint_check.hpp>
#include <chainbase/check/checkpoint_pages.hpp>
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

void check_one(disk& on, const fs::path& state, const checkpoint::publication& one,
               checked_checkpoints& into) {
    const fs::path folder = state / "checkpoint";
    checked_publication done{one.generation, one.revision, one.committed, one.time, 0,
                             standing::whole};
    std::vector<finding> damage;
    try {
        done.pages =
            read_pages(on, folder, one, [&](finding found) { damage.push_back(std::move(found)); });
    } catch (const access_error& e) {
        if (into.report.refused.empty()) into.report.refused.emplace_back(e.what());
        done.standing = standing::refused;
    } catch (const error& e) {
        damage.push_back(located(state, "checkpoint/pages", e.what()));
    }
    if (!damage.empty()) done.standing = standing::damaged;
    if (!damage.empty() && !is_there(on, folder, one.generation)) {
        done.standing = standing::replaced;
        into.report.not_checked.push_back(
            fmt::format("checkpoint {}: it was replaced while it was read", one.generation));
        damage.clear();
    }
    for (finding& found : damage)
        into.report.add(std::move(found));
    into.publications.push_back(done);
}

/// The files of publications that are damaged, one finding for each.
void check_published(const fs::path& state, std::string why, part_report& report) {
    const std::string next = "; " + (state / "checkpoint" / "published.1").string();
    if (why.empty()) return;
    const std::size_t second = why.find(next);
    if (second != std::string::npos) {
        report.add(located(state, "checkpoint", why.substr(second + 2)));
        why.erase(second);
    }
    report.add(located(state, "checkpoint", std::move(why)));
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
    try {
        const segment_place place(state);
        if (!place.why_foreign().empty() || !fs::exists(place.folder() / "header")) return;
        const auto header = chainbase::detail::header_in(place.folder());
        if (header && header->identity != one.state)
            report.add({"segment/header", offsetof(segment_header, identity),
                        "the checkpoints are of another state than the segment"});
    } catch (const error&) { // what is wrong with the segment is not asked here
    }
}

checked_checkpoints check_once(disk& on, const fs::path& state) {
    const fs::path folder = state / "checkpoint";
    checked_checkpoints all;
    all.report.name = "checkpoint";
    const stopwatch timed(all.report);
    const checkpoint::published found(on, folder);
    check_published(state, found.why(), all.report);
    for (const checkpoint::publication* one : {found.newest(), found.older()})
        if (one) check_one(on, state, *one, all);
    std::uint64_t pages = 0;
    for (const checked_publication& one : all.publications)
        pages += one.pages;
    all.report.count("publications", all.publications.size());
    all.report.count("pages", pages);
    if (found.newest()) {
        check_identity(state, *found.newest(), all.report);
        check_blocks(on, state, *found.newest(), all);
    }
    for (finding& one : all.report.findings)
        if (!one.offset) one = located(state, one.file, one.what);
    return all;
}

[[noreturn]] void throw_none(const fs::path& state) {
    if (!fs::exists(state / "lock"))
        throw format_error(state.string() + ": no chainbase state is there; check the path");
    if (file_lock::is_held(state / "lock"))
        throw format_error(state.string() +
                           ": no checkpoint was made yet; who has the state open makes the first "
                           "one when its interval is over, unless it opened the state with "
                           "`--durability process` (durability::process), which makes none");
    throw format_error(state.string() +
                       ": no checkpoint is there; to have one open the state with `--durability "
                       "checkpoint` (durability::checkpoint)");
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

bool has_checkpoint(disk& on, const fs::path& folder) {
    return on.exists(folder / "published.0") || on.exists(folder / "published.1");
}

checked_checkpoints check_checkpoints(disk& on, const fs::path& state) {
    if (!has_checkpoint(on, state / "checkpoint")) throw_none(state);
    for (int attempt = 1;; ++attempt) {
        checked_checkpoints all = check_once(on, state);
        const bool is_told = all.report.found != 0 || !is_outrun(all);
        if (is_told || attempt == most_attempts) return all;
    }
}

} // namespace chainbase::check

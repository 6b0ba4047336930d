#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/offline/check/checkpoint_check.hpp>
#include <chainbase/offline/check/report.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::check {

/// Reads every page that a publication in `folder` names, leaves of its tables included, and
/// compares it with its sum. Calls found(one) for each that is damaged: where it is in `pages`, and
/// what of the segment it holds. Returns how many there are. Throws damaged_error when the file's
/// begin is, io_error when it cannot be opened, access_error.
std::uint64_t read_pages(disk& on, const std::filesystem::path& folder,
                         const checkpoint::publication& of,
                         const std::function<void(finding)>& found,
                         const checkpoint::progress& shown);

namespace {

using checkpoint::page_bytes;
using checkpoint::publication;

constexpr std::size_t batch = 256; // slots that lie side by side are read in one call

struct wanted_page {
    checkpoint::placed_page at;
    const publication::file* of;
    std::uint64_t page;
};

class page_reader {
public:
    page_reader(const checkpoint::slot_file& slots, const publication& of,
                const std::function<void(finding)>& found)
        : slots_(slots), of_(of), found_(found), buffer_(batch * page_bytes) {}

    /// The pages of a file that its leaves name, as far as those are whole.
    void add(const publication::file& file) {
        publication::file whole = file;
        for (std::size_t leaf = 0; leaf < whole.leaves.size(); ++leaf) {
            const std::uint64_t first = leaf * checkpoint::page_table::pages_of_a_leaf;
            if (file.leaves[leaf].slot == 0) continue;
            ++read_;
            if (is_whole(file.leaves[leaf])) continue;
            tell(file.leaves[leaf].slot,
                 fmt::format("where segment/{} has its pages from offset {} on", file.name,
                             first * page_bytes));
            whole.leaves[leaf] = {};
        }
        const checkpoint::page_table table(whole, slots_);
        for (std::uint64_t page = 0; page < table.pages(); ++page)
            if (table.at(page).slot != 0) wanted_.push_back({table.at(page), &file, page});
    }

    /// Returns how many pages and leaves there are.
    std::uint64_t read_all(const checkpoint::progress& shown) {
        std::ranges::sort(wanted_, {}, [](const wanted_page& one) { return one.at.slot; });
        for (std::size_t begin = 0; begin < wanted_.size();) {
            std::size_t end = begin + 1;
            while (end < wanted_.size() && end - begin < batch &&
                   wanted_[end].at.slot == wanted_[begin].at.slot + (end - begin))
                ++end;
            read(std::span(wanted_).subspan(begin, end - begin));
            begin = end;
            shown(begin, wanted_.size());
        }
        return read_ + wanted_.size();
    }

private:
    [[nodiscard]] bool is_whole(const checkpoint::placed_page& one) const {
        try {
            checkpoint::page content;
            slots_.read(one.slot, one.sum, content);
            return true;
        } catch (const damaged_error&) {
            return false;
        }
    }
    void read(std::span<const wanted_page> run) {
        std::vector<bool> whole(run.size());
        try {
            slots_.read(run.front().at.slot, std::span(buffer_).first(run.size() * page_bytes));
            for (std::size_t i = 0; i < run.size(); ++i)
                whole[i] = slots_.sum_of(std::span<const std::byte, page_bytes>(
                               buffer_.data() + i * page_bytes, page_bytes)) == run[i].at.sum;
        } catch (const damaged_error&) { // one of them cannot be read
            for (std::size_t i = 0; i < run.size(); ++i)
                whole[i] = is_whole(run[i].at);
        }
        for (std::size_t i = 0; i < run.size(); ++i)
            if (!whole[i])
                tell(run[i].at.slot, fmt::format("the page of segment/{} at offset {}",
                                                 run[i].of->name, run[i].page * page_bytes));
    }
    void tell(checkpoint::slot slot, const std::string& what) const {
        found_({"checkpoint/pages", std::uint64_t{slot} * page_bytes,
                fmt::format("checkpoint {}, {}: its checksum does not match, or the file ends "
                            "before",
                            of_.generation, what)});
    }

    const checkpoint::slot_file& slots_;
    const publication& of_;
    const std::function<void(finding)>& found_;
    std::vector<std::byte> buffer_;
    std::vector<wanted_page> wanted_;
    std::uint64_t read_ = 0; ///< leaves
};

} // namespace

std::uint64_t read_pages(disk& on, const std::filesystem::path& folder, const publication& of,
                         const std::function<void(finding)>& found,
                         const checkpoint::progress& shown) {
    const std::filesystem::path file = folder / "pages";
    if (!on.exists(file)) throw damaged_error(file.string() + ": missing");
    const checkpoint::slot_file slots(on, file, of.state, disk::mode::read);
    page_reader reader(slots, of, found);
    for (const publication::file& one : of.files)
        reader.add(one);
    return reader.read_all(shown);
}

namespace fs = std::filesystem;

namespace {

constexpr int most_attempts = 5;

/// Whether a publication, and so its pages, is still on the disk.
bool is_there(disk& on, const fs::path& folder, std::uint64_t generation) {
    const checkpoint::published now(on, folder);
    const auto is = [&](const checkpoint::publication* one) {
        return one && one->generation == generation;
    };
    return is(now.newest()) || is(now.older());
}

void check_one(disk& on, const fs::path& state, const checkpoint::publication& one,
               const checkpoint::progress& shown, checked_checkpoints& into) {
    const fs::path folder = state / "checkpoint";
    checked_publication done{one.generation, one.revision, one.committed, one.time, 0,
                             standing::whole};
    std::vector<finding> damage;
    try {
        done.pages = read_pages(
            on, folder, one, [&](finding found) { damage.push_back(std::move(found)); }, shown);
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

/// An unsynced end of the log may end within a block.
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

checked_checkpoints check_once(disk& on, const fs::path& state, const checkpoint::progress& tell) {
    const fs::path folder = state / "checkpoint";
    checked_checkpoints all;
    all.report.name = "checkpoint";
    const stopwatch timed(all.report);
    const checkpoint::published found(on, folder);
    check_published(state, found.why(), all.report);
    const unsigned both = found.older() ? 2 : 1;
    unsigned before = 0;
    const auto shown = [&](std::uint64_t done, std::uint64_t pages) {
        if (tell) tell(before * pages + done, both * pages);
    };
    for (const checkpoint::publication* one : {found.newest(), found.older()}) {
        if (one) check_one(on, state, *one, shown, all);
        ++before;
    }
    std::uint64_t pages = 0;
    for (const checked_publication& one : all.publications)
        pages += one.pages;
    all.report.count("publications", all.publications.size());
    all.report.count("pages", pages);
    if (found.newest()) {
        check_identity(on, state, all.report);
        check_blocks(on, state, *found.newest(), all);
    }
    for (finding& one : all.report.findings)
        if (!one.offset) one = located(state, one.file, one.what);
    return all;
}

[[noreturn]] void throw_none(const fs::path& state) {
    if (!fs::exists(state / "lock")) throw no_state_at(state);
    if (file_lock::is_held(state / "lock"))
        throw format_error(state.string() +
                           ": no checkpoint was made yet; the process that has the state open "
                           "makes the first one when its interval is over, unless it opened the "
                           "state with `--durability process` (durability::process), which makes "
                           "none");
    throw format_error(state.string() +
                       ": there is no checkpoint; to have one, open the state with `--durability "
                       "checkpoint` (durability::checkpoint)");
}

/// Inconclusive: everything was replaced while it was read.
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

void check_identity(disk& on, const fs::path& state, part_report& to) {
    try {
        const segment_place place(state);
        if (!place.why_foreign().empty() || !fs::exists(place.folder() / "header")) return;
        const auto header = chainbase::detail::header_in(place.folder());
        const checkpoint::published found(on, state / "checkpoint");
        if (header && found.newest() && found.newest()->state != header->identity)
            to.add({"segment/header", offsetof(segment_header, identity),
                    "the checkpoints are of another state than the segment"});
    } catch (const error&) { // damage of either is reported elsewhere
    }
}

checked_checkpoints check_checkpoints(disk& on, const fs::path& state,
                                      const checkpoint::progress& tell) {
    if (!has_checkpoint(on, state / "checkpoint")) throw_none(state);
    for (int attempt = 1;; ++attempt) {
        checked_checkpoints all = check_once(on, state, tell);
        const bool is_told = all.report.found != 0 || !is_outrun(all);
        if (is_told || attempt == most_attempts) return all;
    }
}

} // namespace chainbase::check

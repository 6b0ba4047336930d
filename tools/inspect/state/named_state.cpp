#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/database.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/boot_id.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/resource_limits.hpp>
#include <tools/inspect/state/named_state.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

constexpr const char* names_of_a_state[] = {"lock", "segment", "segment.json", "checkpoint"};

constexpr const char* way_out = "; `chainbase-inspect info` says what the next opening does";

[[noreturn]] void fail(const fs::path& where, const char* what) {
    throw io_error(fmt::format("{}: {}: {}; set TMPDIR to a folder that can be written to",
                               where.string(), what, std::generic_category().message(errno)));
}

/// Runs in the child process. Signals to the terminal's group do not reach it.
[[noreturn]] void remove_at_the_end(const fs::path& folder, int lifeline) {
    constexpr int kept = 3;
    ::setsid();
    if (lifeline != kept) ::dup2(lifeline, kept);
    for (const int standard : {0, 1, 2})
        ::close(standard);
    ::close_range(kept + 1, ~0U, 0);
    char byte;
    while (::read(kept, &byte, 1) < 0 && errno == EINTR) {
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    ::_exit(0);
}

/// 0 unless it is a folder.
std::uint64_t room_in(const fs::path& folder) {
    std::error_code problem;
    const fs::space_info space = fs::space(folder, problem);
    if (problem) return 0;
    if (!is_memory(folder)) return space.available;
    const auto free = resource_limits::available_memory();
    return std::min<std::uint64_t>(space.available, free.value_or(UINT64_MAX));
}

using checkpoint::publication;
using checkpoint::published;

constexpr std::string_view mark = "@checkpoint";

struct parsed_name {
    std::string state;
    std::optional<std::uint64_t> generation; ///< nothing: the newest
};

/// Nothing if the name is no checkpoint's.
std::optional<parsed_name> parse(const std::string& name) {
    const std::size_t at = name.rfind(mark);
    if (at == std::string::npos || at == 0 || fs::exists(name)) return std::nullopt;
    parsed_name found{name.substr(0, at), std::nullopt};
    const std::string_view rest = std::string_view(name).substr(at + mark.size());
    if (rest.empty()) return found;
    std::uint64_t generation = 0;
    const char* const end = rest.data() + rest.size();
    if (rest.front() != ':') return std::nullopt;
    const auto [stop, problem] = std::from_chars(rest.data() + 1, end, generation);
    if (problem != std::errc() || stop != end)
        throw usage_error(name + ": \"" + std::string(rest.substr(1)) +
                          "\" is not the generation of a checkpoint, a whole number (`info` "
                          "lists them)");
    found.generation = generation;
    return found;
}

const publication* with(const published& all, std::optional<std::uint64_t> generation) {
    if (!generation) return all.newest();
    for (const publication* one : {all.newest(), all.older()})
        if (one && one->generation == *generation) return one;
    return nullptr;
}

[[noreturn]] void fail_missing(const fs::path& state, const published& all,
                               std::optional<std::uint64_t> generation) {
    std::string known;
    for (const publication* one : {all.newest(), all.older()})
        if (one) known += fmt::format("{}{}", known.empty() ? "" : ", ", one->generation);
    if (!all.why().empty()) throw damaged_error(all.why());
    throw usage_error(fmt::format("{} has no checkpoint{}; it has {}", state.string(),
                                  generation ? fmt::format(" {}", *generation) : "",
                                  known.empty() ? "none" : known));
}

/// Restores the state of the checkpoint, closed so that every reader can open it.
void make_state(const fs::path& checkpoints, const publication& from, const fs::path& state) {
    private_folder::make_within(state);
    const fs::path segment = state / "segment";
    checkpoint::restore_publication(disk::of_system(), checkpoints, from, segment);
    segment_header header = detail::fresh_header(from.window_bytes, from.windows);
    header.identity = from.state;
    const std::string boot = boot_id();
    std::memcpy(header.boot, boot.data(), boot.size());
    detail::write_header(segment, header);
    static_cast<void>(open_private(state / "lock", file_use::create)); // every segment has one
    open_options how;
    how.sync = false;
    how.durability = durability::process;
    how.advise = false;
    database(state, how).close();
}

} // namespace

bool is_state(const fs::path& folder) {
    return std::any_of(
        std::begin(names_of_a_state), std::end(names_of_a_state),
        [&](const char* name) { return fs::exists(fs::symlink_status(folder / name)); });
}

fs::path segment_folder(const fs::path& state) {
    if (!is_state(state)) throw no_state_at(state);
    const segment_place place(state);
    if (!place.why_foreign().empty())
        throw unclean_error(state.string() + ": " + place.why_foreign() + way_out);
    if (!fs::exists(place.folder()))
        throw unclean_error(place.folder().string() + ": does not exist" + way_out);
    return place.folder();
}

segment_header segment_header_in(const fs::path& folder) {
    const fs::path file = folder / "header";
    const std::optional<segment_header> found = detail::header_in(folder);
    if (!found)
        throw damaged_error(file.string() +
                            ": offset 0: not the header of a chainbase state, or damaged" +
                            way_out);
    if (found->format != segment_header::current_format)
        throw format_error(file.string() + ": format " + std::to_string(found->format) +
                           ", this program reads " +
                           std::to_string(segment_header::current_format) +
                           "; inspect it with the program of that version");
    return *found;
}

bool is_of_another_boot(const segment_header& header) {
    const bool is_on_storage = header.clean == 1 && header.synced == 1;
    return detail::boot_of(header) != boot_id() && !is_on_storage;
}

std::vector<checkpoint_info> checkpoints_of(const checkpoint::published& all) {
    std::vector<checkpoint_info> found;
    for (const checkpoint::publication* one : {all.newest(), all.older()}) {
        if (!one) continue;
        found.push_back({one->generation, one->revision, one->committed, one->time,
                         one->segment_bytes(), one->redo != 0});
    }
    return found;
}

std::vector<checkpoint_info> checkpoints_now(const std::filesystem::path& state) {
    std::error_code unreadable;
    if (!std::filesystem::exists(state / "checkpoint", unreadable)) return {};
    try {
        return checkpoints_of(checkpoint::published(disk::of_system(), state / "checkpoint"));
    } catch (const error&) {
        return {};
    }
}

namespace fs = std::filesystem;

temporary_folder::temporary_folder(const fs::path& parent) {
    std::string name = (parent / "chainbase-inspect-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail(parent, "cannot make a folder");
    path_ = name;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
        remover_ = ::fork();
        if (remover_ == 0) remove_at_the_end(path_, ends[0]);
        ::close(ends[0]);
        lifeline_ = ends[1];
    }
    if (remover_ > 0) return;
    const int problem = errno;
    if (lifeline_ >= 0) ::close(lifeline_);
    fs::remove(path_);
    errno = problem;
    fail(path_, "no process that would remove it can be started");
}

temporary_folder::~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    ::close(lifeline_);
    while (::waitpid(remover_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

fs::path temporary_folder::place_for(std::uint64_t bytes) {
    constexpr std::uint64_t beside = std::uint64_t{1} << 20; ///< header, catalogue, folders
    const char* const chosen = std::getenv("TMPDIR");
    const bool is_chosen = chosen && *chosen != '\0';
    const std::vector<fs::path> places =
        is_chosen ? std::vector<fs::path>{chosen} : std::vector<fs::path>{"/dev/shm", "/tmp"};
    std::string found;
    for (const fs::path& place : places) {
        const std::uint64_t room = room_in(place);
        if (room >= bytes + beside) return place;
        found += fmt::format("{}{} has {}", found.empty() ? "" : ", ", place.string(), room);
    }
    throw out_of_space_error(fmt::format("a checkpoint takes {} bytes while it is inspected, but "
                                         "{}; set TMPDIR to a folder with room",
                                         bytes + beside, found));
}

namespace fs = std::filesystem;

named_state::named_state(const std::string& name) : origin_(name), folder_(name) {
    const auto found = parse(name);
    if (!found) return;
    origin_ = found->state;
    restore(found->generation);
}

/// A writer may replace the checkpoint during the read: then retries with the new newest one.
void named_state::restore(std::optional<std::uint64_t> generation) {
    constexpr int attempts = 10;
    const fs::path checkpoints = origin_ / "checkpoint";
    for (int attempt = 1;; ++attempt) {
        const published all(disk::of_system(), checkpoints);
        const publication* const wanted = with(all, generation);
        if (!wanted) fail_missing(origin_, all, generation);
        restored_ = std::make_unique<temporary_folder>(
            temporary_folder::place_for(wanted->segment_bytes()));
        folder_ = restored_->path() / "state";
        try {
            return make_state(checkpoints, *wanted, folder_);
        } catch (const damaged_error&) {
            const published now(disk::of_system(), checkpoints);
            if (attempt == attempts || with(now, wanted->generation)) throw;
        }
    }
}

std::optional<std::string> named_state::state_of(const std::string& name) {
    const auto found = parse(name);
    return found ? std::optional(found->state) : std::nullopt;
}

std::string named_state::name_of(const fs::path& state, std::uint64_t generation) {
    return fmt::format("{}{}:{}", state.string(), mark, generation);
}

} // namespace chainbase::inspect

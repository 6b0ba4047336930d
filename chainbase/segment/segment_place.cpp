#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_identity.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/json.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <boost/uuid/random_generator.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

constexpr int place_format = 1;
constexpr int tie_format = 2; ///< 1 had device, inode and time of change of segment.json alone
constexpr const char* home_prefix = "chainbase-";

fs::path place_file(const fs::path& state) {
    return state / "segment.json";
}
fs::path unsettled_file(const fs::path& state) {
    return state / "segment.json.new";
}
fs::path segment_in(const fs::path& home) {
    return home / "segment";
}
fs::path tie_file(const fs::path& home) {
    return home / "state.json";
}

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte b : bytes)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    return text;
}

/// Whether `written_down` identifies the present file. It may have been recorded without a time of
/// birth.
bool is_same(const file_identity& written_down, const file_identity& now) {
    return written_down.device == now.device && written_down.inode == now.inode &&
           (written_down.born == 0 || written_down.born == now.born);
}

std::string to_json(const file_identity& from) {
    return json_object()
        .add("device", from.device)
        .add("inode", from.inode)
        .add("born", from.born)
        .text();
}
file_identity identity_in(const json_value& from) {
    return {from.at("device").number<std::uint64_t>(), from.at("inode").number<std::uint64_t>(),
            from.at("born").number<std::int64_t>()};
}

std::uint64_t nanoseconds(const timespec& time) {
    constexpr std::uint64_t second = 1'000'000'000;
    return static_cast<std::uint64_t>(time.tv_sec) * second +
           static_cast<std::uint64_t>(time.tv_nsec);
}

/// The kernel's attributes of a file or folder.
struct file_now {
    file_identity which;
    std::uint64_t written = 0; ///< nanoseconds since 1970
    std::uint64_t changed = 0;

    [[nodiscard]] static file_now of(const file_descriptor& opened, const fs::path& file) {
        struct stat found{};
        if (fstat(opened.number(), &found) != 0) throw_file_error(file, "examine");
        return {file_identity::of(opened, file), nanoseconds(found.st_mtim),
                nanoseconds(found.st_ctim)};
    }
    [[nodiscard]] static file_now of(const fs::path& file) {
        return of(open_private(file, file_use::read), file);
    }
    [[nodiscard]] static file_now of_folder(const fs::path& folder) {
        return of(file_descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                  folder);
    }
};

/// The record in a home about the state that it belongs to.
struct tie {
    std::string state; ///< its path at creation, for people
    std::string identity;
    file_identity folder; ///< of the state
    file_identity file;   ///< segment.json
    /// When segment.json was written last, or, without a time of birth, changed. None as long as
    /// more changes come; two while a writer moves it on.
    std::vector<std::uint64_t> times;

    [[nodiscard]] static tie to(const fs::path& state, const fs::path& file) {
        return {fs::absolute(state).string(),
                {},
                file_now::of_folder(state).which,
                file_now::of(file).which,
                {}};
    }
    void write(const fs::path& home) const {
        const auto number = [](std::uint64_t one) { return std::to_string(one); };
        const std::string content = json_object(/*for_people=*/true)
                                        .add("format", tie_format)
                                        .add("state", state)
                                        .add("identity", identity)
                                        .add_json("folder", to_json(folder))
                                        .add_json("file", to_json(file))
                                        .add_json("times", json_array(times, number))
                                        .text();
        replace_file(tie_file(home), content + "\n");
    }
    [[nodiscard]] static tie read(const fs::path& home) {
        const json_value from = json_value::parse(read_file(tie_file(home)));
        if (from.at("format").number<int>() == 1) return read_first_format(from);
        tie found{from.at("state").text(),
                  from.at("identity").text(),
                  identity_in(from.at("folder")),
                  identity_in(from.at("file")),
                  {}};
        for (const json_value& one : from.at("times").elements())
            found.times.push_back(one.number<std::uint64_t>());
        return found;
    }
    [[nodiscard]] bool is_confirmed() const { return !times.empty(); }
    [[nodiscard]] std::uint64_t time_of(const file_now& now) const {
        return file.born != 0 ? now.written : now.changed;
    }
    [[nodiscard]] bool is_to(const fs::path& state, const fs::path& name) const {
        const file_now now = file_now::of(name);
        return is_same(file, now.which) &&
               (folder.inode == 0 || is_same(folder, file_now::of_folder(state).which)) &&
               (times.empty() || std::ranges::count(times, time_of(now)) != 0);
    }
    bool operator==(const tie& other) const { return times == other.times; }

private:
    /// Which knew the file alone.
    [[nodiscard]] static tie read_first_format(const json_value& from) {
        const auto number = [&](const char* name) { return from.at(name).number<std::uint64_t>(); };
        tie found{from.at("state").text(),
                  from.at("identity").text(),
                  {},
                  {number("device"), number("inode"), 0},
                  {}};
        if (number("changed") != 0) found.times.push_back(number("changed"));
        return found;
    }
};

/// The content of segment.json: where a segment is, or will be.
struct place {
    fs::path home;        ///< empty in segment.json.new for a segment in the state folder
    std::string identity; ///< empty until settled
    /// The folder STATE/segment from or to which the segment moves: superfluous as long as
    /// segment.json names a home.
    std::optional<file_identity> copy;

    [[nodiscard]] std::string text() const {
        json_object all(/*for_people=*/true);
        all.add("format", place_format).add("home", home.string()).add("identity", identity);
        if (copy) all.add_json("copy", to_json(*copy));
        return all.text() + "\n";
    }
    [[nodiscard]] static place read(const fs::path& file) {
        try {
            const json_value from = json_value::parse(read_file(file));
            if (const std::string format = from.at("format").serialized();
                format != std::to_string(place_format))
                throw format_error(file.string() + ": format " + format + ", this program reads " +
                                   std::to_string(place_format) +
                                   "; open it with the program that wrote it");
            place found{from.at("home").text(), from.at("identity").text(), {}};
            if (from.has("copy")) found.copy = identity_in(from.at("copy"));
            return found;
        } catch (const json_error& e) {
            throw damaged_error(file.string() + ": does not say where the segment is (" + e.what() +
                                "); if there is a checkpoint to go back to, move the file away");
        }
    }
};

bool is_there(const fs::path& file) {
    struct stat found{};
    if (lstat(file.c_str(), &found) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_file_error(file, "examine");
}

/// A home of another owner is not the segment, and no error. Our own home with too wide permissions
/// is an error.
bool is_ours(const fs::path& home, const fs::path& state) {
    struct stat found{};
    struct stat of_state{};
    return lstat(home.c_str(), &found) == 0 && lstat(state.c_str(), &of_state) == 0 &&
           S_ISDIR(found.st_mode) && found.st_uid == of_state.st_uid;
}

/// Whether a file that names a place names this home.
bool names(const fs::path& file, const fs::path& home) {
    return is_there(file) && place::read(file).home == home;
}

/// The state that a home names, if that has it no more, or is there no more.
std::optional<fs::path> former_state_of(const fs::path& home) {
    try {
        if (!is_there(tie_file(home))) return fs::path();
        const fs::path state = tie::read(home).state;
        // In the order in which a home goes from one to the other.
        if (names(unsettled_file(state), home) || names(place_file(state), home))
            return std::nullopt;
        return state;
    } catch (const std::exception&) { // it cannot be told
        return std::nullopt;
    }
}

bool has_name_of_home(const fs::path& folder) {
    std::string name = folder.filename();
    if (!name.starts_with(home_prefix)) return false;
    name.erase(0, std::strlen(home_prefix));
    return name.size() == 2 * sizeof(segment_place::identity) &&
           name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Replaces the file: a fresh one, whose identity others can record, and which only we write.
void write_unsettled(const fs::path& state, const place& of) {
    (void)open_private(unsettled_file(state), file_use::replace);
    overwrite_file(unsettled_file(state), of.text());
}

/// Only the very folder that was recorded, which without a time of birth cannot be told.
void remove_copy(const fs::path& state, const std::optional<file_identity>& recorded) {
    const fs::path segment = segment_in(state);
    if (!recorded || recorded->born == 0 || !is_there(segment)) return;
    if (*recorded == file_now::of_folder(segment).which) try_to_remove_tree(segment);
}

/// The tie last, so that what a kill leaves is recognised.
void remove_home(const fs::path& home) {
    for (const std::string& name : names_in(home))
        if (home / name != tie_file(home)) remove_tree(home / name);
    remove_tree(home);
}

/// A home that has no tie yet, or no more, holds nothing else.
void remove_empty_home(const fs::path& home) {
    ::unlink((tie_file(home).string() + ".new").c_str());
    ::rmdir(home.c_str());
}

fs::path existing_folder(const fs::path& memory) {
    std::error_code none;
    const fs::path found = fs::canonical(memory, none); // /dev/shm may be a link
    if (none || !fs::is_directory(found, none))
        throw usage_error(memory.string() + ": is not a folder that can hold a segment; name one "
                                            "that exists, such as /dev/shm");
    return found;
}

} // namespace

segment_place::segment_place(fs::path state) : state_(std::move(state)), home_(state_) {
    if (!is_there(place_file(state_))) return;
    const place found = place::read(place_file(state_));
    home_ = found.home;
    identity_ = found.identity;
    if (!home_.is_absolute() || !home_.filename().string().starts_with(home_prefix))
        throw damaged_error(place_file(state_).string() + ": \"" + home_.string() +
                            "\" is not a place of a segment; if there is a checkpoint to go back "
                            "to, move the file away");
    find_tie();
}

/// Checks whether the home belongs to this state.
void segment_place::find_tie() {
    if (!is_there(home_)) return;
    try {
        private_folder(state_, /*writing=*/false).require_same_owner({home_, /*writing=*/false});
        tie found = tie::read(home_);
        bool holds = found.is_to(state_, place_file(state_));
        for (tie again = found; !holds; found = again) { // a writer may be updating it
            again = tie::read(home_);
            holds = again.is_to(state_, place_file(state_));
            if (again == found) break;
        }
        is_confirmed_ = found.is_confirmed();
        if (found.identity != identity_)
            why_foreign_ = home_.string() + " holds the segment of another state";
        else if (!holds)
            why_foreign_ = home_.string() + " holds the segment of " + found.state +
                           ", which was made there: this folder is a copy, or was put back";
    } catch (const access_error& e) {
        if (is_ours(home_, state_)) throw;
        why_foreign_ = e.what();
    } catch (const io_error& e) { // it cannot be read
        why_foreign_ = e.what();
    } catch (const json_error& e) {
        why_foreign_ = tie_file(home_).string() + ": " + e.what();
    }
}

segment_place segment_place::prepare(const fs::path& state, const fs::path& memory) {
    if (memory.empty()) return {state, state};
    const boost::uuids::uuid random = boost::uuids::random_generator()();
    const std::string name = hexadecimal(std::as_bytes(std::span(random.begin(), random.size())));
    segment_place made(state, existing_folder(memory) / (home_prefix + name));
    write_unsettled(state, {made.home_, {}, {}});
    private_folder::make(made.home_, private_folder(state, /*writing=*/true).readers());
    tie::to(state, unsettled_file(state)).write(made.home_);
    return made;
}

/// A former home is named by segment.json.new until it is removed, a former folder by the `copy` of
/// segment.json; so the next writer removes what a kill leaves.
void segment_place::settle(const identity& of_state) {
    const segment_place former(state_);
    if (is_in_memory())
        settle_in_home(former, of_state);
    else
        settle_in_state_folder(former);
}

void segment_place::settle_in_state_folder(const segment_place& former) {
    if (former.is_in_memory())
        write_unsettled(state_, {{}, {}, file_now::of_folder(fresh_folder()).which});
    name_segment();
    if (former.is_in_memory()) forget_home(former);
}

void segment_place::settle_in_home(const segment_place& former, const identity& of_state) {
    name_segment();
    identity_ = hexadecimal(of_state);
    write_settled(former);
    tie made = tie::read(home_);
    made.identity = identity_;
    made.write(home_);
    name_home(former);
    is_confirmed_ = false;
    confirm();
}

/// Gives the complete segment its name.
void segment_place::name_segment() const {
    disk::of_system().rename(fresh_folder(), folder());
    sync_folder(home_);
}

/// Completes segment.json.new: it will be segment.json.
void segment_place::write_settled(const segment_place& former) const {
    place settled{home_, identity_, {}};
    if (former.is_in_memory())
        settled.copy = place::read(place_file(state_)).copy;
    else if (is_there(former.folder()))
        settled.copy = file_now::of_folder(former.folder()).which;
    overwrite_file(unsettled_file(state_), settled.text());
}

/// Makes segment.json name this home, from which on it is the state's.
void segment_place::name_home(const segment_place& former) const {
    if (!former.owns_home() || !exchange_names(unsettled_file(state_), place_file(state_)))
        disk::of_system().rename(unsettled_file(state_), place_file(state_));
    sync_folder(state_);
}

/// Without segment.json the segment is in the state folder.
void segment_place::forget_home(const segment_place& former) const {
    if (former.owns_home())
        disk::of_system().rename(place_file(state_), unsettled_file(state_));
    else
        disk::of_system().remove(place_file(state_));
    sync_folder(state_);
}

void segment_place::confirm() {
    if (is_confirmed_) return;
    write_tie();
    is_confirmed_ = true;
}

/// Records the present segment.json.
void segment_place::write_tie() {
    const fs::path file = place_file(state_);
    tie made = tie::to(state_, file);
    made.identity = identity_;
    made.times = {made.time_of(file_now::of(file))};
    made.write(home_);
}

/// Whenever it is killed, the tie has the time of the file. If the home has no space, its tie is
/// unchanged.
void segment_place::renew() noexcept {
    if (!owns_home() || !is_confirmed_) return;
    try {
        if (!is_there(home_)) return; // a restore creates another one
        const fs::path file = place_file(state_);
        const file_descriptor opened = open_private(file, file_use::write);
        const file_now now = file_now::of(opened, file);
        if (now.which.born == 0) return;
        tie next = tie::to(state_, file);
        next.identity = identity_;
        timespec time{};
        clock_gettime(CLOCK_REALTIME, &time);
        next.times = {now.written, static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                                       static_cast<std::uint64_t>(time.tv_nsec)};
        next.write(home_);
        const timespec both[2] = {{0, UTIME_OMIT}, time};
        if (futimens(opened.number(), both) != 0) throw_file_error(file, "date");
        write_tie();
    } catch (const std::exception& e) {
        spdlog::warn("{}: {}; the segment still belongs to this state", state_.native(), e.what());
    }
}

std::vector<segment_place::orphan> segment_place::orphans(const fs::path& memory) {
    std::vector<orphan> found;
    std::error_code unknown;
    const fs::directory_iterator end; // a folder that goes meanwhile ends an iteration
    for (fs::directory_iterator at(memory, unknown); at != end; at.increment(unknown)) {
        struct stat status{};
        const fs::path home = at->path();
        if (!has_name_of_home(home) || lstat(home.c_str(), &status) != 0 ||
            !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
            continue;
        const std::optional<fs::path> state = former_state_of(home);
        if (!state) continue;
        orphan one{home, *state, 0};
        constexpr std::uint64_t block = 512; // the unit of st_blocks
        const fs::recursive_directory_iterator last;
        for (fs::recursive_directory_iterator file(home, unknown); file != last;
             file.increment(unknown))
            if (lstat(file->path().c_str(), &status) == 0)
                one.bytes += static_cast<std::uint64_t>(status.st_blocks) * block;
        found.push_back(std::move(one));
    }
    return found;
}

void segment_place::discard_unsettled(const fs::path& state) {
    const segment_place now(state);
    if (now.owns_home() && is_there(now.folder()))
        remove_copy(state, place::read(place_file(state)).copy);
    const fs::path file = unsettled_file(state);
    if (!is_there(file)) return;
    try {
        const auto& [home, identity, copy] = place::read(file);
        if (home.empty()) {
            if (now.is_in_memory()) remove_copy(state, copy);
        } else if (home.filename().string().starts_with(home_prefix) && is_ours(home, state)) {
            if (!is_there(tie_file(home)))
                remove_empty_home(home);
            else if (tie::read(home).is_to(state, file))
                remove_home(home);
        }
    } catch (const std::exception&) { // torn or foreign: what it prepared is unknown
    }
    disk::of_system().remove(file);
}

bool segment_place::is_lost_with_the_machine() const {
    return is_memory(fs::exists(home_) ? home_ : home_.parent_path());
}

void segment_place::require_identity(const identity& of_segment) const {
    if (!is_in_memory() || hexadecimal(of_segment) == identity_) return;
    throw damaged_error((folder() / "header").string() +
                        ": offset 88: the segment of another state; remove " + home_.string() +
                        ", to go back to the last checkpoint");
}

} // namespace chainbase

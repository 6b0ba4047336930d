#include <chainbase/files.hpp>
#include <chainbase/folder.hpp>
#include <chainbase/json.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>

#include <boost/uuid/random_generator.hpp>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

constexpr int place_format = 1;
constexpr const char* home_prefix = "chainbase-";

fs::path place_file(const fs::path& state) {
    return state / "segment.json";
}
fs::path unsettled_file(const fs::path& state) {
    return state / "segment.json.new";
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

/// Which file it is. The time of the last change is 0 as long as more changes come.
struct file_mark {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t changed = 0; ///< nanoseconds since 1970

    [[nodiscard]] static file_mark of(const fs::path& file) {
        const file_descriptor opened = open_private(file, file_use::read);
        struct stat found{};
        if (fstat(opened.number(), &found) != 0) throw_file_error(file, "examine");
        constexpr std::uint64_t second = 1'000'000'000;
        return {found.st_dev, found.st_ino,
                static_cast<std::uint64_t>(found.st_ctim.tv_sec) * second +
                    static_cast<std::uint64_t>(found.st_ctim.tv_nsec)};
    }
    [[nodiscard]] bool is_of(const file_mark& other) const {
        return device == other.device && inode == other.inode &&
               (changed == 0 || changed == other.changed);
    }
};

/// What a home says of the state that it belongs to.
struct tie {
    std::string state; ///< its path when it was made, for people
    std::string identity;
    file_mark mark; ///< of segment.json

    void write(const fs::path& home) const {
        const std::string content = json_object(/*for_people=*/true)
                                        .add("format", place_format)
                                        .add("state", state)
                                        .add("identity", identity)
                                        .add("device", mark.device)
                                        .add("inode", mark.inode)
                                        .add("changed", mark.changed)
                                        .text();
        replace_file(tie_file(home), content + "\n");
    }
    [[nodiscard]] static tie read(const fs::path& home) {
        const json_value from = json_value::parse(read_file(tie_file(home)));
        const auto number = [&](const char* name) { return from.at(name).number<std::uint64_t>(); };
        return {from.at("state").text(),
                from.at("identity").text(),
                {number("device"), number("inode"), number("changed")}};
    }
};

/// Where a segment is, or will be.
struct place {
    fs::path home;
    std::string identity; ///< empty as long as it is not settled

    [[nodiscard]] std::string text() const {
        return json_object(/*for_people=*/true)
                   .add("format", place_format)
                   .add("home", home.string())
                   .add("identity", identity)
                   .text() +
               "\n";
    }
    [[nodiscard]] static place read(const fs::path& file) {
        try {
            const json_value from = json_value::parse(read_file(file));
            if (const std::string format = from.at("format").serialized();
                format != std::to_string(place_format))
                throw format_error(file.string() + ": format " + format + ", this program reads " +
                                   std::to_string(place_format) +
                                   "; open it with the program that wrote it");
            return {from.at("home").text(), from.at("identity").text()};
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

/// A foreign owner is none of ours to judge: what is there is not the segment. But who lets others
/// into our own is told.
bool is_ours(const fs::path& home, const fs::path& state) {
    struct stat found{};
    struct stat of_state{};
    return lstat(home.c_str(), &found) == 0 && lstat(state.c_str(), &of_state) == 0 &&
           S_ISDIR(found.st_mode) && found.st_uid == of_state.st_uid;
}

fs::path existing_folder(const fs::path& memory) {
    std::error_code none;
    const fs::path found = fs::canonical(memory, none); // /dev/shm may be a link
    if (none || !fs::is_directory(found))
        throw usage_error(memory.string() + ": is no folder to keep a segment in; name one that "
                                            "is there, such as /dev/shm");
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
                            "\" is no place of a segment; if there is a checkpoint to go back to, "
                            "move the file away");
    find_tie();
}

/// Whether the home is this state's.
void segment_place::find_tie() {
    if (!is_there(home_)) return;
    try {
        private_folder(state_, /*writing=*/false).require_same_owner({home_, /*writing=*/false});
        const tie found = tie::read(home_);
        is_confirmed_ = found.mark.changed != 0;
        if (found.identity != identity_)
            why_foreign_ = home_.string() + " holds the segment of another state";
        else if (!found.mark.is_of(file_mark::of(place_file(state_))))
            why_foreign_ = home_.string() + " holds the segment of " + found.state +
                           ", as it was made there: this folder is a copy, or was put back";
    } catch (const access_error& e) {
        if (is_ours(home_, state_)) throw;
        why_foreign_ = e.what();
    } catch (const io_error& e) { // it says nothing
        why_foreign_ = e.what();
    } catch (const json_error& e) {
        why_foreign_ = tie_file(home_).string() + ": " + e.what();
    }
}

segment_place segment_place::prepare(const fs::path& state, const fs::path& memory) {
    if (memory.empty()) return {state, state};
    const boost::uuids::uuid random = boost::uuids::random_generator()();
    const std::string name = hexadecimal(std::as_bytes(std::span(random.data)));
    segment_place made(state, existing_folder(memory) / (home_prefix + name));
    {
        (void)open_private(unsettled_file(state), file_use::replace);
        overwrite_file(unsettled_file(state), place{made.home_, {}}.text());
    }
    private_folder::make(made.home_, private_folder(state, /*writing=*/true).readers());
    file_mark mark = file_mark::of(unsettled_file(state));
    mark.changed = 0;
    tie{fs::absolute(state).string(), {}, mark}.write(made.home_);
    return made;
}

void segment_place::settle(const identity& of_state) {
    if (!is_in_memory()) return;
    identity_ = hexadecimal(of_state);
    overwrite_file(unsettled_file(state_), place{home_, identity_}.text());
    tie made = tie::read(home_);
    made.identity = identity_;
    made.write(home_);
    fs::rename(unsettled_file(state_), place_file(state_));
    sync_folder(state_);
    is_confirmed_ = false;
    confirm();
}

void segment_place::confirm() {
    if (is_confirmed_) return;
    tie made = tie::read(home_);
    made.mark = file_mark::of(place_file(state_));
    made.write(home_);
    is_confirmed_ = true;
}

void segment_place::discard_unsettled(const fs::path& state) {
    const fs::path file = unsettled_file(state);
    if (!is_there(file)) return;
    try {
        const fs::path home = place::read(file).home;
        if (home.filename().string().starts_with(home_prefix) &&
            tie::read(home).mark.is_of(file_mark::of(file)))
            remove_tree(home);
    } catch (const std::exception&) { // torn, or another's: nobody knows what it made
    }
    fs::remove(file);
}

bool segment_place::is_lost_with_the_machine() const {
    struct statfs system{};
    const fs::path there = fs::exists(home_) ? home_ : home_.parent_path();
    return statfs(there.c_str(), &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

void segment_place::require_identity(const identity& of_segment) const {
    if (!is_in_memory() || hexadecimal(of_segment) == identity_) return;
    throw damaged_error((folder() / "header").string() +
                        ": offset 88: the segment of another state; remove " + home_.string() +
                        ", to go back to the last checkpoint");
}

} // namespace chainbase

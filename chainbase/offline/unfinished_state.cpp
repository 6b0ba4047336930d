#include <chainbase/offline/unfinished_state.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/private_folder.hpp>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

constexpr const char* mark = "unfinished";

} // namespace

unfinished_state::unfinished_state(const fs::path& target, const std::string& readers,
                                   leftover what)
    : name_(fs::absolute(target)), readers_(readers) {
    if (!readers_.empty()) static_cast<void>(group_called(readers_)); // it must exist
    if (fs::exists(fs::symlink_status(name_.path()))) require_ours();
    private_folder::make(name_.path(), std::nullopt);
    take_lock();
    sync_folder(name_.path());
    if (what == leftover::is_kept) return;
    try {
        begin_anew();
    } catch (...) {
        name_.own();
        throw;
    }
}

unfinished_state::~unfinished_state() {
    remove_segment();
    if (!stays_) name_.own(); // it goes with the name
}

void unfinished_state::begin_anew() {
    stays_ = false;
    remove_segment();
    remove_tree(path());
    fs::remove(notes());
    private_folder::make(path(),
                         readers_.empty() ? std::nullopt : std::optional(group_called(readers_)));
}

void unfinished_state::go_on() {
    remove_segment();
    keep();
}

/// A segment in memory is not in the folder, and has its name.
void unfinished_state::finish() {
    name_.finish_with(path());
    stays_ = false;
    try {
        const file_lock lock(name_.target() / "lock", /*create=*/false);
        segment_place(name_.target()).renew();
    } catch (const locked_error&) { // who opened it did that
    }
}

/// In memory and in the folder.
void unfinished_state::remove_segment() const noexcept {
    try {
        if (!fs::exists(path())) return;
        segment_place::discard_unsettled(path());
        const segment_place place(path());
        if (place.is_in_memory() && place.why_foreign().empty()) try_to_remove_tree(place.home());
        try_to_remove_tree(path() / "segment");
    } catch (const std::exception&) { // nothing was made there
    }
}

/// An empty marker file comes from a call that died before writing it.
void unfinished_state::require_ours() const {
    const fs::path& around = name_.path();
    if (fs::is_regular_file(fs::symlink_status(around / mark))) return;
    if (fs::is_directory(fs::symlink_status(around)) && fs::is_empty(around)) return;
    throw usage_error(around.string() + " exists, and was not left by an earlier call; remove "
                                        "it, or choose another name");
}

void unfinished_state::take_lock() {
    try {
        lock_.emplace(name_.path() / mark, /*create=*/true);
    } catch (const locked_error&) {
        throw locked_error(name_.path().string() + ": another process is making a state there");
    }
}

} // namespace chainbase

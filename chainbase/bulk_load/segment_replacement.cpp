#include <chainbase/bulk_load/segment_replacement.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/detail/segment_header.hpp>
#include <chainbase/files.hpp>
#include <chainbase/process_lock.hpp>
#include <chainbase/segment_place.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/private_folder.hpp>

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <system_error>

namespace chainbase::bulk_load {

namespace fs = std::filesystem;

namespace {

/// Takes two names for each other; not every file system can.
bool exchange(const fs::path& a, const fs::path& b) {
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) throw_file_error(a, "exchange");
    return false;
}

[[noreturn]] void throw_changed(const fs::path& state) {
    throw locked_error(state.string() +
                       ": another process opened it for writing meanwhile; nothing "
                       "was changed, call again when it has ended");
}

} // namespace

segment_replacement::segment_replacement(const fs::path& state)
    : state_(fs::absolute(state)), home_(segment_place(state_).home()),
      around_(home_ / "segment.rebuilt") {
    if (fs::exists(state_ / "lock") && file_lock::is_held(state_ / "lock"))
        throw locked_error(state.string() +
                           ": a process has it open for writing (chainbase-inspect locks); stop it "
                           "first");
    if (fs::exists(folder() / "lock") && file_lock::is_held(folder() / "lock"))
        throw locked_error(around_.string() + ": another process is at this already");
    fs::remove_all(around_); // a call that was killed left it
    header_ = content_of("header");
    log_ = content_of("undo_log");
    if (header_.empty()) return;
    const auto found = detail::header_in(home_ / "segment");
    if (!found) return;
    limits_.window_bytes = found->window_bytes;
    limits_.windows = found->windows;
}

segment_replacement::~segment_replacement() {
    std::error_code ignored;
    fs::remove_all(around_, ignored);
}

/// The first page, which every opening for writing and every change of the state changes.
std::string segment_replacement::content_of(const char* file) const {
    std::ifstream in(home_ / "segment" / file, std::ios::binary);
    std::string content(segment_header::page_bytes, '\0');
    in.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(in.gcount()));
    return content;
}

std::array<std::byte, 16> segment_replacement::identity() const {
    if (!header_.empty())
        if (const auto found = detail::header_in(home_ / "segment")) return found->identity;
    const checkpoint::published at(disk::of_system(), state_ / "checkpoint");
    if (const checkpoint::publication* newest = at.newest()) return newest->state;
    throw damaged_error(state_.string() +
                        ": neither the header of the segment nor a checkpoint says "
                        "which state it is; restore segment/header from a copy");
}

/// Afterwards what was there is where the new one was.
void segment_replacement::put_in_place() {
    const fs::path place = home_ / "segment";
    const fs::path made = folder() / "segment";
    if (!fs::exists(place)) {
        fs::rename(made, place);
    } else if (!exchange(made, place)) {
        fs::rename(place, around_ / "before");
        fs::rename(made, place);
        fs::rename(around_ / "before", made);
    }
    sync_folder(home_);
}

void segment_replacement::replace(const fs::path& keep_as) {
    segment_header header = detail::header_in(folder() / "segment").value();
    header.identity = identity();
    detail::write_header(folder() / "segment", header);
    std::optional<file_lock> lock;
    try {
        lock.emplace(state_ / "lock", true);
    } catch (const locked_error&) {
        throw_changed(state_);
    }
    if (content_of("header") != header_ || content_of("undo_log") != log_) throw_changed(state_);
    lock->announce();
    process_lock turns(state_, process_lock::role::writer, std::chrono::milliseconds(0));
    turns.lock();
    turns.replaced_segment();
    put_in_place();
    turns.unlock();
    const fs::path before = folder() / "segment";
    if (!keep_as.empty() && fs::exists(before)) {
        fs::rename(before, keep_as);
        sync_folder(keep_as.parent_path());
    }
}

} // namespace chainbase::bulk_load

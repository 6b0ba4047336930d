#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/offline/bulk_load/segment_replacement.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <system_error>

namespace chainbase::bulk_load {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void throw_changed(const fs::path& state) {
    throw locked_error(state.string() +
                       ": another process opened it for writing meanwhile; nothing was changed. "
                       "Call again when that process has ended");
}

} // namespace

segment_replacement::segment_replacement(const fs::path& state)
    : state_(fs::absolute(state)), home_(segment_place(state_).home()),
      scratch_(home_ / "segment.rebuilt") {
    if (fs::exists(state_ / "lock") && file_lock::is_held(state_ / "lock"))
        throw locked_error(state.string() +
                           ": a process has it open for writing (chainbase-inspect locks); stop it "
                           "first");
    replacement_lock_.emplace(home_ / "segment.rebuilt.lock", true);
    recover();
    remove_tree(scratch_); // a call that was killed left it
    header_ = content_of("header");
    log_ = content_of("undo_log");
    take_limits();
}

/// What a call was killed between, on a file system that cannot exchange names; an opening for
/// writing puts back what is set aside, too.
void segment_replacement::recover() const {
    const fs::path former = detail::former_segment(segment_place(state_));
    if (!fs::exists(former)) return;
    if (!fs::exists(home_ / "segment"))
        fs::rename(former, home_ / "segment");
    else
        throw damaged_error(former.string() + ": a call that was killed set this segment aside; "
                                              "examine it, then move it away");
    sync_folder(home_);
}

void segment_replacement::take_limits() {
    struct stat about{};
    if (::stat(state_.c_str(), &about) != 0) throw_file_error(state_, "look at");
    if ((about.st_mode & S_IRGRP) != 0) limits_.readers_group = std::to_string(about.st_gid);
    if (header_.empty()) return;
    const auto found = detail::header_in(home_ / "segment");
    if (!found) return;
    limits_.window_bytes = found->window_bytes;
    limits_.windows = found->windows;
}

segment_replacement::~segment_replacement() {
    if (origin_.is_here()) try_to_remove_tree(scratch_);
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

/// Puts the segment that was made in place; what was there gets the name `keep_as`, or is removed
/// with what is left of the making. To keep it no names are exchanged: at no moment the new one has
/// the name of the old one, so whoever is killed leaves nothing that is taken for the other.
void segment_replacement::put_in_place(const fs::path& keep_as) const {
    const fs::path place = home_ / "segment";
    const fs::path made = folder() / "segment";
    if (!fs::exists(place)) {
        fs::rename(made, place);
    } else if (!keep_as.empty() || !exchange_names(made, place)) {
        const fs::path former = detail::former_segment(segment_place(state_)); // recover() knows it
        fs::rename(place, former);
        std::error_code failed;
        fs::rename(made, place, failed);
        if (failed) {
            fs::rename(former, place);
            throw io_error(made.string() + ": cannot be renamed: " + failed.message());
        }
        fs::rename(former, keep_as.empty() ? made : keep_as);
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
    put_in_place(keep_as);
    turns.unlock();
    if (!keep_as.empty()) sync_folder(keep_as.parent_path());
}

} // namespace chainbase::bulk_load

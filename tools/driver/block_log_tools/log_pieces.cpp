#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/driver/block_log_tools/log_pieces.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace chainbase::driver {

folder_lock::folder_lock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_.number() < 0) throw_file_error(folder, "open");
    if (::flock(descriptor_.number(), LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK) throw_file_error(folder, "lock");
    throw locked_error(folder.string() + ": another call is making it; wait for that one, or "
                                         "choose another name");
}

bool folder_lock::is_of(const std::filesystem::path& path) const {
    return is_at(descriptor_, path);
}

namespace {

constexpr const char* piece_prefix = "from-";

/// Removes only files named like pieces, and only when no process is making the folder.
void remove_leftover(const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) return;
    if (!std::filesystem::is_directory(folder))
        throw usage_error(folder.string() + ": is in the way and not a folder; move it away");
    for (const auto& one : std::filesystem::directory_iterator(folder))
        if (!one.is_regular_file() || !one.path().filename().string().starts_with(piece_prefix))
            throw usage_error(one.path().string() +
                              ": is in the way and was not left by an interrupted call; move it "
                              "away");
    const folder_lock held(folder);
    if (held.is_of(folder)) std::filesystem::remove_all(folder);
}

} // namespace

unfinished_folder::unfinished_folder(std::filesystem::path path) : name_(std::move(path)) {
    remove_leftover(name_.path());
    std::error_code problem;
    if (!std::filesystem::create_directory(name_.path(), problem))
        throw io_error(name_.path().string() + ": cannot be made: " + problem.message() +
                       "; check the path and its permissions, then call again");
    lock_.emplace(name_.path());
    name_.own();
}

std::filesystem::path unfinished_folder::piece(std::uint64_t first) const {
    return name_.path() / fmt::format("{}{:020}.blocks", piece_prefix, first);
}

log_pieces::log_pieces(const std::filesystem::path& folder, std::string chain)
    : path_(folder), chain_(std::move(chain)), folder_(folder) {}

unfinished_log& log_pieces::open_from(std::uint64_t first) {
    if (!piece_) {
        piece_ = std::make_unique<unfinished_log>(folder_.piece(first), chain_);
        made_.push_back({path_ / folder_.piece(first).filename(), first, first, 0, 0});
    }
    return *piece_;
}

void log_pieces::append(log_record next) {
    open_from(next.first_number()).append(std::move(next));
}

void log_pieces::append(const block& next) {
    open_from(next.number).append(next);
}

void log_pieces::end_piece() {
    if (!piece_) return;
    made_log& made = made_.back();
    made.last = piece_->head_number().value();
    made.blocks = piece_->count();
    made.bytes = piece_->finish();
    piece_.reset();
}

std::vector<made_log> log_pieces::finish() {
    end_piece();
    folder_.finish();
    return made_;
}

} // namespace chainbase::driver

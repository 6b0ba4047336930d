#include <pool_allocator/error.hpp>
#include <tools/driver/import/unfinished_log.hpp>
#include <tools/unfinished_name.hpp>

#include <system_error>
#include <utility>

namespace chainbase {
namespace {

/// Who holds the lock of a log is making it, and only who holds it may remove it.
void remove_leftover(const std::filesystem::path& temporary) {
    if (!std::filesystem::exists(temporary)) return;
    file leftover = file::open_write(temporary);
    try {
        leftover.lock();
    } catch (const locked_error&) {
        throw locked_error(temporary.string() + ": another call is making it; wait for that one, "
                                                "or choose another name");
    }
    std::error_code ignored;
    if (leftover.is_at(temporary)) std::filesystem::remove(temporary, ignored);
}

block_log_writer create_log(const std::filesystem::path& path,
                            const std::filesystem::path& temporary, std::string_view chain,
                            block_log_options packing) {
    require_free(path);
    remove_leftover(temporary);
    return block_log_writer::create(temporary, chain, packing);
}

} // namespace

unfinished_log::unfinished_log(std::filesystem::path path, std::string_view chain,
                               block_log_options packing)
    : path_(std::move(path)), temporary_(unfinished_path(path_)),
      writer_(create_log(path_, temporary_, chain, packing)) {}

unfinished_log::~unfinished_log() {
    if (is_finished_) return; // who makes another one now has that name
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored); // as long as nobody else can have the lock
    std::filesystem::remove(index_path(temporary_), ignored);
    std::filesystem::remove(synced_path(temporary_), ignored);
    writer_.abandon();
}

std::uint64_t unfinished_log::finish() {
    writer_.sync();
    const std::uint64_t size = writer_.bytes();
    give_final_name(temporary_, path_); // before the lock goes: it is no leftover at any time
    is_finished_ = true;
    writer_.close();
    std::error_code ignored; // without index and mark a log is complete all the same
    std::filesystem::rename(index_path(temporary_), index_path(path_), ignored);
    std::filesystem::rename(synced_path(temporary_), synced_path(path_), ignored);
    sync_folder_of(path_);
    return size;
}

} // namespace chainbase

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/driver/import/unfinished_log.hpp>

#include <system_error>
#include <utility>

namespace chainbase {
namespace {

/// The holder of a log's lock is making it; only the holder may remove it.
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

block_log_writer create_log(const std::filesystem::path& temporary, std::string_view chain,
                            block_log_options packing) {
    remove_leftover(temporary);
    return block_log_writer::create(temporary, chain, packing);
}

} // namespace

unfinished_log::unfinished_log(std::filesystem::path path, std::string_view chain,
                               block_log_options packing)
    : name_(std::move(path)), writer_(create_log(name_.path(), chain, packing)) {
    name_.own();
}

unfinished_log::~unfinished_log() {
    if (!name_.is_owned()) return; // finished: another process may use that name now
    name_.discard();               // while the lock is still held
    std::error_code ignored;
    std::filesystem::remove(index_path(name_.path()), ignored);
    std::filesystem::remove(synced_path(name_.path()), ignored);
    writer_.abandon();
}

std::uint64_t unfinished_log::finish() {
    writer_.sync();
    const std::uint64_t size = writer_.bytes();
    name_.finish(); // renamed before the lock is released, so that nobody takes it for a leftover
    writer_.close();
    std::error_code ignored; // a log is complete without index and mark
    std::filesystem::rename(index_path(name_.path()), index_path(name_.target()), ignored);
    std::filesystem::rename(synced_path(name_.path()), synced_path(name_.target()), ignored);
    sync_folder(name_.target().parent_path());
    return size;
}

} // namespace chainbase

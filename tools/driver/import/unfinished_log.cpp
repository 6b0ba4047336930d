#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/import/unfinished_log.hpp>

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
    if (!name_.is_owned()) return; // finished: whoever makes another one now has that name
    name_.discard();               // as long as nobody else can have the lock
    std::error_code ignored;
    std::filesystem::remove(index_path(name_.path()), ignored);
    std::filesystem::remove(synced_path(name_.path()), ignored);
    writer_.abandon();
}

std::uint64_t unfinished_log::finish() {
    writer_.sync();
    const std::uint64_t size = writer_.bytes();
    name_.finish(); // before the lock goes: it is no leftover at any time
    writer_.close();
    std::error_code ignored; // without index and mark a log is complete all the same
    std::filesystem::rename(index_path(name_.path()), index_path(name_.target()), ignored);
    std::filesystem::rename(synced_path(name_.path()), synced_path(name_.target()), ignored);
    sync_folder(name_.target().parent_path());
    return size;
}

} // namespace chainbase

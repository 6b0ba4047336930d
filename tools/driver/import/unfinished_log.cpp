#include <tools/driver/import/final_name.hpp>
#include <tools/driver/import/unfinished_log.hpp>

#include <system_error>
#include <utility>

namespace chainbase {
namespace {

std::filesystem::path temporary_name(std::filesystem::path path) {
    path += ".unfinished";
    return path;
}

block_log_writer create_log(const std::filesystem::path& path,
                            const std::filesystem::path& temporary, std::string_view chain,
                            block_log_options packing) {
    require_free(path);
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return block_log_writer::create(temporary, chain, packing);
}

} // namespace

unfinished_log::unfinished_log(std::filesystem::path path, std::string_view chain,
                               block_log_options packing)
    : path_(std::move(path)), temporary_(temporary_name(path_)),
      writer_(create_log(path_, temporary_, chain, packing)) {}

unfinished_log::~unfinished_log() {
    writer_.abandon();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
    std::filesystem::remove(index_path(temporary_), ignored);
}

std::uint64_t unfinished_log::finish() {
    writer_.sync();
    const std::uint64_t size = writer_.bytes();
    writer_.close();
    give_final_name(temporary_, path_);
    std::error_code ignored; // without its index a log is complete all the same
    std::filesystem::rename(index_path(temporary_), index_path(path_), ignored);
    sync_folder_of(path_);
    return size;
}

} // namespace chainbase

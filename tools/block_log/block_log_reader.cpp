#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_reader.hpp>

#include <spdlog/spdlog.h>

namespace chainbase {

block_log_reader::block_log_reader(const std::filesystem::path& path,
                                   std::string_view expected_chain, const opening_options& options)
    : log_(std::make_shared<const file>(file::open_read(path, options.on))),
      contents_(std::make_shared<const block_log_contents>(
          read_contents(*log_, expected_chain, options))) {
    if (torn_bytes() > 0)
        spdlog::warn("{}: {}", path.string(), describe_torn_end(*contents_, "are left out"));
}

std::optional<std::uint64_t> block_log_reader::first_number() const noexcept {
    if (empty()) return {};
    return contents_->index.entries().front().first_number;
}

std::optional<std::uint64_t> block_log_reader::head_number() const noexcept {
    if (empty()) return {};
    return contents_->index.last_number();
}

std::optional<block> block_log_reader::read(std::uint64_t number) const {
    std::optional<block> found = stream(number).next();
    if (found && found->number != number) return {};
    return found;
}

std::size_t block_log_reader::record_of(std::uint64_t from) const noexcept {
    return empty() || from <= *first_number() ? 0 : contents_->index.record_for(from);
}

block_log_stream block_log_reader::stream_record(std::size_t record) const {
    return {log_, contents_, block_log_stream::only_record{record}};
}

std::uint64_t block_log_reader::stated_unpacked_bytes() const {
    using namespace block_log_format;
    const block_log_index& index = contents_->index;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < index.entries().size(); ++i) {
        const block_log_index::entry& entry = index.entries()[i];
        record_header header{};
        log_->read_at(entry.offset, std::as_writable_bytes(std::span(&header, 1)));
        if (header.magic.value() != record_magic ||
            header.packed_bytes.value() + min_record_bytes != index.end_of(i) - entry.offset)
            throw damage_at(*log_, entry.offset, "block " + std::to_string(entry.first_number),
                            "the record differs from the index");
        sum += header.unpacked_bytes.value();
    }
    return sum;
}

block_log_stream block_log_reader::stream(std::uint64_t from) const {
    return {log_, contents_, from};
}

block_log_records block_log_reader::whole_records(std::uint64_t from) const {
    return {log_, contents_, from};
}

} // namespace chainbase

#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_reader.hpp>

#include <spdlog/spdlog.h>

#include <utility>

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
        log_->read_at(entry.offset, writable_view_of(header));
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

block_log_stream::block_log_stream(std::shared_ptr<const file> log,
                                   std::shared_ptr<const block_log_contents> contents,
                                   std::uint64_t from)
    : log_(std::move(log)), contents_(std::move(contents)) {
    const block_log_index& index = contents_->index;
    end_record_ = index.entries().size();
    if (index.empty() || from <= index.entries().front().first_number) return;
    next_record_ = index.record_for(from);
    const bool past_the_end = next_record_ == index.entries().size();
    blocks_behind_ = past_the_end ? index.blocks() : index.entries()[next_record_].blocks_before;
    if (past_the_end) return;
    open_record();
    try {
        blocks_behind_ += open_->skip_below(from);
    } catch (const damaged_error& damage) {
        refuse(damage.what());
    }
}

block_log_stream::block_log_stream(std::shared_ptr<const file> log,
                                   std::shared_ptr<const block_log_contents> contents,
                                   only_record record)
    : log_(std::move(log)), contents_(std::move(contents)), next_record_(record.number),
      end_record_(record.number + 1),
      blocks_behind_(contents_->index.entries()[record.number].blocks_before) {}

template <class Take>
auto block_log_stream::take(Take&& next_of) {
    for (;;) {
        try {
            auto one = open_ ? next_of(*open_) : std::nullopt;
            if (one) ++blocks_behind_;
            if (one || next_record_ == end_record_) return one;
        } catch (const damaged_error& damage) {
            refuse(damage.what());
        }
        open_record();
    }
}

std::optional<block> block_log_stream::next() {
    return take([](record_blocks& of) { return of.next(); });
}

std::optional<block_log_stream::encoded_block> block_log_stream::next_encoded() {
    return take([](record_blocks& of) { return of.next_encoded(); });
}

std::uint64_t block_log_stream::position() const noexcept {
    const block_log_index& index = contents_->index;
    const std::size_t records = index.entries().size();
    if (!open_ || open_->position() == open_->bytes())
        return next_record_ < records ? index.entries()[next_record_].offset : index.log_bytes();
    const std::uint64_t begin = index.entries()[next_record_ - 1].offset;
    const std::uint64_t length = index.end_of(next_record_ - 1) - begin;
    return begin + length * open_->position() / open_->bytes();
}

/// Block numbers rise across records, too.
void block_log_stream::open_record() {
    const log_record record = record_of(*log_, *contents_, next_record_);
    if (open_ && record.first_number() <= last_number_)
        fail(next_record_, "block " + std::to_string(record.first_number()) + " is out of order");
    try {
        open_.emplace(record);
    } catch (const damaged_error& damage) {
        fail(next_record_, damage.what());
    }
    last_number_ = record.last_number();
    ++next_record_;
}

void block_log_stream::fail(std::size_t record, const std::string& reason) const {
    const auto& entry = contents_->index.entries()[record];
    throw damage_at(*log_, entry.offset, "block " + std::to_string(entry.first_number), reason);
}

block_log_records::block_log_records(std::shared_ptr<const file> log,
                                     std::shared_ptr<const block_log_contents> contents,
                                     std::uint64_t from)
    : log_(std::move(log)), contents_(std::move(contents)) {
    const block_log_index& index = contents_->index;
    if (!index.empty() && from > index.entries().front().first_number)
        next_ = index.record_for(from);
}

std::optional<log_record> block_log_records::next() {
    if (next_ == contents_->index.entries().size()) return {};
    log_record result = record_of(*log_, *contents_, next_);
    ++next_;
    return result;
}

std::optional<std::uint64_t> block_log_records::next_number() const noexcept {
    const auto& entries = contents_->index.entries();
    if (next_ == entries.size()) return {};
    return entries[next_].first_number;
}

std::uint64_t block_log_records::position() const noexcept {
    const block_log_index& index = contents_->index;
    return next_ < index.entries().size() ? index.entries()[next_].offset : index.log_bytes();
}

void block_log_records::fail(const std::string& reason) const {
    const block_log_index::entry& entry = contents_->index.entries()[next_ - 1];
    throw damage_at(*log_, entry.offset, "block " + std::to_string(entry.first_number), reason);
}

} // namespace chainbase

#include <tools/block_log/block_log_stream.hpp>
#include <tools/block_log/byte_reader.hpp>

#include <utility>

namespace chainbase {

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
    if (!past_the_end) skip_below(from);
}

block_log_stream::block_log_stream(std::shared_ptr<const file> log,
                                   std::shared_ptr<const block_log_contents> contents,
                                   only_record record)
    : log_(std::move(log)), contents_(std::move(contents)), next_record_(record.number),
      end_record_(record.number + 1),
      blocks_behind_(contents_->index.entries()[record.number].blocks_before) {}

/// Makes a record the one to take the next block from; false behind the last.
bool block_log_stream::open_next() {
    while (record_is_used_up()) {
        require_count();
        if (next_record_ == end_record_) return false;
        open_record();
    }
    return true;
}

std::optional<block> block_log_stream::next() {
    if (!open_next()) return {};
    std::size_t size = 0;
    block result = decode(peek(size));
    require_order(result.number);
    step_over(result.number, size);
    return result;
}

std::optional<block_log_stream::encoded_block> block_log_stream::next_encoded() {
    if (!open_next()) return {};
    std::size_t size = 0;
    const byte_view encoded = peek(size);
    const std::uint64_t number = number_of(encoded);
    require_order(number);
    step_over(number, size);
    return encoded_block{number, encoded};
}

std::uint64_t block_log_stream::position() const noexcept {
    const block_log_index& index = contents_->index;
    const std::size_t records = index.entries().size();
    if (record_is_used_up())
        return next_record_ < records ? index.entries()[next_record_].offset : index.log_bytes();
    const std::uint64_t begin = index.entries()[next_record_ - 1].offset;
    const std::uint64_t length = index.end_of(next_record_ - 1) - begin;
    return begin + length * consumed_ / unpacked_.size();
}

void block_log_stream::open_record() {
    const log_record record = record_of(*log_, *contents_, next_record_);
    try {
        unpacked_ = record.unpack();
    } catch (const damaged_error& damage) {
        fail(next_record_, damage.what());
    }
    stated_last_ = record.last_number();
    consumed_ = 0;
    ++next_record_;
}

/// The blocks that a record states must be the blocks that were in it.
void block_log_stream::require_count() const {
    const auto& entries = contents_->index.entries();
    const std::uint64_t expected = next_record_ < entries.size()
                                       ? entries[next_record_].blocks_before
                                       : contents_->index.blocks();
    if (blocks_behind_ != expected)
        fail(next_record_ - 1, "the record holds another number of blocks than it states");
    if (stated_last_ && last_number_ != *stated_last_)
        fail(next_record_ - 1, "the record ends with block " + std::to_string(last_number_) +
                                   ", not with the block that it states");
}

/// A record begins with the block that it states, and each block's number is above the one before.
void block_log_stream::require_order(std::uint64_t number) const {
    const std::uint64_t stated = contents_->index.entries()[next_record_ - 1].first_number;
    const bool rises = blocks_behind_ == 0 || number > last_number_;
    const bool as_stated = consumed_ > 0 || number == stated;
    if (!rises || !as_stated)
        fail(next_record_ - 1, "block " + std::to_string(number) + " is out of order");
}

void block_log_stream::step_over(std::uint64_t number, std::size_t size) {
    last_number_ = number;
    consumed_ += size;
    ++blocks_behind_;
}

/// The encoding of the block at consumed_ and the bytes it takes.
byte_view block_log_stream::peek(std::size_t& size) const {
    try {
        byte_reader reader(byte_view(unpacked_).subspan(consumed_), "record");
        const byte_view encoded = reader.byte_string();
        size = reader.position();
        return encoded;
    } catch (const damaged_error& damage) {
        fail(next_record_ - 1, damage.what());
    }
}

block block_log_stream::decode(byte_view encoded) const {
    try {
        return decode_block(encoded);
    } catch (const damaged_error& damage) {
        fail(next_record_ - 1, damage.what());
    }
}

std::uint64_t block_log_stream::number_of(byte_view encoded) const {
    try {
        return byte_reader(encoded, "a block").unsigned_number();
    } catch (const damaged_error& damage) {
        fail(next_record_ - 1, damage.what());
    }
}

void block_log_stream::skip_below(std::uint64_t from) {
    open_record();
    while (!record_is_used_up()) {
        std::size_t size = 0;
        const std::uint64_t number = number_of(peek(size));
        if (number >= from) return;
        require_order(number);
        step_over(number, size);
    }
}

void block_log_stream::fail(std::size_t record, const std::string& reason) const {
    const auto& entry = contents_->index.entries()[record];
    throw damage_at(*log_, entry.offset, "block " + std::to_string(entry.first_number), reason);
}

} // namespace chainbase

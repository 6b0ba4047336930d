#include <tools/block_log/record_blocks.hpp>

namespace chainbase {

record_blocks::record_blocks(const log_record& record)
    : unpacked_(record.unpack()), reader_(unpacked_, "record"),
      first_number_(record.first_number()), stated_last_(record.last_number()),
      stated_blocks_(record.blocks()) {}

std::optional<block> record_blocks::next() {
    if (reader_.remaining() == 0) {
        require_end();
        return {};
    }
    const std::size_t begin = reader_.position();
    block result = decode_block(reader_.byte_string());
    require_stated(result);
    encoded_ = byte_view(unpacked_).subspan(begin, reader_.position() - begin);
    last_number_ = result.number;
    ++delivered_;
    return result;
}

void record_blocks::require_stated(const block& next) const {
    const bool in_order =
        delivered_ == 0 ? next.number == first_number_ : next.number > last_number_;
    if (!in_order) throw damaged_error("block " + std::to_string(next.number) + " is out of order");
}

void record_blocks::require_end() const {
    if (delivered_ != stated_blocks_)
        throw damaged_error("the record holds another number of blocks than it states");
    if (last_number_ != stated_last_)
        throw damaged_error("the record ends with block " + std::to_string(last_number_) +
                            ", not with the block that it states");
}

} // namespace chainbase

#include <tools/block_log/block_log_records.hpp>

#include <utility>

namespace chainbase {

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

#include <pool_allocator/error.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/sync/log_source.hpp>

#include <utility>

namespace chainbase::driver {

log_source::log_source(const block_log_reader& log, unsigned threads,
                       std::optional<std::uint64_t> stop_at)
    : log_(log), threads_(threads), stop_at_(stop_at) {}

block_source::event log_source::next(std::chrono::milliseconds) {
    event result;
    result.peer = log_.path().string();
    if (feed_) return next_run();
    result.what = event::kind::asks;
    result.chain = log_.chain();
    return result;
}

void log_source::resume(const std::vector<block_place>& last_blocks) {
    last_ = last_blocks.back();
    feed_ = std::make_unique<block_feed>(log_, decoder_of(log_.chain()),
                                         block_feed::options{last_.number + 1, stop_at_, threads_});
}

block_source::event log_source::next_run() {
    event result;
    result.peer = log_.path().string();
    std::optional<block_feed::chunk> chunk = feed_->next();
    if (!chunk) {
        const bool is_all = !stop_at_ || log_.head_number().value_or(0) <= *stop_at_;
        result.what = is_all ? event::kind::end : event::kind::beyond;
        result.head = last_;
        return result;
    }
    result.what = event::kind::blocks;
    result.blocks.parent = last_;
    for (const auto& one : chunk->blocks) {
        last_ = {one->number(), next_id(last_.id, one->checksum())};
        result.blocks.ids.push_back(last_.id);
    }
    result.blocks.blocks = std::move(chunk->blocks);
    result.blocks.memory = chunk->memory;
    bytes_ += chunk->bytes;
    return result;
}

/// A log has no other blocks to offer.
void log_source::refuse(std::uint64_t, peer_error::severity how, const std::string& reason) {
    throw peer_error(how, reason);
}

void log_source::give_back(std::vector<std::shared_ptr<const decoded_block>> used) {
    block_feed::chunk chunk;
    chunk.blocks = std::move(used);
    feed_->give_back(std::move(chunk));
}

block_source::counters log_source::so_far() const {
    counters all;
    all.bytes = bytes_;
    if (feed_) all.waited = feed_->waited();
    return all;
}

} // namespace chainbase::driver

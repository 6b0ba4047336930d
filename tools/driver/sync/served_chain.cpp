#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/driver/sync/served_chain.hpp>
#include <tools/progress.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::driver {

chain_ids::chain_ids(const block_log_reader& log) {
    ids_.reserve(log.count());
    progress shown("reading " + log.path().string());
    block_log_stream blocks = log.stream();
    while (const auto next = blocks.next_encoded()) {
        if (next->encoded.size() > largest_block)
            throw limit_error(log.path().string() + ": block " + std::to_string(next->number) +
                              " has " + std::to_string(next->encoded.size()) +
                              " bytes, and the protocol takes " + std::to_string(largest_block) +
                              "; copy the log to those who need it");
        add(next->number, checksum(next->encoded));
        shown.advance(blocks.position(), log.bytes());
    }
}

void chain_ids::add(std::uint64_t number, std::uint64_t checksum) {
    const bool goes_on =
        !stretches_.empty() &&
        stretches_.back().first_number + ids_.size() - stretches_.back().first_index == number;
    if (!goes_on) stretches_.push_back({number, ids_.size()});
    ids_.push_back(next_id(ids_.empty() ? block_id{} : ids_.back(), checksum));
}

block_place chain_ids::at(std::size_t index) const {
    const auto after = std::ranges::upper_bound(stretches_, index, {}, &stretch::first_index);
    const stretch& in = *std::prev(after);
    return {in.first_number + (index - in.first_index), ids_[index]};
}

std::optional<std::size_t> chain_ids::index_of(std::uint64_t number) const {
    const auto after = std::ranges::upper_bound(stretches_, number, {}, &stretch::first_number);
    if (after == stretches_.begin()) return std::nullopt;
    const stretch& in = *std::prev(after);
    const std::size_t end = after == stretches_.end() ? ids_.size() : after->first_index;
    const std::uint64_t within = number - in.first_number;
    return within < end - in.first_index ? std::optional(in.first_index + within) : std::nullopt;
}

std::optional<std::size_t> chain_ids::blocks_up_to(const block_place& place) const {
    if (place == block_place{}) return 0;
    const auto index = index_of(place.number);
    return index && ids_[*index] == place.id ? std::optional(*index + 1) : std::nullopt;
}

served_chain::served_chain(const block_log_reader& log, std::vector<losing_branch> branches)
    : log_(log), ids_(log) {
    for (losing_branch& one : branches) {
        const auto index = ids_.index_of(one.fork_point);
        if (one.fork_point != 0 && !index)
            throw usage_error("a branch follows block " + std::to_string(one.fork_point) +
                              ", which the log " + log.path().string() +
                              " does not have; use the branches that were made for this log");
        for (const bytes& block : one.blocks)
            if (block.size() > chain_ids::largest_block)
                throw limit_error("a branch after block " + std::to_string(one.fork_point) +
                                  " has a block of " + std::to_string(block.size()) +
                                  " bytes, and the protocol takes " +
                                  std::to_string(chain_ids::largest_block) + "; leave it out");
        const std::size_t before = index ? *index + 1 : 0;
        const bool loses = before + one.blocks.size() < ids_.count();
        if (!one.blocks.empty() && loses) branches_.emplace(before, std::move(one));
    }
}

block_place served_chain::head(std::size_t available) const {
    return available == 0 ? block_place{} : ids_.at(available - 1);
}

hello_message served_chain::hello(std::size_t available) const {
    return {log_.chain(), head(std::min<std::size_t>(available, 1)), head(available)};
}

std::optional<std::size_t> served_chain::common(const request_message& request) const {
    for (const block_place& one : request.known)
        if (const auto blocks = ids_.blocks_up_to(one)) return blocks;
    return std::nullopt;
}

served_chain::cursor::cursor(const served_chain& chain, std::size_t blocks)
    : chain_(&chain), blocks_(chain.log_.stream(
                          blocks < chain.ids_.count() ? chain.ids_.at(blocks).number : UINT64_MAX)),
      at_(blocks), branch_(chain.branches_.lower_bound(blocks)) {}

std::optional<bytes> served_chain::cursor::next_frame(std::size_t size, std::size_t available) {
    if (branch_ != chain_->branches_.end() && branch_->first == at_) return frame_of_branch(size);
    if (at_ >= available) return std::nullopt;
    return frame_of_chain(size, available);
}

bytes served_chain::cursor::frame_of_branch(std::size_t size) {
    const std::vector<bytes>& all = branch_->second.blocks;
    if (in_branch_ == 0) branch_head_ = chain_->head(at_);
    blocks_builder frame(branch_head_);
    while (in_branch_ < all.size() && frame.size() < size) {
        const bytes& next = all[in_branch_];
        if (!frame.has_room_for(next.size()) && frame.count() > 0) break;
        frame.add(next);
        branch_head_ = {decode_block(next).number, next_id(branch_head_.id, checksum(next))};
        ++in_branch_;
    }
    sent_ += frame.count();
    if (in_branch_ == all.size()) {
        in_branch_ = 0;
        ++branch_;
    }
    return frame.finish();
}

bytes served_chain::cursor::frame_of_chain(std::size_t size, std::size_t available) {
    const std::size_t end =
        branch_ == chain_->branches_.end() ? available : std::min(available, branch_->first);
    blocks_builder frame(chain_->head(at_));
    if (carried_) {
        frame.add(*std::exchange(carried_, std::nullopt));
        ++at_;
    }
    while (at_ < end && frame.size() < size) {
        const auto next = blocks_.next_encoded();
        if (!next)
            throw damaged_error(chain_->log_.path().string() + ": ends before block " +
                                std::to_string(chain_->ids_.at(at_).number) +
                                ", which it had; chainbase-driver block-log verify tells more");
        if (!frame.has_room_for(next->encoded.size())) {
            carried_.emplace(next->encoded.begin(), next->encoded.end());
            break;
        }
        frame.add(next->encoded);
        ++at_;
    }
    sent_ += frame.count();
    return frame.finish();
}

} // namespace chainbase::driver

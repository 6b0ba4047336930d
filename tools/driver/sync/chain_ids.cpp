#include <pool_allocator/error.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/driver/sync/chain_ids.hpp>
#include <tools/interruption.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

namespace chainbase::driver {

namespace {

/// Says once a second how far the reading is.
class reading_progress {
public:
    void note(const block_log_reader& log, std::uint64_t position) {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_line_) return;
        next_line_ = now + std::chrono::seconds(1);
        spdlog::info("reading {}: {} % of {} bytes", log.path().string(),
                     log.bytes() == 0 ? 100 : position * 100 / log.bytes(), log.bytes());
    }

private:
    std::chrono::steady_clock::time_point next_line_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

} // namespace

chain_ids::chain_ids(const block_log_reader& log, const std::function<bool()>& must_end) {
    ids_.reserve(log.count());
    reading_progress shown;
    block_log_stream blocks = log.stream();
    while (const auto next = blocks.next_encoded()) {
        if (must_end && must_end())
            throw interrupted_error("interrupted while reading " + log.path().string() +
                                    ", at block " + std::to_string(next->number) +
                                    "; nobody was served, and the same call begins anew");
        if (next->encoded.size() > largest_block)
            throw limit_error(log.path().string() + ": block " + std::to_string(next->number) +
                              " has " + std::to_string(next->encoded.size()) +
                              " bytes, and the protocol takes " + std::to_string(largest_block) +
                              "; give the log itself to who needs it");
        add(next->number, checksum(next->encoded));
        if (ids_.size() % 1024 == 0) shown.note(log, blocks.position());
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

} // namespace chainbase::driver

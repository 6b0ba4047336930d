#include <tools/driver/block_log_tools/log_pieces.hpp>

#include <utility>

namespace chainbase::driver {

log_pieces::log_pieces(const std::filesystem::path& folder, std::string chain)
    : path_(folder), chain_(std::move(chain)), folder_(folder) {}

unfinished_log& log_pieces::open_from(std::uint64_t first) {
    if (!piece_) {
        piece_ = std::make_unique<unfinished_log>(folder_.piece(first), chain_);
        made_.push_back({path_ / folder_.piece(first).filename(), first, first, 0, 0});
    }
    return *piece_;
}

void log_pieces::append(log_record next) {
    open_from(next.first_number()).append(std::move(next));
}

void log_pieces::append(const block& next) {
    open_from(next.number).append(next);
}

void log_pieces::end_piece() {
    if (!piece_) return;
    made_log& made = made_.back();
    made.last = piece_->head_number().value();
    made.blocks = piece_->count();
    made.bytes = piece_->finish();
    piece_.reset();
}

std::vector<made_log> log_pieces::finish() {
    end_piece();
    folder_.finish();
    return made_;
}

} // namespace chainbase::driver

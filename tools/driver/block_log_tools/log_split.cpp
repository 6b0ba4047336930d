#include <pool_allocator/error.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/driver/block_log_tools/log_pieces.hpp>
#include <tools/driver/block_log_tools/log_split.hpp>
#include <tools/driver/block_log_tools/looked_at_log.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::driver {

namespace {

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> numbers) {
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

void require_blocks(const block_log_reader& log) {
    if (log.empty()) throw usage_error(log.path().string() + ": holds no block");
}

void require_inside(const block_log_reader& log, const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t one : numbers)
        if (one <= log.first_number() || one > log.head_number())
            throw usage_error(log.path().string() + ": holds blocks " +
                              std::to_string(*log.first_number()) + " to " +
                              std::to_string(*log.head_number()) + ", and nothing is split at " +
                              std::to_string(one) + "; name a block behind the first");
}

/// Puts records into pieces, whole where no piece begins in them.
class splitting {
public:
    splitting(const split_options& options, log_pieces& to)
        : at_(sorted(options.at)), every_(options.every.value_or(UINT64_MAX)), to_(to) {}

    void add(log_record record) {
        if (begins_piece(record.first_number())) to_.end_piece();
        if (!is_cut(record)) return to_.append(std::move(record));
        record_blocks blocks(record);
        while (const auto next = blocks.next()) {
            if (begins_piece(next->number)) to_.end_piece();
            to_.append(*next);
        }
    }

private:
    /// Whether a piece begins with this block; each number is passed once.
    bool begins_piece(std::uint64_t number) {
        bool passed = to_.count() >= every_;
        for (; next_ < at_.size() && at_[next_] <= number; ++next_)
            passed = true;
        return passed;
    }
    /// Whether one begins behind the record's first block.
    [[nodiscard]] bool is_cut(const log_record& record) const noexcept {
        return record.blocks() > every_ - to_.count() ||
               (next_ < at_.size() && at_[next_] <= record.last_number());
    }

    std::vector<std::uint64_t> at_;
    std::size_t next_ = 0;
    std::uint64_t every_;
    log_pieces& to_;
};

} // namespace

made_logs split_log(const split_options& options, log_progress& shown) {
    const block_log_reader log = look_at_log(options.log, shown);
    require_blocks(log);
    require_inside(log, options.at);
    log_pieces to(options.to_folder, log.chain());
    splitting all(options, to);
    block_log_records records = log.whole_records();
    while (auto next = records.next()) {
        try {
            all.add(std::move(*next));
        } catch (const damaged_error& problem) {
            records.fail(problem.what());
        }
        shown.advance(records.position(), log.bytes());
    }
    return {log.chain(), to.finish()};
}

} // namespace chainbase::driver

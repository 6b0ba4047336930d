#include <pool_allocator/base/error.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/log_pieces.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chainbase::driver {

void copy_blocks(log_record record, const block_range& range, unfinished_log& to) {
    if (range.contains(record.first_number()) && range.contains(record.last_number()))
        return to.append(std::move(record));
    record_blocks blocks(record);
    while (const auto next = blocks.next())
        if (range.contains(next->number)) to.append(*next);
}

std::string to_text(const made_logs& made) {
    std::string text;
    for (const made_log& one : made.logs)
        text += fmt::format("{}: {} blocks of {}, {} to {}, {}\n", one.path.string(), one.blocks,
                            made.chain, one.first, one.last, bytes_in_words(one.bytes));
    return text;
}

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
                              std::to_string(one) + "; name a block after the first");
}

/// Distributes records over pieces; unpacks only those in which a piece begins.
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
    /// Whether a piece begins with this block. Call it once for each block.
    bool begins_piece(std::uint64_t number) {
        bool passed = to_.count() >= every_;
        for (; next_ < at_.size() && at_[next_] <= number; ++next_)
            passed = true;
        return passed;
    }
    /// Whether a piece begins behind the record's first block.
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

made_logs split_log(const split_options& options, progress& shown) {
    const block_log_reader log = open_log_read_only(options.log, shown);
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

made_logs trim_log(const std::filesystem::path& path, const std::filesystem::path& to,
                   const block_range& range, progress& shown) {
    const block_log_reader log = open_log_read_only(path, shown);
    unfinished_log made(to, log.chain());
    copy_blocks(log.whole_records(range.first), range, made,
                [&](std::uint64_t position) { shown.advance(position, log.bytes()); });
    if (made.count() == 0) throw no_block_in(log, range);
    const std::uint64_t first = made.first_number().value();
    const std::uint64_t last = made.head_number().value();
    const std::uint64_t blocks = made.count();
    return {log.chain(), {{to, first, last, blocks, made.finish()}}};
}

namespace {

/// Summary of a log to merge. The logs are opened one after the other: there may be more of them
/// than a process can have open.
struct part {
    std::filesystem::path path;
    std::string chain;
    std::uint64_t bytes = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;

    explicit part(const block_log_reader& log)
        : path(log.path()), chain(log.chain()), bytes(log.bytes()),
          first(log.first_number().value_or(0)), last(log.head_number().value_or(0)),
          blocks(log.count()) {}

    friend bool operator==(const part&, const part&) = default;
};

void require_one_chain(const std::vector<part>& parts) {
    for (const part& one : parts)
        if (one.chain != parts.front().chain)
            throw usage_error(one.path.string() + ": holds blocks of " + one.chain + ", and " +
                              parts.front().path.string() + " those of " + parts.front().chain +
                              "; merge logs of one chain");
}

std::string in_words(const part& one) {
    return one.path.string() + " (blocks " + std::to_string(one.first) + " to " +
           std::to_string(one.last) + ")";
}

void require_may_follow(const part& before, const part& after, bool allow_gaps) {
    const std::string both = in_words(before) + " and " + in_words(after);
    if (after.first <= before.last)
        throw usage_error(both + " overlap from block " + std::to_string(after.first) + " to " +
                          std::to_string(std::min(before.last, after.last)) +
                          "; trim one of them first");
    if (allow_gaps || after.first == before.last + 1) return;
    throw usage_error("between " + both + " the blocks " + std::to_string(before.last + 1) +
                      " to " + std::to_string(after.first - 1) +
                      " are missing; add a log that holds them, or say --allow-gaps if the chain "
                      "has no such blocks");
}

/// The non-empty logs, in the order of their blocks.
std::vector<part> parts_of(const merge_options& options, progress& shown) {
    std::vector<part> parts;
    for (const std::filesystem::path& one : options.from)
        parts.emplace_back(open_log_read_only(one, shown));
    if (!parts.empty()) require_one_chain(parts);
    std::erase_if(parts, [](const part& one) { return one.blocks == 0; });
    if (parts.empty())
        throw usage_error("none of the logs holds a block; there is nothing to make");
    std::ranges::stable_sort(parts, {}, &part::first);
    for (std::size_t i = 1; i < parts.size(); ++i)
        require_may_follow(parts[i - 1], parts[i], options.allow_gaps);
    return parts;
}

void require_unchanged(const part& before, const block_log_reader& now) {
    if (part(now) != before)
        throw error(before.path.string() + ": was changed while the logs were merged; call again");
}

} // namespace

made_logs merge_logs(const merge_options& options, progress& shown) {
    const std::vector<part> parts = parts_of(options, shown);
    std::uint64_t all = 0;
    for (const part& one : parts)
        all += one.bytes;
    unfinished_log made(options.to, parts.front().chain);
    std::uint64_t before = 0;
    for (const part& one : parts) {
        const block_log_reader log = open_log_read_only(one.path, shown);
        require_unchanged(one, log);
        copy_blocks(log.whole_records(), {}, made,
                    [&](std::uint64_t position) { shown.advance(before + position, all); });
        before += one.bytes;
    }
    made_log result{options.to, parts.front().first, parts.back().last, made.count(), 0};
    result.bytes = made.finish();
    return {parts.front().chain, {std::move(result)}};
}

} // namespace chainbase::driver

#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/block_log_index.hpp>
#include <tools/block_log/synced_mark.hpp>
#include <tools/chains/operation_json.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>
#include <tools/driver/block_log_tools/record_walk.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::driver {

namespace {

template <class T>
void list(std::vector<T>& all, std::uint64_t& count, T one) {
    if (++count <= log_verification::max_listed) all.push_back(std::move(one));
}

void require_known(const log_header& header, const file& log) {
    if (knows_operations_of(header.chain)) return;
    throw usage_error(log.path().string() +
                      ": this program does not know the operations of the chain \"" + header.chain +
                      "\"; verify without --operations");
}

class verifying {
public:
    verifying(const file& log, const log_header& header, bool operations)
        : log_(log), index_(header.checksum), header_(header),
          mark_(load_mark(synced_path(log.path()), header.checksum)),
          had_writer_(log.is_locked_by_another()) {
        found_.chain = header.chain;
        found_.bytes = log.size();
        found_.operations_checked = operations;
    }

    /// Called for blocks of a record that may still prove bad.
    void look(const block& one) {
        transactions_ += one.transactions.size();
        operations_ += operations_in(one);
        if (!found_.operations_checked || is_unsynced_) return;
        for (std::size_t t = 0; t < one.transactions.size(); ++t)
            for (std::size_t o = 0; o < one.transactions[t].operations.size(); ++o)
                look(one, t, o);
    }

    void add(const log_record& record) {
        if (is_unsynced_) {
            unsynced_blocks_ += record.blocks();
            return;
        }
        if (!in_run_) begin_run(record);
        end_before(record.first_number(), found_.lost);
        run_.bytes += record.raw().size();
        run_.last = record.last_number();
        run_.blocks += record.blocks();
        ++found_.records;
        found_.blocks += record.blocks();
        found_.transactions += std::exchange(transactions_, 0);
        found_.operations += std::exchange(operations_, 0);
        if (found_.lost_count == 0) index_.add(record);
    }

    void add(lost_stretch lost) {
        transactions_ = operations_ = 0;
        end_run();
        if (is_unsynced_) return;
        const bool is_damage = was_complete(lost);
        is_unsynced_ = !is_damage && !lost.may_be_torn && was_never_synced(lost);
        if (is_unsynced_ || (lost.may_be_torn && !is_damage))
            found_.torn_end = std::move(lost);
        else
            list(found_.lost, found_.lost_count, std::move(lost));
    }

    [[nodiscard]] log_verification finish() {
        end_run();
        if (is_unsynced_) extend_torn_end();
        compare_index();
        found_.mark = mark_in_words();
        note_cut();
        return std::move(found_);
    }

private:
    void look(const block& one, std::size_t transaction, std::size_t operation) {
        try {
            require_operation(found_.chain, one.transactions[transaction].operations[operation]);
        } catch (const damaged_error& problem) {
            list(found_.faults, found_.fault_count,
                 fmt::format("block {}, transaction {} of {}, operation {} of {}: {}", one.number,
                             transaction + 1, one.transactions.size(), operation + 1,
                             one.transactions[transaction].operations.size(), problem.what()));
        }
    }

    void begin_run(const log_record& record) {
        in_run_ = true;
        run_ = {record.offset(), 0, record.first_number(), 0, 0};
    }
    void end_run() {
        if (in_run_) last_ = run_.last;
        if (in_run_) list(found_.survives, found_.survives_count, run_);
        in_run_ = false;
    }

    /// An index is saved after its records are synced: it proves what was complete once, as the
    /// mark does.
    [[nodiscard]] bool was_complete(lost_stretch& lost) const {
        if (!lost.has_no_record) return false;
        const index_check saved = load_index(index_path(log_.path()), header_.checksum);
        const bool by_index = saved.index && saved.index->log_bytes() <= log_.size() &&
                              saved.index->log_bytes() > lost.offset;
        const bool by_mark = proves_synced(mark_.mark, log_, lost.offset);
        if (by_index) lost.reason += ", though the index beside the log says that it was complete";
        if (by_mark) lost.reason += ", though the mark beside the log says that it was synced";
        return by_index || by_mark;
    }

    /// Follows readers, who end at the first invalid record.
    [[nodiscard]] bool was_never_synced(const lost_stretch& lost) const {
        return lost.has_no_record && found_.lost_count == 0 && mark_.mark &&
               permits_unsynced_tail(*mark_.mark, log_);
    }
    void extend_torn_end() {
        lost_stretch& end = found_.torn_end.value();
        end.bytes = found_.bytes - end.offset;
        end.reason +=
            fmt::format("; {} good blocks follow, all of it after the last sync", unsynced_blocks_);
    }

    void note_cut() {
        log_end end{found_.bytes, 0, "the header", had_writer_ || log_.is_locked_by_another()};
        if (!found_.survives.empty()) end.before = "block " + std::to_string(last_);
        if (found_.torn_end) {
            end.offset = found_.torn_end->offset;
            end.torn_bytes = found_.torn_end->bytes;
        }
        const std::string text = cut_in_words(log_, end, mark_.mark);
        if (!text.empty()) found_.cut = text;
    }

    [[nodiscard]] std::string mark_in_words() const {
        if (!mark_.mark) return mark_.reason;
        switch (fit_of(*mark_.mark, log_)) {
        case mark_fit::beyond:
            return fmt::format("records {} bytes synced, more than there are",
                               mark_.mark->log_bytes);
        case mark_fit::broken:
            return fmt::format("records {} bytes synced, where no record ends",
                               mark_.mark->log_bytes);
        case mark_fit::foreign:
            return "is of other records than the log's, and is ignored";
        case mark_fit::fits:
            break;
        }
        return fmt::format("fits the log: {} bytes synced{}", mark_.mark->log_bytes,
                           mark_.mark->is_open ? ", not closed" : "");
    }

    void compare_index() {
        const index_check saved = load_index(index_path(log_.path()), header_.checksum);
        if (!saved.index) {
            found_.index = saved.reason;
        } else if (found_.lost_count != 0) {
            found_.index = "is of a log that is damaged";
        } else if (*saved.index == index_) {
            found_.index = "fits the log";
        } else if (!saved.index->matches(log_)) {
            found_.index = "does not fit the log";
        } else if (is_beginning(*saved.index)) {
            found_.index = "is older than the log";
        } else {
            found_.index = "is wrong, but readers trust it; block-log repair-index makes it anew";
            found_.index_misleads = true;
        }
    }
    [[nodiscard]] bool is_beginning(const block_log_index& saved) const {
        const auto& known = saved.entries();
        const auto& all = index_.entries();
        return known.size() <= all.size() && std::equal(known.begin(), known.end(), all.begin());
    }

    const file& log_;
    block_log_index index_; // the correct index, up to the first damage
    log_header header_;
    mark_check mark_;        // read before the log's length
    bool had_writer_;        // checked at the same time
    std::uint64_t last_ = 0; // last good block
    log_verification found_;
    log_verification::good_run run_;
    bool in_run_ = false;
    std::uint64_t transactions_ = 0; // of the current record
    std::uint64_t operations_ = 0;
    bool is_unsynced_ = false; // all bytes from here on
    std::uint64_t unsynced_blocks_ = 0;
};

} // namespace

log_verification verify_log(const std::filesystem::path& path, bool operations, progress& shown) {
    const file log = file::open_read(path);
    const log_header header = read_log_header(log, {});
    if (operations) require_known(header, log);
    verifying all(log, header, operations);
    record_walk walk(log, shown.as_callback(), [&](const block& one) { all.look(one); });
    for (auto step = walk.next(); step.record || step.lost; step = walk.next()) {
        if (step.record) all.add(*step.record);
        if (step.lost) all.add(std::move(*step.lost));
    }
    return all.finish();
}

namespace {

std::string more(std::uint64_t count, std::size_t listed) {
    return count > listed ? fmt::format("            and {} more\n", count - listed)
                          : std::string();
}

} // namespace

std::string to_text(const log_verification& found) {
    std::string text = fmt::format("{}: {}\n", found.chain, found.good() ? "good" : "NOT GOOD");
    text += fmt::format("good        {} blocks in {} records, {} operations{}\n", found.blocks,
                        found.records, found.operations,
                        found.operations_checked ? ", all decoded" : "");
    for (const lost_stretch& lost : found.lost)
        text += "lost        " + to_text(lost) + "\n";
    text += more(found.lost_count, found.lost.size());
    for (const std::string& fault : found.faults)
        text += "fault       " + fault + "\n";
    text += more(found.fault_count, found.faults.size());
    for (const auto& run : found.survives)
        text += fmt::format("survives    {} blocks, {} to {}, bytes {} to {}\n", run.blocks,
                            run.first, run.last, run.offset, run.offset + run.bytes - 1);
    text += more(found.survives_count, found.survives.size());
    if (found.torn_end)
        text += "torn end    " + to_text(*found.torn_end) + " (left out by readers, no damage)\n";
    if (found.cut) text += "cut         " + *found.cut + "\n";
    text += "index       " + found.index + "\nmark        " + found.mark + "\n";
    if (found.lost_count != 0)
        text += "Get the log again from a good copy, or keep what survives: block-log salvage\n";
    return text;
}

} // namespace chainbase::driver

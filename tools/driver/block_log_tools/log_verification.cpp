#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_index.hpp>
#include <tools/block_log/log_header.hpp>
#include <tools/chains/operation_json.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>
#include <tools/driver/block_log_tools/operation_count.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::driver {

namespace {

template <class T>
void list(std::vector<T>& all, std::uint64_t& count, T one) {
    if (++count <= log_verification::most_listed) all.push_back(std::move(one));
}

void require_known(const log_header& header, const file& log) {
    if (knows_operations_of(header.chain)) return;
    throw usage_error(log.path().string() + ": nobody here knows the operations of the chain \"" +
                      header.chain + "\"; verify without --operations");
}

class verifying {
public:
    verifying(const file& log, const log_header& header, bool operations)
        : log_(log), index_(header.checksum), header_(header) {
        found_.chain = header.chain;
        found_.bytes = log.size();
        found_.operations_checked = operations;
    }

    /// Of a record that may yet turn out not to be good.
    void look(const block& one) {
        transactions_ += one.transactions.size();
        operations_ += operations_in(one);
        if (!found_.operations_checked) return;
        for (std::size_t t = 0; t < one.transactions.size(); ++t)
            for (std::size_t o = 0; o < one.transactions[t].operations.size(); ++o)
                look(one, t, o);
    }

    void add(const log_record& record) {
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
        if (lost.may_be_torn && !was_complete(lost))
            found_.torn_end = std::move(lost);
        else
            list(found_.lost, found_.lost_count, std::move(lost));
    }

    [[nodiscard]] log_verification finish() {
        end_run();
        compare_index();
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
        if (in_run_) list(found_.runs, found_.run_count, run_);
        in_run_ = false;
    }

    /// An index is saved when its records are on the device: it knows what was complete once.
    [[nodiscard]] bool was_complete(lost_stretch& lost) {
        const index_check saved = load_index(index_path(log_.path()), header_.checksum);
        if (!saved.index || saved.index->log_bytes() > log_.size() ||
            saved.index->log_bytes() <= lost.offset)
            return false;
        lost.reason += ", though the index beside the log says that it was complete";
        return true;
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
            found_.index = "is wrong, and readers believe it; block-log repair-index makes it anew";
            found_.index_misleads = true;
        }
    }
    [[nodiscard]] bool is_beginning(const block_log_index& saved) const {
        const auto& known = saved.entries();
        const auto& all = index_.entries();
        return known.size() <= all.size() && std::equal(known.begin(), known.end(), all.begin());
    }

    const file& log_;
    block_log_index index_; // as it should be, up to the first damage
    log_header header_;
    log_verification found_;
    log_verification::good_run run_;
    bool in_run_ = false;
    std::uint64_t transactions_ = 0; // of the record under examination
    std::uint64_t operations_ = 0;
};

} // namespace

log_verification verify_log(const std::filesystem::path& path, bool operations,
                            log_progress& shown) {
    const file log = file::open_read(path);
    const log_header header = read_log_header(log, {});
    if (operations) require_known(header, log);
    verifying all(log, header, operations);
    record_walk walk(log, shown.as_watcher(), [&](const block& one) { all.look(one); });
    for (auto step = walk.next(); step.record || step.lost; step = walk.next()) {
        if (step.record) all.add(*step.record);
        if (step.lost) all.add(std::move(*step.lost));
    }
    return all.finish();
}

} // namespace chainbase::driver

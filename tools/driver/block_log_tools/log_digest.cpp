#include <chainbase/sha256.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/driver/block_log_tools/json_line.hpp>
#include <tools/driver/block_log_tools/log_digest.hpp>
#include <tools/driver/block_log_tools/looked_at_log.hpp>
#include <tools/driver/block_log_tools/no_block_in.hpp>
#include <tools/driver/block_log_tools/operation_count.hpp>

#include <fmt/format.h>

namespace chainbase::driver {

namespace {

class digesting {
public:
    digesting(std::string chain, const block_range& range) : range_(range) {
        sum_.chain = std::move(chain);
    }

    void add(const log_record& record) {
        record_blocks blocks(record);
        while (const auto next = blocks.next())
            if (range_.contains(next->number)) add(*next, blocks.encoded());
    }

    [[nodiscard]] log_digest finish() {
        sum_.sha256 = hex(sha256_.finish());
        return sum_;
    }

private:
    void add(const block& one, byte_view encoded) {
        if (sum_.blocks == 0) sum_.first = one.number;
        sum_.last = one.number;
        ++sum_.blocks;
        sum_.transactions += one.transactions.size();
        sum_.operations += operations_in(one);
        sum_.bytes += encoded.size();
        sha256_.add(encoded);
    }

    block_range range_;
    log_digest sum_;
    sha256 sha256_;
};

} // namespace

log_digest digest_of(const std::filesystem::path& path, const block_range& range,
                     log_progress& shown) {
    const block_log_reader log = look_at_log(path, shown);
    digesting all(log.chain(), range);
    block_log_records records = log.whole_records(range.first);
    while (records.next_number() && *records.next_number() <= range.last) {
        const log_record next = records.next().value();
        try {
            all.add(next);
        } catch (const damaged_error& problem) {
            records.fail(problem.what());
        }
        shown.advance(records.position(), log.bytes());
    }
    log_digest sum = all.finish();
    if (sum.blocks == 0) throw no_block_in(log, range);
    return sum;
}

std::string to_json(const log_digest& digest) {
    return json_line({{"chain", digest.chain},
                      {"first", digest.first},
                      {"last", digest.last},
                      {"blocks", digest.blocks},
                      {"transactions", digest.transactions},
                      {"operations", digest.operations},
                      {"bytes", digest.bytes},
                      {"sha256", digest.sha256}});
}

std::string to_text(const log_digest& digest) {
    return fmt::format(
        "{}  {}: {} blocks, {} to {}, {} transactions, {} operations, {} bytes unpacked\n",
        digest.sha256, digest.chain, digest.blocks, digest.first, digest.last, digest.transactions,
        digest.operations, digest.bytes);
}

} // namespace chainbase::driver

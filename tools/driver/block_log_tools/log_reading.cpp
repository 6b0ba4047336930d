#include <chainbase/state_root/sha256.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/chains/operation_json.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace chainbase::driver {

usage_error no_block_in(const block_log_reader& log, const block_range& range) {
    const std::string name = log.path().string();
    if (log.empty()) return usage_error(name + ": holds no block; name another log");
    const std::string wanted = range.last == UINT64_MAX
                                   ? fmt::format("from {} on", range.first)
                                   : fmt::format("from {} to {}", range.first, range.last);
    return usage_error(fmt::format("{}: holds blocks {} to {}, but none {}; name another range",
                                   name, *log.first_number(), *log.head_number(), wanted));
}

namespace {

log_info::contents count_blocks(const block_log_reader& log, progress& shown) {
    log_info::contents sum;
    block_log_stream blocks = log.stream();
    while (const auto next = blocks.next()) {
        sum.transactions += next->transactions.size();
        sum.operations += operations_in(*next);
        shown.advance(blocks.position(), log.bytes());
    }
    return sum;
}

std::optional<log_info::place> place_of(const block_log_reader& log,
                                        std::optional<std::uint64_t> number) {
    if (!number) return {};
    return log_info::place{*number, log.read(*number).value().timestamp};
}

std::string in_words(const log_info::place& place) {
    constexpr std::int64_t end_of_9999 = 253'402'300'799;
    if (place.time < 0 || place.time > end_of_9999) // outside the calendar
        return fmt::format("{} (time {})", place.number, place.time);
    return fmt::format("{} ({:%Y-%m-%d %H:%M:%S} UTC)", place.number,
                       fmt::gmtime(static_cast<std::time_t>(place.time)));
}

} // namespace

log_info info_of(const std::filesystem::path& path, bool count, progress& shown) {
    const block_log_reader log = open_log_read_only(path, shown);
    log_info info;
    info.chain = log.chain();
    info.format = block_log_format::version;
    info.records = log.records();
    info.blocks = log.count();
    info.first = place_of(log, log.first_number());
    info.last = place_of(log, log.head_number());
    info.bytes = log.bytes();
    info.unpacked_bytes = log.stated_unpacked_bytes();
    info.torn_bytes = log.torn_bytes();
    info.index = log.index_fault().empty() ? "fits the log" : log.index_fault();
    if (count) info.counted = count_blocks(log, shown);
    return info;
}

json report_value(const log_info& info) {
    json all = members_of(info);
    if (info.counted) all.update(json_of(*info.counted));
    return all;
}

std::string to_text(const log_info& info) {
    std::string text = fmt::format("chain       {}, format {}\n", info.chain, info.format);
    text += fmt::format("blocks      {} in {} records\n", info.blocks, info.records);
    if (info.first)
        text += fmt::format("first       {}\nlast        {}\n", in_words(*info.first),
                            in_words(*info.last));
    if (info.counted)
        text += fmt::format("operations  {} in {} transactions\n", info.counted->operations,
                            info.counted->transactions);
    text += fmt::format("bytes       {}, unpacked {} (x {:.2f})\n", bytes_in_words(info.bytes),
                        bytes_in_words(info.unpacked_bytes), info.ratio());
    text += fmt::format("torn end    {}\nindex       {}\n", bytes_in_words(info.torn_bytes),
                        info.index);
    return text;
}

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

log_digest digest_of(const std::filesystem::path& path, const block_range& range, progress& shown) {
    const block_log_reader log = open_log_read_only(path, shown);
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

std::string to_text(const log_digest& digest) {
    return fmt::format("{}  {}: {} blocks, {} to {}, {} transactions, {} operations, {} unpacked\n",
                       digest.sha256, digest.chain, digest.blocks, digest.first, digest.last,
                       digest.transactions, digest.operations, bytes_in_words(digest.bytes));
}

namespace {

/// Buffers text for stdout: a system call for each block would take most of the time.
class output {
public:
    void add(std::string_view text) {
        text_ += text;
        if (text_.size() >= enough) flush();
    }
    void flush() {
        if (!text_.empty())
            print_or_throw(text_, "the output ends here; direct stdout elsewhere and call again");
        text_.clear();
    }

private:
    static constexpr std::size_t enough = 1 << 16;
    std::string text_;
};

class printer {
public:
    printer(const print_options& options, const block_log_reader& log)
        : options_(options), log_(log) {
        if (options_.json) out_.add("{\"chain\":" + line_of(log.chain()) + ",\"blocks\":[");
    }

    void print(const block& one) {
        if (options_.json) out_.add(printed_++ == 0 ? "\n" : ",\n");
        json shown{{"number", one.number},
                   {"time", one.timestamp},
                   {"transactions", one.transactions.size()},
                   {"operations", operations_in(one)}};
        if (options_.operations) shown["content"] = content_of(one);
        out_.add(shown.dump());
        if (!options_.json) out_.add("\n");
    }

    /// `how`: why the output ends before the range's end.
    void finish(const char* how = nullptr) {
        if (options_.json) {
            out_.add("\n]");
            if (how != nullptr) out_.add(",\"ended\":" + json(how).dump());
            out_.add("}\n");
        }
        out_.flush();
    }

    [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }

private:
    json content_of(const block& one) {
        json all = json::array();
        for (const transaction& part : one.transactions) {
            json operations = json::array();
            for (const bytes& operation : part.operations)
                operations.push_back(shown(operation));
            all.push_back(std::move(operations));
        }
        return all;
    }

    json shown(const bytes& operation) {
        try {
            return operation_to_json(log_.chain(), operation);
        } catch (const damaged_error& problem) {
            ++faults_;
            return {{"hex", codec::to_hex(operation)}, {"fault", problem.what()}};
        }
    }

    const print_options& options_;
    const block_log_reader& log_;
    output out_;
    std::uint64_t printed_ = 0;
    std::uint64_t faults_ = 0;
};

} // namespace

std::uint64_t print_log(const print_options& options, progress& shown) {
    const block_log_reader log = open_log_read_only(options.log, shown);
    printer to(options, log);
    try {
        block_log_stream blocks = log.stream(options.range.first);
        for (std::uint64_t left = options.limit; left > 0; --left) {
            const auto next = blocks.next();
            if (!next || next->number > options.range.last) {
                if (left == options.limit) throw no_block_in(log, options.range);
                break;
            }
            to.print(*next);
            shown.advance(blocks.position(), log.bytes());
            if (next->number == options.range.last) break; // what follows may be damaged
        }
    } catch (const damaged_error&) {
        to.finish("damaged");
        throw;
    } catch (const interrupted_error&) {
        to.finish("interrupted");
        throw;
    }
    to.finish();
    return to.faults();
}

} // namespace chainbase::driver

#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/operation_json.hpp>
#include <tools/driver/block_log_tools/json_line.hpp>
#include <tools/driver/block_log_tools/log_print.hpp>
#include <tools/driver/block_log_tools/looked_at_log.hpp>
#include <tools/driver/block_log_tools/no_block_in.hpp>
#include <tools/driver/block_log_tools/operation_count.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

namespace chainbase::driver {

namespace {

using json = nlohmann::ordered_json;

/// Collects text for stdout, since a system call for each block is most of the time.
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
        if (options_.json) out_.add("{\"chain\":" + json_line(log.chain()) + ",\"blocks\":[");
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

    /// `how`: why the output ends, when not with the range's end.
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

std::uint64_t print_log(const print_options& options, log_progress& shown) {
    const block_log_reader log = look_at_log(options.log, shown);
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

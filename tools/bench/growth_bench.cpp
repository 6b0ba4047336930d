#include <chainbase/keys.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/bench/account.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/block_log/block.hpp>
#include <tools/chains/decoded_block.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/rules_of_chain.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>

#include <malloc.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace chainbase::bench {

namespace {

struct growth_options : bench_options {
    std::vector<std::uint64_t> objects{1'000'000, 2'000'000, 5'000'000, 10'000'000, 20'000'000};
    std::uint64_t operations = 500'000;
    std::vector<std::string> engines{"chainbase", "classical"};
    bool csv = false;
};
BOOST_DESCRIBE_STRUCT(growth_options, (), (objects, operations))

/// Thirteen letters without a visible relation to the number, so that names come in random order;
/// unique per number.
payments::account_name name_of(std::uint32_t number) {
    std::uint64_t mixed = mix(number + 1);
    std::array<char, 16> text{};
    for (std::size_t i = 0; i < 13; ++i, mixed >>= 5)
        text[i] = "abcdefghijklmnopqrstuvwxyz012345"[mixed & 31];
    return payments::account_name(std::string_view(text.data(), 13));
}

/// Decoded blocks of the payments chain that create accounts and pay between them at random: the
/// same for every engine and run.
class growth_blocks {
public:
    using blocks = std::vector<std::shared_ptr<const decoded_block>>;

    /// The next blocks, creating `count` accounts.
    [[nodiscard]] blocks make_accounts(std::uint32_t count) {
        constexpr std::int64_t balance = 1'000'000;
        return make(count, [&] {
            return payments::operation(payments::account_create{name_of(accounts_++), balance});
        });
    }
    /// The next blocks, with `count` payments between existing accounts.
    [[nodiscard]] blocks make_payments(std::uint32_t count) {
        return make(count, [&] {
            const auto from = static_cast<std::uint32_t>(random_() % accounts_);
            const auto step = static_cast<std::uint32_t>(random_() % (accounts_ - 1) + 1);
            const auto to = static_cast<std::uint32_t>((std::uint64_t{from} + step) % accounts_);
            return payments::operation(payments::payment{name_of(from), name_of(to), 1});
        });
    }

    [[nodiscard]] std::uint32_t accounts() const noexcept { return accounts_; }

    static constexpr std::uint32_t transactions_per_block = 1000;

private:
    template <typename Make>
    blocks make(std::uint32_t count, Make make_one) {
        blocks made;
        while (count != 0) {
            const std::uint32_t here = std::min(count, transactions_per_block);
            block next;
            next.number = ++number_;
            next.timestamp = static_cast<std::int64_t>(number_);
            for (std::uint32_t i = 0; i < here; ++i)
                next.transactions.push_back({{payments::encode(make_one())}});
            made.push_back(
                std::make_shared<const operations_block<payments::operation>>(encode_block(next)));
            count -= here;
        }
        return made;
    }

    std::mt19937_64 random_{0x636861696e};
    std::uint64_t number_ = 0;
    std::uint32_t accounts_ = 0;
};

/// "create_at_1000000": groups the rows of a size.
std::string at(const char* what, std::uint64_t objects) {
    return std::string(what).append("_at_").append(std::to_string(objects));
}

/// One engine from an empty state to the last size.
class growing_state {
public:
    growing_state(chain_engine& engine, stepping how, const growth_options& options,
                  measurements& out)
        : engine_(engine), how_(how), options_(options), out_(out) {}

    void grow_to(std::uint64_t objects) {
        add_accounts(objects, objects - blocks_.accounts());
        const auto count = static_cast<std::uint32_t>(options_.operations);
        const double ns = apply(blocks_.make_payments(count));
        out_.add(at("payment", objects), metric::ns, ns / count);
        out_.add(at("state_bytes_per_object", objects), metric::bytes,
                 static_cast<double>(engine_.held_bytes()) / static_cast<double>(objects));
    }

private:
    /// Times only the last part, when the state has nearly its size; the rest also comes in parts,
    /// to limit the memory of their blocks.
    void add_accounts(std::uint64_t objects, std::uint64_t missing) {
        while (missing != 0) {
            const auto part = static_cast<std::uint32_t>(std::min(missing, options_.operations));
            const double ns = apply(blocks_.make_accounts(part));
            missing -= part;
            if (missing == 0) out_.add(at("create", objects), metric::ns, ns / part);
        }
    }

    double apply(const growth_blocks::blocks& blocks) {
        throw_if_interrupted();
        std::vector<const decoded_block*> run;
        for (const auto& one : blocks)
            run.push_back(one.get());
        return nanoseconds([&] { replay(engine_, run, how_); });
    }

    chain_engine& engine_;
    stepping how_;
    const growth_options& options_;
    measurements& out_;
    growth_blocks blocks_;
};

void require_rising(const std::vector<std::uint64_t>& objects) {
    for (std::size_t i = 1; i < objects.size(); ++i)
        if (objects[i] <= objects[i - 1])
            throw usage_error("--objects: sizes must rise, but " + std::to_string(objects[i]) +
                              " comes after " + std::to_string(objects[i - 1]));
}

std::vector<row> run_rounds(const growth_options& options, const bench_run& run) {
    measurements measured;
    std::string digest;
    run.each_engine(chain_engines, options.engines, [&](const chain_engine_entry& entry) {
        const scratch_directory scratch(options.directory);
        measured.select(entry.name);
        {
            const auto engine = entry.make(payments::chain_name, scratch.path());
            growing_state state(*engine, entry.how_to_replay(), options, measured);
            for (const std::uint64_t objects : options.objects) {
                spdlog::info("{} to {} objects", entry.name, objects);
                state.grow_to(objects);
            }
            engine->model().check();
            const std::string own = engine->model().state_digest();
            if (digest.empty()) digest = own;
            if (digest != own)
                throw damaged_error(std::string("bench: the state of ")
                                        .append(entry.name)
                                        .append(" differs from the one before it: the figures "
                                                "are invalid"));
        }
        malloc_trim(0);
    });
    return measured.rows();
}

/// CSV for a plot, a line per size and engine.
std::string to_csv(const std::vector<row>& rows) {
    std::ostringstream text;
    text << "engine,operation,objects,metric,value\n";
    for (const row& each : rows) {
        const std::size_t split = each.operation.rfind("_at_");
        text << each.engine << ',' << each.operation.substr(0, split) << ','
             << each.operation.substr(split + 4) << ',' << to_string(each.metric) << ','
             << each.value << '\n';
    }
    return text.str();
}

void run_growth(const growth_options& options) {
    require_rising(options.objects);
    constexpr std::uintmax_t per_object = 250;
    require_space(options.directory,
                  (std::uintmax_t{256} << 20) + options.objects.back() * per_object,
                  "fewer objects");
    const bench_run run("growth", options);
    const std::vector<row> rows = run_rounds(options, run);
    if (options.csv) return print_or_throw(to_csv(rows));
    run.print(rows, json_of(options), "payments chain",
              "ns per operation, bytes where the name says so; in brackets the ratio to classical");
}

} // namespace

void declare_growth(command& verb) {
    const auto options = std::make_shared<growth_options>();
    options->rounds = 1;
    verb.add_option("--objects", options->objects, "Sizes to measure at, rising")
        .delimiter(',')
        .whole_number(2, 500'000'000);
    verb.add_option("--operations", options->operations,
                    "Number of payments and of new accounts that are timed")
        .shows_default()
        .whole_number(1, 10'000'000);
    declare_engines(verb, options->engines, chain_engines, "chainbase,classical");
    command_option& csv = verb.add_flag("--csv", options->csv, "Comma-separated values on stdout");
    declare_common(verb, *options, "Rounds, engines interleaved in each",
                   "Where the states are made")
        .excludes(csv);
    verb.runs([options] {
        run_growth(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

#include <pool_allocator/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/chain_engines.hpp>
#include <tools/bench/chain_modes.hpp>
#include <tools/bench/growth.hpp>
#include <tools/bench/growth_blocks.hpp>
#include <tools/bench/machine.hpp>
#include <tools/bench/report.hpp>
#include <tools/bench/scratch_directory.hpp>
#include <tools/bench/stopwatch.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <malloc.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace chainbase::bench {

namespace {

/// "create_at_1000000": the rows of a size stand together.
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
    /// Timed is only the last part, when the state has nearly its size; the rest comes in parts,
    /// too, so that their blocks need not be in memory together.
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
            throw usage_error("--objects: sizes rise, and " + std::to_string(objects[i]) +
                              " comes after " + std::to_string(objects[i - 1]));
}

std::vector<row> run_rounds(const growth_options& options) {
    measurements measured;
    std::string digest;
    for (std::uint32_t round = 1; round <= options.rounds; ++round)
        for (const std::string& name : options.engines) {
            const scratch_directory scratch(options.directory);
            measured.select(name);
            {
                const chain_engine_entry& entry = *find_chain_engine(name);
                const auto engine = entry.make(payments::chain_name, scratch.path());
                growing_state state(*engine, entry.how_to_replay(), options, measured);
                for (const std::uint64_t objects : options.objects) {
                    spdlog::info("round {} of {}: {} to {} objects", round, options.rounds, name,
                                 objects);
                    state.grow_to(objects);
                }
                engine->model().check();
                const std::string own = engine->model().state_digest();
                if (digest.empty()) digest = own;
                if (digest != own)
                    throw damaged_error(std::string("bench: the state of ")
                                            .append(name)
                                            .append(" differs from the one before it: no figure "
                                                    "counts"));
            }
            malloc_trim(0);
        }
    return measured.rows();
}

/// A line per size and engine, for a plot.
std::string to_csv(const std::vector<row>& rows) {
    std::ostringstream text;
    text << "engine,operation,objects,metric,value\n";
    for (const row& each : rows) {
        const std::size_t split = each.operation.rfind("_at_");
        text << each.engine << ',' << each.operation.substr(0, split) << ','
             << each.operation.substr(split + 4) << ',' << name_of(each.unit) << ',' << each.value
             << '\n';
    }
    return text.str();
}

std::string to_text(const std::vector<row>& rows, const nlohmann::json& machine,
                    const growth_options& options) {
    std::ostringstream text;
    text << "growth: payments chain, medians of " << options.rounds << " rounds; "
         << in_words(machine)
         << "\nns per operation, bytes where the name says so; in brackets the ratio to "
            "classical\n\n";
    print_rows(text, rows);
    return text.str();
}

std::string to_json(const std::vector<row>& rows, const nlohmann::json& machine,
                    const growth_options& options) {
    nlohmann::ordered_json all;
    all["bench"] = "growth";
    all["machine"] = machine;
    all["rounds"] = options.rounds;
    all["objects"] = options.objects;
    all["operations"] = options.operations;
    all["rows"] = rows_to_json(rows);
    return all.dump().append("\n");
}

} // namespace

void run_growth(const growth_options& options) {
    require_rising(options.objects);
    constexpr std::uintmax_t per_object = 250;
    require_space(options.directory,
                  (std::uintmax_t{256} << 20) + options.objects.back() * per_object,
                  "fewer objects");
    warn_about_conditions();
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    const nlohmann::json machine = describe_machine(options.directory);
    const std::vector<row> rows = run_rounds(options);
    std::string text;
    if (options.json)
        text = to_json(rows, machine, options);
    else
        text = options.csv ? to_csv(rows) : to_text(rows, machine, options);
    print_or_throw(text);
}

} // namespace chainbase::bench

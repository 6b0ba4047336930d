#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>
#include <tools/driver/generate/comparison.hpp>
#include <tools/driver/generate/generate.hpp>
#include <tools/driver/import/import.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>

namespace chainbase::driver {

namespace {

struct generate_call {
    generate::chain_options chain;
    generate::fork_options forks;
    std::filesystem::path to;
    std::filesystem::path forks_of;
    std::filesystem::path compare;
    std::filesystem::path fit;
    std::string mix;
    std::string skew = "1";
    bool json = false;
};

/// Parses "0.25" into thousandths: 0 to 1 with up to three decimals.
std::uint32_t skew_milli(const std::string& text) {
    const std::size_t point = text.find('.');
    const std::string whole = text.substr(0, point);
    std::string part = point == std::string::npos ? "0" : text.substr(point + 1);
    const bool is_number = is_digits(part) && part.size() <= 3 && (whole == "0" || whole == "1");
    part.resize(3, '0');
    if (!is_number || (whole == "1" && part != "000"))
        throw usage_error("--skew: \"" + text +
                          "\" is not a number from 0 to 1 with up to three decimals");
    return static_cast<std::uint32_t>(std::stoul(whole + part));
}

void require_one_task(const generate_call& call) {
    const int tasks = (call.chain.operations > 0 ? 1 : 0) + (call.forks_of.empty() ? 0 : 1) +
                      (call.compare.empty() ? 0 : 1) + (call.fit.empty() ? 0 : 1);
    if (tasks != 1)
        throw usage_error("generate needs one of --operations, --forks-of, --compare and --fit");
    const bool makes_file = call.chain.operations > 0 || !call.forks_of.empty();
    if (makes_file == call.to.empty())
        throw usage_error("--to needs --operations or --forks-of, and these need --to");
    if (!call.forks_of.empty() && call.forks.percent == 0)
        throw usage_error("--forks-of needs --forks, the per cent of blocks after which a branch "
                          "forks off");
}

/// Refuses options that have no effect on the payments chain.
void require_effect(const command& verb, const generate_call& call) {
    if (call.chain.chain != payments::chain_name) return;
    for (const char* option : {"--mix", "--cash-out-percent", "--paid-percent"})
        if (verb.option(option).given())
            throw usage_error(std::string(option) + " is of the social chain; leave it out with " +
                              "--chain payments");
}

exit_code make(generate_call call) {
    if (!call.mix.empty()) call.chain.mix = generate::parse_mix(call.mix);
    call.chain.skew_milli = skew_milli(call.skew);
    const catch_interruption signals;
    const generate::generate_report made =
        call.forks_of.empty() ? generate::generate_log(call.chain, call.forks, call.to, signals)
                              : generate::generate_forks_of(call.forks_of, call.forks,
                                                            call.chain.seed, call.to, signals);
    print_report(made, call.json);
    return made.interrupted ? exit_code::interrupted : exit_code::done;
}

exit_code run(const generate_call& call) {
    require_one_task(call);
    if (!call.fit.empty()) {
        print_or_throw(generate::fit_of(generate::measure(call.fit)).to_text());
        return exit_code::done;
    }
    if (call.compare.empty()) return make(call);
    const generate::comparison made = compare(generate::measure(call.compare));
    print_report(made, call.json);
    return exit_code::done;
}

void add_chain_options(command& verb, generate_call& call) {
    command_option& log =
        verb.add_option("--operations", call.chain.operations, "make a log of this many operations")
            .whole_number(1, 100'000'000'000);
    verb.add_option("--seed", call.chain.seed, "another seed, another chain of the same kind")
        .whole_number(0, UINT64_MAX)
        .shows_default();
    verb.add_option("--to", call.to, "the block log, or the file of branches, to make")
        .value_name("FILE");
    verb.add_option("--chain", call.chain.chain, "which kind of chain")
        .one_of({std::string(social::generated_chain_name), std::string(payments::chain_name)})
        .shows_default()
        .needs(log);
    verb.add_option("--accounts", call.chain.accounts,
                    "accounts at the start (default: a fiftieth of the operations, 10 to "
                    "1,000,000)")
        .whole_number(2, 50'000'000)
        .needs(log);
    verb.add_option("--transactions-per-block", call.chain.transactions_per_block, "on average")
        .whole_number(1, 100'000)
        .shows_default()
        .needs(log);
    verb.add_option("--skew", call.skew,
                    "how unevenly accounts are active: 0: evenly, 1: like real ones")
        .shows_default()
        .needs(log);
    verb.add_option("--mix", call.mix, "kinds of operations and weights: custom=60,vote=22,...")
        .needs(log);
    verb.add_option("--cash-out-percent", call.chain.cash_out_percent,
                    "per cent of the time that real comments had until their cash-out")
        .whole_number(1, 1000)
        .shows_default()
        .needs(log);
    verb.add_option("--paid-percent", call.chain.paid_percent,
                    "per cent of the comments that are paid at all (default: as in the data, "
                    "about half)")
        .whole_number(0, 100)
        .needs(log);
}

void add_fork_options(command& verb, generate_call& call) {
    command_option& forks =
        verb.add_option("--forks", call.forks.percent,
                        "per cent of the blocks after which a branch forks off, in BLOCK_LOG.forks")
            .whole_number(0, 100);
    verb.add_option("--fork-depth", call.forks.depth, "blocks of the longest branch")
        .whole_number(1, generate::deepest_fork)
        .shows_default()
        .needs(forks);
    verb.add_option("--bad-forks", call.forks.bad_percent,
                    "per cent of the branches that end with a block that breaks the rules")
        .whole_number(0, 100)
        .needs(forks);
    verb.add_option("--forks-of", call.forks_of, "make branches of this log instead of a log")
        .value_name("FILE");
}

} // namespace

void declare_generate(command& verb) {
    const auto call = std::make_shared<generate_call>();
    add_chain_options(verb, *call);
    add_fork_options(verb, *call);
    command_option& json = verb.add_flag("--json", call->json, "one JSON object on stdout");
    verb.add_option("--compare", call->compare, "show how this log differs from real data")
        .value_name("FILE")
        .excludes(verb.option("--seed"))
        .excludes(verb.option("--forks"));
    verb.add_option("--fit", call->fit,
                    "print the distributions measured in this log, from which `generate` draws")
        .value_name("FILE")
        .excludes(verb.option("--seed"))
        .excludes(verb.option("--forks"))
        .excludes(json);
    verb.runs([call, &verb] {
        require_effect(verb, *call);
        return run(*call);
    });
}

namespace {

struct import_call {
    std::string data;
    std::filesystem::path from;
    std::filesystem::path to;
    bool json = false;
};

void run(const import_call& call) {
    import_summary made = call.data == social::chain_name
                              ? import_steem_2016(call.from, call.to)
                              : import_eos_swap_2022(call.from, call.to);
    made.chain = call.data;
    if (call.json) return print_or_throw(line_of(json_of(made)) + "\n");
    print_or_throw(fmt::format("{}: {} blocks, {} transactions, {} operations, {} bytes in {}\n",
                               made.chain, made.blocks, made.transactions, made.operations,
                               made.bytes, call.to.string()));
}

} // namespace

void declare_import(command& verb) {
    const auto call = std::make_shared<import_call>();
    verb.add_option("data", call->data, "which data")
        .required()
        .one_of({std::string(social::chain_name), std::string(swap::chain_name)});
    verb.add_option("--from", call->from, "folder of the tables").value_name("FOLDER").required();
    verb.add_option("--to", call->to, "the block log to make").value_name("FILE").required();
    verb.add_flag("--json", call->json, "one JSON object on stdout");
    verb.runs([call] {
        run(*call);
        return exit_code::done;
    });
}

} // namespace chainbase::driver

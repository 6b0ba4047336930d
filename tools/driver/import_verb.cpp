#include <tools/driver/import/import.hpp>
#include <tools/driver/verbs.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <string>

namespace chainbase::driver {

namespace {

struct import_call {
    std::string data;
    std::filesystem::path from;
    std::filesystem::path to;
    bool json = false;
};

void run(const import_call& call) {
    const import_summary made = call.data == steem_2016 ? import_steem_2016(call.from, call.to)
                                                        : import_eos_swap_2022(call.from, call.to);
    const nlohmann::ordered_json summary{{"chain", call.data},
                                         {"blocks", made.blocks},
                                         {"transactions", made.transactions},
                                         {"operations", made.operations},
                                         {"bytes", made.bytes}};
    const std::string text =
        call.json ? summary.dump()
                  : fmt::format("{}: {} blocks, {} transactions, {} operations, {} bytes in {}",
                                call.data, made.blocks, made.transactions, made.operations,
                                made.bytes, call.to.string());
    std::puts(text.c_str());
}

} // namespace

void add_import_verb(CLI::App& program, exit_code& result) {
    const auto call = std::make_shared<import_call>();
    CLI::App* verb = program.add_subcommand("import", "Make a block log of tables of real data");
    verb->add_option("data", call->data, "which data: steem-2016 or eos-swap-2022")
        ->required()
        ->check(CLI::IsMember({std::string(steem_2016), std::string(eos_swap_2022)}));
    verb->add_option("--from", call->from, "folder of the tables")->required();
    verb->add_option("--to", call->to, "the block log to make")->required();
    verb->add_flag("--json", call->json, "one JSON object on stdout");
    verb->callback([call, &result] {
        run(*call);
        result = done;
    });
}

} // namespace chainbase::driver

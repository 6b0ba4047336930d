#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>
#include <tools/driver/import/import.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
    const import_summary made = call.data == social::chain_name
                                    ? import_steem_2016(call.from, call.to)
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
    print_or_throw(text + "\n");
}

} // namespace

void declare_import(command& verb) {
    const auto call = std::make_shared<import_call>();
    verb.add_option("data", call->data, "which data")
        .required()
        .one_of({std::string(social::chain_name), std::string(swap::chain_name)});
    verb.add_option("--from", call->from, "folder of the tables").required();
    verb.add_option("--to", call->to, "the block log to make").required();
    verb.add_flag("--json", call->json, "one JSON object on stdout");
    verb.runs([call] {
        run(*call);
        return exit_code::done;
    });
}

} // namespace chainbase::driver

#include <tools/driver/root/known_roots.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::driver {

void add_roots_verb(CLI::App& program, exit_code& result) {
    struct call {
        std::filesystem::path from;
        std::uint64_t first = 1;
        std::uint64_t last = UINT64_MAX;
        std::size_t newest = SIZE_MAX;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand(
        "roots", "Print the roots of the last blocks that a state keeps, for `replay "
                 "--verify-roots` and `bisect` elsewhere");
    verb->add_option("STATE", options->from,
                     "folder of the state, running or not; or what this wrote")
        ->required();
    verb->add_option("--from", options->first, "number of the first block")
        ->transform(whole_number(1, UINT64_MAX));
    verb->add_option("--to", options->last, "number of the last block")
        ->transform(whole_number(1, UINT64_MAX));
    verb->add_option("--newest", options->newest, "so many blocks at most, the newest ones")
        ->transform(whole_number(1, UINT32_MAX));
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    verb->callback([options, &result] {
        known_roots all = known_roots::read(options->from);
        all.keep(options->first, options->last, options->newest);
        print_or_throw(options->json ? all.to_json() + "\n" : all.to_text(), "call again");
        result = exit_code::done;
    });
}

} // namespace chainbase::driver

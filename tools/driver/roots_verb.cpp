#include <tools/driver/root/known_roots.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void add_roots_verb(CLI::App& program, exit_code& result) {
    struct call {
        std::filesystem::path state;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand(
        "roots", "Print the roots of the last blocks that a state keeps, for `replay "
                 "--verify-roots` and `bisect` elsewhere");
    verb->add_option("STATE", options->state, "folder of the state, running or not")->required();
    verb->callback([options, &result] {
        print_or_throw(known_roots::read(options->state).to_text(), "call again");
        result = exit_code::done;
    });
}

} // namespace chainbase::driver

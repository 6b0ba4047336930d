#include <tools/driver/state_backup.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void add_backup_verb(CLI::App& program, exit_code& result) {
    struct call {
        std::filesystem::path state;
        std::filesystem::path to;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand(
        "backup", "Copy a state and its archive, a pair that belongs together; beside a writer, "
                  "its newest checkpoint");
    verb->add_option("--state", options->state, "folder of the state")->required();
    verb->add_option("--to", options->to, "folder of the backup, which is made")->required();
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    verb->callback([options, &result] {
        const catch_interruption signals;
        const backup_report report = make_backup(options->state, options->to);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        result = exit_code::done;
    });
}

} // namespace chainbase::driver

#include <tools/driver/state_backup.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void declare_backup(command& verb) {
    struct call {
        std::filesystem::path state;
        std::filesystem::path to;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--state", options->state, "folder of the state").required();
    verb.add_option("--to", options->to, "folder of the backup, which is made").required();
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        const catch_interruption signals;
        const backup_report report = make_backup(options->state, options->to);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        return exit_code::done;
    });
}

} // namespace chainbase::driver

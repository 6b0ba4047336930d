#include <tools/driver/archive_conversion.hpp>
#include <tools/driver/state_backup.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <memory>
#include <string>

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

void declare_restore(command& verb) {
    struct call {
        std::filesystem::path from;
        std::filesystem::path state;
        std::string group;
        bool check = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--from", options->from, "folder of the backup").required();
    command_option& state =
        verb.add_option("--state", options->state, "folder of the state, which is made");
    verb.add_option("--group", options->group,
                    "a group, by name or number, whose members may read the state and its "
                    "archive; without it nobody but its owner may")
        .needs(state);
    command_option& check =
        verb.add_flag("--check", options->check,
                      "make nothing, only compare the backup with its checksums")
            .excludes(state);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options, &state, &check] {
        if (!state.given() && !check.given())
            throw usage_error("restore: --state is required, or --check");
        const catch_interruption signals;
        const backup_report report =
            options->check ? check_backup(options->from)
                           : restore_backup(options->from, options->state, options->group);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        return exit_code::done;
    });
}

void declare_convert_archive(command& verb) {
    struct call {
        std::filesystem::path state;
        std::string to;
        bool pop = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--state", options->state, "folder of the state, which nobody has open")
        .required();
    verb.add_option("--to", options->to, "where they are to be")
        .required()
        .one_of({"rocksdb", "memory", "none"});
    verb.add_flag("--pop", options->pop, "take back the blocks that can still be undone before");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        const catch_interruption signals;
        const conversion_report report =
            convert_archive(options->state, archive::store_kind_of(options->to), options->pop);
        print_or_throw(options->json ? to_json(report) + "\n" : to_text(report));
        return exit_code::done;
    });
}

} // namespace chainbase::driver

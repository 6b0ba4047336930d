#include <tools/driver/archive_conversion.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <memory>
#include <string>

namespace chainbase::driver {

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

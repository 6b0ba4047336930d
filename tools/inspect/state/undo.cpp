#include <tools/inspect/look_at.hpp>
#include <tools/inspect/state/undo.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::inspect {

namespace {

void run_undo(const std::string& state, bool is_json) {
    const undo_report report = read_undo(state);
    print_or_throw(is_json ? as_json(report) : as_text(report));
}

} // namespace

void declare_undo(command& verb) {
    struct call {
        std::string state;
        bool json = false;
    };
    const auto asked = std::make_shared<call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("--json", asked->json, "Print one JSON object instead of tables");
    verb.runs([asked] {
        look_at(asked->state, [&] { run(asked->state, asked->json); });
        return exit_code::done;
    });
}

} // namespace chainbase::inspect

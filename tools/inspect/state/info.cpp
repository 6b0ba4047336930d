#include <tools/inspect/look_at.hpp>
#include <tools/inspect/state/info.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <algorithm>
#include <memory>

namespace chainbase::inspect {

namespace {

void run_info(const std::string& state, bool is_json) {
    const state_info info = read_info(state);
    print_or_throw(is_json ? as_json(info) : as_text(info));
}

bool has(const state_info& info, const char* code) {
    return std::ranges::any_of(info.troubles, [&](const trouble& one) { return one.code == code; });
}

} // namespace

std::string condition_of(const state_info& info) {
    if (info.writer.is_alive) return "writer_running";
    for (const char* lost : {"machine_restarted", "segment_lost"})
        if (has(info, lost)) return lost;
    if (!info.header || info.header->format != segment_header::current_format) return "unknown";
    return info.header->clean == 1 ? "closed" : "writer_died";
}

std::string to_string(next_opening what) {
    switch (what) {
    case next_opening::attach:
        return "attach";
    case next_opening::roll_back:
        return "roll_back";
    case next_opening::restore:
        return "restore";
    case next_opening::create:
        return "create";
    case next_opening::refuse:
        return "refuse";
    }
    return "unknown";
}

void declare_info(command& verb) {
    struct call {
        std::string state;
        bool json = false;
    };
    const auto asked = std::make_shared<call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("--json", asked->json, "Print one JSON object instead of text");
    verb.runs([asked] {
        look_at(asked->state, [&] { run(asked->state, asked->json); });
        return exit_code::done;
    });
}

} // namespace chainbase::inspect

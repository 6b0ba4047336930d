#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/map.hpp>
#include <tools/inspect/output_file.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <memory>
#include <optional>

namespace chainbase::inspect {

namespace {

struct map_call {
    std::string state;
    std::string svg;
    bool json = false;
};

std::size_t columns_of_stdout() {
    winsize size{};
    const bool is_known = ::isatty(STDOUT_FILENO) == 1 &&
                          ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : 80;
}

exit_code run_map(const map_call& asked) {
    const segment_map found = read_segment_map(asked.state);
    if (!asked.svg.empty())
        output_file(asked.svg, {found.state, found.segment}).write(as_svg(found));
    print_or_throw(asked.json ? as_json(found) : as_text(found, columns_of_stdout()));
    if (found.condition != condition::closed || found.consistent) return exit_code::done;
    spdlog::error("{}: the state is closed, and what it counts is not what was found; `check` says "
                  "more",
                  asked.state);
    return exit_code::failed;
}

} // namespace

void declare_map(command& verb) {
    const auto asked = std::make_shared<map_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("--svg", asked->svg, "Write the picture to this file, too");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of the picture");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_map(*asked); }); });
}

} // namespace chainbase::inspect

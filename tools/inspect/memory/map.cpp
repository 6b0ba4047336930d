#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/segment_map.hpp>
#include <tools/inspect/output_file.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace chainbase::inspect {

// The members that each part of the report has in JSON, in their order.
BOOST_DESCRIBE_STRUCT(window_map::cell, (),
                      (first, pages, bytes_in_use, empty, punched, never_used))
BOOST_DESCRIBE_STRUCT(window_map::run, (), (first, pages))
BOOST_DESCRIBE_STRUCT(window_map::slot_counts, (), (reserved, used, free, never_used))

static json report_value(const window_map& file) {
    constexpr std::size_t most_cells = 512; // of a file, however long it is
    return {{"file", file.name},
            {"type", text_or_null(file.type)},
            {"kind", file.kind},
            {"bytes", file.bytes},
            {"header", file.header_bytes},
            {"in_use", file.bytes_in_use()},
            {"free", file.bytes_free()},
            {"never_used", file.bytes_never_used()},
            {"slot_bytes", file.slot_bytes},
            {"slots", json_of(file.slots)},
            {"pages",
             {{"all", file.in_use.size()},
              {"header", file.count(window_map::page::header)},
              {"fullness", file.fullness()},
              {"punched", file.count(window_map::page::punched)},
              {"never_used", file.count(window_map::page::never_used)}}},
            {"longest_free_run", json_of(file.longest_free_run())},
            {"cells", json_of(file.cells(most_cells))}};
}

namespace {

constexpr const char* shades[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* empty = "░";
constexpr const char* punched = "○";
constexpr const char* never_used = "·";

constexpr std::size_t widest_name = 28;
constexpr std::size_t widest_figures = 2 + 15 + 2 + 7; // "  bytes  percent"
constexpr std::size_t narrowest_picture = 8;

const char* glyph(const window_map::cell& of) {
    const std::uint64_t room = of.pages * window_map::page_bytes;
    if (of.bytes_in_use > 0) return shades[(8 * of.bytes_in_use + room - 1) / room - 1];
    if (of.never_used == of.pages) return never_used;
    return 2 * of.punched >= of.pages - of.never_used ? punched : empty;
}

std::string shortened(const std::string& name, std::size_t width) {
    return name.size() <= width ? name : name.substr(0, width - 1) + "~";
}

std::string line_about(const window_map& file, std::size_t name_width, std::size_t picture_width) {
    std::string picture;
    const auto cells = file.cells(picture_width);
    for (const window_map::cell& each : cells)
        picture += glyph(each);
    picture.append(picture_width - cells.size(), ' ');
    return fmt::format("{:<{}}  {}  {:>15}  {:>5.1f} %\n", shortened(file.name, name_width),
                       name_width, picture, grouped(file.bytes),
                       percent_of(file.header_bytes + file.bytes_in_use(), file.bytes));
}

std::string picture_of(const segment_map& found, std::size_t columns) {
    std::size_t names = 0;
    std::size_t untouched = 0;
    std::uint64_t untouched_bytes = 0;
    for (const window_map& file : found.windows)
        if (!file.is_unused_class()) names = std::max(names, file.name.size());
    names = std::min(names, widest_name);
    const std::size_t taken = names + 2 + widest_figures;
    const std::size_t width = std::max(columns, taken + narrowest_picture) - taken;
    std::string text =
        fmt::format("{:<{}}  {:<{}}  {:>15}  {:>7}\n", "file", names, "", width, "bytes", "in use");
    for (const window_map& file : found.windows) {
        if (!file.is_unused_class()) {
            text += line_about(file, names, width);
            continue;
        }
        ++untouched;
        untouched_bytes += file.bytes;
    }
    if (untouched > 0)
        text += fmt::format("and {} classes of buffers that were never used: {} bytes\n", untouched,
                            grouped(untouched_bytes));
    return text + fmt::format("\n{}..{} in use, little to all   {} empty   {} punched   {} never "
                              "used\n",
                              shades[0], shades[7], empty, punched, never_used);
}

std::string run_text(const window_map::run& run) {
    return run.pages == 0 ? "-" : fmt::format("{} at {}", grouped(run.pages), grouped(run.first));
}

std::string fullness_text(const segment_map& found) {
    std::vector<std::string> titles{"pages"};
    for (const std::string_view fullness : window_map::fullness_names)
        titles.emplace_back(fullness);
    for (const char* title : {"never used", "punched", "longest free run"})
        titles.emplace_back(title);
    text_table table(std::move(titles));
    for (const window_map& file : found.windows) {
        if (file.is_untouched()) continue;
        std::vector<std::string> cells{shortened(file.name, widest_name)};
        for (const std::uint64_t pages : file.fullness())
            cells.push_back(grouped(pages));
        cells.push_back(grouped(file.count(window_map::page::never_used)));
        cells.push_back(grouped(file.count(window_map::page::punched)));
        cells.push_back(run_text(file.longest_free_run()));
        table.add(std::move(cells));
    }
    return table.text();
}

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

std::string as_json(const segment_map& found) {
    return lines_of({{"schema_version", 1},
                     {"state", found.state.string()},
                     {"segment", found.segment.string()},
                     {"condition", to_string(found.condition)},
                     {"consistent", found.consistent},
                     {"discrepancies", found.discrepancies},
                     {"page_bytes", window_map::page_bytes},
                     {"bytes", found.bytes()},
                     {"in_use", found.bytes_in_use()},
                     {"other_files", found.other_files},
                     {"files", json_of(found.windows)}});
}

std::string as_text(const segment_map& found, std::size_t columns) {
    const bool is_torn = found.condition == condition::writer_running && !found.consistent;
    const std::string during = is_torn ? ", and changed it while it was read" : "";
    std::string text =
        fmt::format("state      {}\n"
                    "condition  {}\n"
                    "segment    {}: {} bytes, {:.1f} % of them in use (and {} of other files)\n\n",
                    found.state.string(), condition_in_words(found.condition, {}) + during,
                    found.segment.string(), grouped(found.bytes()),
                    percent_of(found.bytes_in_use(), found.bytes()), grouped(found.other_files));
    text += picture_of(found, columns) + "\n" + fullness_text(found);
    for (const std::string& each : found.discrepancies)
        text += "not exact: " + each + "\n";
    return text;
}

void declare_map(command& verb) {
    const auto asked = std::make_shared<map_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("--svg", asked->svg, "Write the picture to this file, too");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of the picture");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_map(*asked); }); });
}

} // namespace chainbase::inspect

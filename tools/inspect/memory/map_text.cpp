#include <tools/inspect/memory/map.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::inspect {

namespace {

constexpr const char* shades[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* empty = "░";
constexpr const char* punched = "○";
constexpr const char* never_used = "·";

constexpr std::size_t widest_name = 28;
constexpr std::size_t widest_figures = 2 + 15 + 2 + 7; // "  bytes  percent"
constexpr std::size_t narrowest_picture = 8;

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

const char* glyph(const window_map::cell& of) {
    const std::uint64_t room = of.pages * window_map::page_bytes;
    if (of.bytes_in_use > 0) return shades[(8 * of.bytes_in_use + room - 1) / room - 1];
    if (of.never_used == of.pages) return never_used;
    return 2 * of.punched >= of.pages - of.never_used ? punched : empty;
}

std::string shortened(const std::string& name, std::size_t width) {
    return name.size() <= width ? name : name.substr(0, width - 1) + "~";
}

std::string line_of(const window_map& file, std::size_t name_width, std::size_t picture_width) {
    std::string picture;
    const auto cells = file.cells(picture_width);
    for (const window_map::cell& each : cells)
        picture += glyph(each);
    picture.append(picture_width - cells.size(), ' ');
    return fmt::format("{:<{}}  {}  {:>15}  {:>5.1f} %\n", shortened(file.name, name_width),
                       name_width, picture, grouped(file.bytes),
                       percent(file.header_bytes + file.bytes_in_use(), file.bytes));
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
            text += line_of(file, names, width);
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
    text_table table({"pages", "0 %", "1-25 %", "26-50 %", "51-75 %", "76-99 %", "100 %",
                      "never used", "punched", "longest free run"});
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

std::string condition_text(const segment_map& found) {
    switch (found.condition) {
    case condition::closed:
        return "closed properly";
    case condition::writer_running:
        return found.consistent ? "a writer is running"
                                : "a writer is running, and changed it "
                                  "while it was read";
    case condition::writer_died:
        return "the last writer died";
    }
    return "unknown";
}

} // namespace

std::string as_text(const segment_map& found, std::size_t columns) {
    std::string text = fmt::format(
        "state      {}\n"
        "condition  {}\n"
        "segment    {}: {} bytes, {:.1f} % of them in use (and {} of other files)\n\n",
        found.state.string(), condition_text(found), found.segment.string(), grouped(found.bytes()),
        percent(found.bytes_in_use(), found.bytes()), grouped(found.other_files));
    text += picture_of(found, columns) + "\n" + fullness_text(found);
    for (const std::string& each : found.discrepancies)
        text += "not exact: " + each + "\n";
    return text;
}

} // namespace chainbase::inspect

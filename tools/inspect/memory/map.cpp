#include <tools/inspect/escaped.hpp>
#include <tools/inspect/memory/segment_map.hpp>
#include <tools/inspect/output_file.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

namespace chainbase::inspect {

namespace {

constexpr int width = 1000;
constexpr int margin = 24;
constexpr int row_height = 22;
constexpr int bar_height = 16;
constexpr int picture_left = 230;
constexpr int cell_width = 4;
constexpr int cells_of_a_row = 140;
constexpr int picture_width = cell_width * cells_of_a_row;
constexpr int bytes_right = 905;
constexpr int percent_right = width - margin;

/// A colour of the picture: on a light page, which is written at each element since many programs
/// know no style sheets, and on a dark one.
struct paint {
    std::string_view name;
    std::string_view light;
    std::string_view dark;
};

/// u1 ... u8 are shades of use; empty and punched mark pages without use.
constexpr paint paints[] = {{"back", "#ffffff", "#14181f"},  {"ink", "#1c2430", "#e6eaf0"},
                            {"soft", "#657080", "#95a0b0"},  {"line", "#d5dae1", "#333b47"},
                            {"empty", "#f0c9a0", "#6e4a2a"}, {"hatch", "#c98b4b", "#b07c48"},
                            {"u1", "#d9e8f5", "#1b3147"},    {"u2", "#bdd7ec", "#20415f"},
                            {"u3", "#99c2e1", "#265379"},    {"u4", "#70a8d3", "#2e6894"},
                            {"u5", "#4b8ec3", "#3a80b2"},    {"u6", "#2f73ae", "#4c99cd"},
                            {"u7", "#1c5a94", "#6bb3e3"},    {"u8", "#0f437a", "#97cff5"}};

std::string_view light(std::string_view name) {
    return std::ranges::find(paints, name, &paint::name)->light;
}

/// The rules for a dark page.
std::string dark_rules() {
    std::string rules;
    for (const paint& one : paints) {
        const bool is_line = one.name == "line" || one.name == "hatch";
        rules += fmt::format(" .{} {{ {}: {} }}", one.name, is_line ? "stroke" : "fill", one.dark);
    }
    return "@media (prefers-color-scheme: dark) {" + rules + " }";
}

constexpr std::array<std::string_view, 6> fullness_classes = {"empty", "u1", "u3",
                                                              "u5",    "u7", "u8"};

std::string class_of(const window_map::cell& of) {
    const std::uint64_t room = of.pages * window_map::page_bytes;
    if (of.bytes_in_use > 0) return fmt::format("u{}", (8 * of.bytes_in_use + room - 1) / room);
    if (of.never_used == of.pages) return "line";
    return 2 * of.punched >= of.pages - of.never_used ? "punched" : "empty";
}

enum class text_kind { title, head, name, soft, soft_end, end };

std::string text_at(int x, int y, text_kind kind, std::string_view content) {
    const bool is_soft = kind == text_kind::soft || kind == text_kind::soft_end;
    const bool is_end = kind == text_kind::end || kind == text_kind::soft_end;
    const bool is_strong = kind == text_kind::title || kind == text_kind::head;
    const int size = kind == text_kind::title ? 18 : kind == text_kind::head ? 14 : 12;
    const std::string_view colour = is_soft ? "soft" : "ink";
    return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\" fill=\"{}\" font-size=\"{}\"{}{}>{}"
                       "</text>\n",
                       x, y, colour, light(colour), size, is_strong ? " font-weight=\"600\"" : "",
                       is_end ? " text-anchor=\"end\"" : "", escaped_for_xml(content));
}

/// A frame for "line", hatched for "punched", otherwise filled with the colour of that name.
std::string bar_at(double x, int y, double length, std::string_view name) {
    const bool is_frame = name == "line";
    const double inset = is_frame ? 0.5 : 0; // keeps a frame within its bar
    const std::string painted =
        is_frame            ? fmt::format("fill=\"none\" class=\"line\" stroke=\"{}\"", light(name))
        : name == "punched" ? std::string("fill=\"url(#hatched)\"")
                            : fmt::format("class=\"{}\" fill=\"{}\"", name, light(name));
    return fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" {}/>\n",
                       x + inset, y + inset, std::max(0.0, length - 2 * inset),
                       bar_height - 2 * inset, painted);
}

/// Grows downwards, row by row.
class drawing {
public:
    void heading(const segment_map& found) {
        y_ += 18;
        body_ += text_at(margin, y_, text_kind::title, "Memory map of " + found.state.string());
        y_ += 20;
        body_ += text_at(margin, y_, text_kind::soft,
                         fmt::format("{} in {} files, {:.1f} % of them in use{}",
                                     bytes_in_words(found.bytes()), found.windows.size(),
                                     percent_of(found.bytes_in_use(), found.bytes()),
                                     found.consistent ? "" : "; read while it changed"));
        y_ += 14;
    }

    void legend() {
        int x = picture_left;
        y_ += 8;
        for (const char* each : {"u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"}) {
            body_ += bar_at(x, y_, 14, each);
            x += 14;
        }
        body_ += text_at(x + 6, y_ + 13, text_kind::soft, "in use, little to all");
        x += 146;
        for (const auto& [classes, what] :
             {std::pair{"empty", "empty"}, {"punched", "punched"}, {"line", "never used"}}) {
            body_ += bar_at(x, y_, 14, classes);
            body_ += text_at(x + 20, y_ + 13, text_kind::soft, what);
            x += 90;
        }
        y_ += row_height;
    }

    void section(std::string_view title, std::string_view bytes, std::string_view percent) {
        y_ += 30;
        body_ += text_at(margin, y_, text_kind::head, title);
        body_ += text_at(bytes_right, y_, text_kind::soft_end, bytes);
        body_ += text_at(percent_right, y_, text_kind::soft_end, percent);
        y_ += 10;
    }

    void cells_of(const window_map& file) {
        begin_row(file, fmt::format("{}: {}, {:.1f} % in use; {} slots used, {} free, {} "
                                    "never used",
                                    file.name, bytes_in_words(file.bytes), use_of(file),
                                    grouped(file.slots.used), grouped(file.slots.free),
                                    grouped(file.slots.never_used)));
        const auto cells = file.cells(cells_of_a_row);
        for (std::size_t first = 0; first < cells.size();) {
            const std::string classes = class_of(cells[first]);
            std::size_t end = first + 1;
            while (end < cells.size() && class_of(cells[end]) == classes)
                ++end;
            body_ += bar_at(picture_left + static_cast<double>(first) * cell_width, y_,
                            static_cast<double>(end - first) * cell_width, classes);
            first = end;
        }
        end_row(bytes_in_words(file.bytes), fmt::format("{:.1f} %", use_of(file)));
    }

    void fullness_of(const window_map& file) {
        const window_map::histogram pages = file.fullness();
        std::uint64_t all = 0;
        std::string told = file.name + ":";
        for (std::size_t each = 0; each < pages.size(); ++each) {
            all += pages[each];
            told += fmt::format(" {} pages {} full,", grouped(pages[each]),
                                window_map::fullness_names[each]);
        }
        const std::uint64_t run = file.longest_free_run().pages;
        begin_row(file, told + fmt::format(" longest free run {} pages", grouped(run)));
        double x = picture_left;
        for (std::size_t each = 0; each < pages.size(); ++each) {
            const double length = picture_width * percent_of(pages[each], all) / 100;
            if (pages[each] > 0) body_ += bar_at(x, y_, length, fullness_classes[each]);
            x += length;
        }
        end_row(grouped(all), grouped(run));
    }

    void fullness_legend() {
        int x = picture_left;
        y_ += 6;
        for (std::size_t each = 0; each < window_map::fullness_names.size(); ++each) {
            body_ += bar_at(x, y_, 14, fullness_classes[each]);
            body_ += text_at(x + 20, y_ + 13, text_kind::soft, window_map::fullness_names[each]);
            x += 90;
        }
        y_ += row_height + 6;
    }

    void note(const std::string& text) {
        y_ += row_height;
        body_ += text_at(margin, y_ - 6, text_kind::soft, text);
    }

    [[nodiscard]] std::string document() const {
        const int height = y_ + margin;
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
            "height=\"{1}\" role=\"img\" font-family=\"system-ui, sans-serif\">\n"
            "<style>{2}</style>\n<defs><pattern id=\"hatched\" width=\"4\" height=\"4\" "
            "patternUnits=\"userSpaceOnUse\"><path class=\"hatch\" stroke=\"{3}\" "
            "stroke-width=\"1.5\" d=\"M0,4 L4,0\"/></pattern></defs>\n"
            "<rect class=\"back\" fill=\"{4}\" width=\"{0}\" height=\"{1}\"/>\n{5}</svg>\n",
            width, height, dark_rules(), light("hatch"), light("back"), body_);
    }

private:
    static double use_of(const window_map& file) {
        return percent_of(file.header_bytes + file.bytes_in_use(), file.bytes);
    }
    void begin_row(const window_map& file, const std::string& told) {
        constexpr std::size_t most = 30;
        const std::string name = valid_utf8(file.name);
        body_ += "<g><title>" + escaped_for_xml(told) + "</title>\n";
        body_ += text_at(margin, y_ + 13, text_kind::name,
                         name.size() <= most ? name : valid_utf8(name.substr(0, most - 1)) + "…");
    }
    void end_row(std::string_view bytes, std::string_view percent) {
        body_ += text_at(bytes_right, y_ + 13, text_kind::end, bytes);
        body_ += text_at(percent_right, y_ + 13, text_kind::end, percent) + "</g>\n";
        y_ += row_height;
    }

    std::string body_;
    int y_ = margin;
};

} // namespace

std::string as_svg(const segment_map& found) {
    drawing picture;
    picture.heading(found);
    picture.legend();
    picture.section("Occupancy of each file, page by page", "bytes", "in use");
    for (const window_map& file : found.windows)
        if (!file.is_unused_class()) picture.cells_of(file);
    const auto unused = std::ranges::count_if(found.windows, &window_map::is_unused_class);
    if (unused > 0)
        picture.note(fmt::format("and {} classes of buffers that were never used", unused));
    picture.section("How full the pages of objects and buffers are", "pages", "free run");
    picture.fullness_legend();
    for (const window_map& file : found.windows)
        if (!file.is_untouched() && (file.kind == "objects" || file.kind == "buffers"))
            picture.fullness_of(file);
    return picture.document();
}

// The JSON members of each part of the report, in order.
BOOST_DESCRIBE_STRUCT(window_map::cell, (),
                      (first, pages, bytes_in_use, empty, punched, never_used))
BOOST_DESCRIBE_STRUCT(window_map::run, (), (first, pages))
BOOST_DESCRIBE_STRUCT(window_map::slot_counts, (), (reserved, used, free, never_used))

static json report_value(const window_map& file) {
    constexpr std::size_t max_cells = 512; // per file
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
            {"cells", json_of(file.cells(max_cells))}};
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
                       name_width, picture, bytes_in_words(file.bytes),
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
        text += fmt::format("and {} classes of buffers that were never used: {}\n", untouched,
                            bytes_in_words(untouched_bytes));
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

struct map_call : state_call {
    std::string svg;
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
    spdlog::error("{}: the state is closed, but its counts differ from what was found; `check` "
                  "says more",
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
    std::string text = fmt::format(
        "state      {}\n"
        "condition  {}\n"
        "segment    {}: {}, {:.1f} % of them in use (and {} of other files)\n\n",
        found.state.string(), condition_in_words(found.condition, {}) + during,
        found.segment.string(), bytes_in_words(found.bytes()),
        percent_of(found.bytes_in_use(), found.bytes()), bytes_in_words(found.other_files));
    text += picture_of(found, columns) + "\n" + fullness_text(found);
    for (const std::string& each : found.discrepancies)
        text += "not exact: " + each + "\n";
    return text;
}

void declare_map(command& verb) {
    const auto asked = declare_look<map_call>(verb, run_map);
    verb.add_option("--svg", asked->svg, "Write the picture to this file, too").value_name("FILE");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of the picture");
}

} // namespace chainbase::inspect

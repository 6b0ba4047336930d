#include <tools/inspect/memory/tree.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::inspect {

namespace {

constexpr std::size_t bar_width = 20;

struct line {
    std::string branches; ///< what leads to the name
    std::size_t depth = 0;
    const memory_node* node = nullptr;

    /// Every branch takes three columns, in however many bytes.
    [[nodiscard]] std::size_t columns() const { return 3 * depth + node->name.size(); }
};

void add_lines(const memory_node& node, const std::string& branches, std::size_t depth,
               std::vector<line>& to) {
    for (const memory_node& each : node.children) {
        const bool is_last = &each == &node.children.back();
        to.push_back({branches + (is_last ? "└─ " : "├─ "), depth, &each});
        add_lines(each, branches + (is_last ? "   " : "│  "), depth + 1, to);
    }
}

/// In eighths of a column.
std::string bar_of(double share) {
    constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = static_cast<std::size_t>(share * 8 * bar_width + 0.5);
    std::string bar;
    for (std::size_t whole = 0; whole < eighths / 8; ++whole)
        bar += "█";
    return bar + parts[eighths % 8];
}

} // namespace

std::string as_text(const state_tree& found) {
    std::vector<line> lines{{"", 0, &found.root}};
    add_lines(found.root, "", 1, lines);
    std::size_t columns = 0;
    for (const line& each : lines)
        columns = std::max(columns, each.columns());
    std::string text;
    for (const line& each : lines) {
        const double share = found.root.bytes == 0 ? 0
                                                   : static_cast<double>(each.node->bytes) /
                                                         static_cast<double>(found.root.bytes);
        std::string one = fmt::format("{}{}{:{}}  {:>15}  {:>5.1f} %  {}", each.branches,
                                      each.node->name, "", columns - each.columns(),
                                      grouped(each.node->bytes), 100 * share, bar_of(share));
        one.erase(one.find_last_not_of(' ') + 1);
        text += one + "\n";
    }
    if (found.state.consistent) return text;
    return text + "\nread while it changed: the sums may miss the files' by a little\n";
}

} // namespace chainbase::inspect

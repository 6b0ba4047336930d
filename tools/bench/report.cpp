#include <tools/bench/goals.hpp>
#include <tools/bench/report.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <optional>
#include <ostream>
#include <sstream>

namespace chainbase::bench {

namespace {

constexpr int operation_width = 34;
constexpr int engine_width = 18;
constexpr int goal_width = 12;

std::string fixed(double value, int digits) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
}

/// Three digits that say something below 10, one decimal below 1000.
std::string figure(double value) {
    if (value >= 1000) return fixed(value, 0);
    if (value >= 10 || value <= 0) return fixed(value, 1);
    return fixed(value, std::min(2 - static_cast<int>(std::floor(std::log10(value))), 9));
}

std::string bracketed(double ratio) {
    return std::string(" (").append(fixed(ratio, 2)).append(")");
}

/// The report's rows as a table: looked up by name, and the names in order of appearance.
class row_table {
public:
    explicit row_table(const std::vector<row>& rows) : rows_(rows) {
        for (const row& each : rows) {
            add_name(engines_, each.engine);
            add_name(operations_, each.operation);
        }
    }

    [[nodiscard]] const std::vector<std::string>& engines() const noexcept { return engines_; }
    [[nodiscard]] const std::vector<std::string>& operations() const noexcept {
        return operations_;
    }

    [[nodiscard]] std::optional<double> value(std::string_view engine,
                                              std::string_view operation) const {
        for (const row& each : rows_)
            if (each.engine == engine && each.operation == operation) return each.value;
        return std::nullopt;
    }

private:
    static void add_name(std::vector<std::string>& names, const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }

    const std::vector<row>& rows_;
    std::vector<std::string> engines_;
    std::vector<std::string> operations_;
};

/// The row of `classical` that a ratio of this operation refers to.
std::string reference_of(const std::string& operation) {
    const auto aim = goal_of(operation);
    return aim && !aim->reference.empty() ? std::string(aim->reference) : operation;
}

std::string cell(const row_table& table, const std::string& engine, const std::string& operation) {
    const auto value = table.value(engine, operation);
    if (!value) return "-";
    const auto classical = table.value("classical", reference_of(operation));
    if (!classical) return figure(*value);
    return figure(*value) + bracketed(*value / *classical);
}

std::string goal_text(const std::string& operation) {
    const auto aim = goal_of(operation);
    if (!aim) return "";
    return aim->reference.empty() ? figure(aim->at_most) : bracketed(aim->at_most);
}

std::string verdict(const row_table& table, const std::string& operation) {
    const auto aim = goal_of(operation);
    const auto own = table.value("chainbase", operation);
    if (!aim || !own) return "";
    double limit = aim->at_most;
    if (!aim->reference.empty()) {
        const auto classical = table.value("classical", aim->reference);
        if (!classical) return "";
        limit *= *classical;
    }
    return *own <= limit ? "met" : "missed";
}

/// "1.42 x heap" where chainbase is slower than the rule about the heap allows; bytes are no speed.
std::string heap_text(const row_table& table, const std::string& operation) {
    const auto own = table.value("chainbase", operation);
    const auto heap = table.value("heap", operation);
    if (!own || !heap || *own <= *heap * at_most_of_heap) return "";
    return fixed(*own / *heap, 2) + " x heap";
}

void print_titles(std::ostream& out, const row_table& table) {
    out << std::left << std::setw(operation_width) << "operation" << std::right;
    for (const std::string& engine : table.engines())
        out << std::setw(engine_width) << engine;
    out << std::setw(goal_width) << "goal" << "  chainbase\n";
}

} // namespace

nlohmann::ordered_json rows_to_json(const std::vector<row>& rows) {
    auto result = nlohmann::ordered_json::array();
    for (const row& each : rows)
        result.push_back({{"engine", each.engine},
                          {"operation", each.operation},
                          {"metric", name_of(each.unit)},
                          {"value", each.value},
                          {"samples", each.samples}});
    return result;
}

std::string in_words(const nlohmann::json& machine) {
    return machine.value("cpu", "") + ", " + machine.value("compiler", "") + ", " +
           machine.value("file_system", "");
}

nlohmann::ordered_json to_json(const report& result) {
    return {{"bench", result.bench},     {"machine", result.machine},
            {"objects", result.objects}, {"types", result.types},
            {"rounds", result.rounds},   {"rows", rows_to_json(result.rows)}};
}

void print_table(std::ostream& out, const report& result) {
    out << result.bench << ": " << result.objects << " objects, " << result.types
        << " types, medians of " << result.rounds << " rounds; " << in_words(result.machine) << "\n"
        << "ns per operation, bytes where the name says so; in brackets the ratio to classical\n\n";
    print_rows(out, result.rows);
}

void print_rows(std::ostream& out, const std::vector<row>& rows) {
    const row_table table(rows);
    print_titles(out, table);
    for (const std::string& operation : table.operations()) {
        out << std::left << std::setw(operation_width) << operation << std::right;
        for (const std::string& engine : table.engines())
            out << std::setw(engine_width) << cell(table, engine, operation);
        out << std::setw(goal_width) << goal_text(operation) << "  " << verdict(table, operation)
            << ' ' << heap_text(table, operation) << "\n";
    }
}

} // namespace chainbase::bench

#include <pool_allocator/base/error.hpp>
#include <tools/bench/measurements.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iterator>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>

namespace chainbase::bench {

namespace {

/// The upper limit of a row of `chainbase`: a ratio to a row of `classical`, or an absolute figure
/// in the row's unit.
struct goal {
    std::string_view operation;
    double at_most;
    /// The row of `classical` that `at_most` refers to; empty for an absolute goal.
    std::string_view reference;
};

constexpr goal goals[] = {
    {"find_by_id", 0.1, "find_by_id"},
    {"find_by_name", 0.7, "find_by_name"},
    {"find_by_name_hashed", 0.1, "find_by_name"},
    {"create", 0.7, "create"},
    {"modify", 0.2, "modify"},
    {"modify_key", 0.7, "modify_key"},
    {"remove", 0.5, "remove"},
    {"session_create", 0.6, "session_create"},
    {"session_modify", 0.1, "session_modify"},
    {"session_modify_key", 0.5, "session_modify_key"},
    {"session_remove", 0.25, "session_remove"},
    {"undo_create", 0.15, "undo_create"},
    {"undo_modify", 0.03, "undo_modify"},
    {"undo_modify_key", 0.06, "undo_modify_key"},
    {"undo_remove", 0.04, "undo_remove"},
    {"session_3_undo", 0.06, "session_3_undo"},
    {"session_3_squash", 0.06, "session_3_squash"},
    {"session_3_commit", 0.06, "session_3_commit"},
    {"empty_session", 20, ""},
    {"squash", 200, ""},
    {"commit_call", 200, ""},
    {"object_bytes", 104, ""},
    {"undo_bytes_modify", 88, ""},
    {"object_bytes_after_third_removed", 158, ""},
    {"object_bytes_after_compact", 110, ""},
    {"replay", 0.5, "replay"},
    {"replay_waiting", 0.05, ""},
    {"sync_to_replay", 1.08, ""},
    {"live_block", 0.2, "live_block"},
    {"reopen_after_kill", 50e6, ""},
    {"open_clean", 100e6, ""},
    {"barrier_cold", 0.05, ""},
    {"barrier_hot", 0.1, ""},
    {"checkpoint_pause_per_100_mib", 5e6, ""},
    {"checkpoint_bytes_to_dirty", 2, ""},
    {"restore_per_gib", 1e9, ""},
    {"replay_to_kept", 1.05, ""},
    {"memory_to_kept", 0.15, ""},
    {"find_warm", 3000, ""},
    {"find_by_id_warm", 3000, ""},
    {"find_nowhere", 1000, ""},
    {"find_by_id_cold_blocks", 1, ""},
    {"find_cold_blocks", 1, ""},
    {"block_to_alone_attached", 1.05, ""},
    {"block_to_alone_pausing", 1.05, ""},
    {"disk_to_encoded", 0.7, ""},
    {"inner_node_ratio", 0.26, ""},
    {"bytes_per_object", 65, ""},
    {"update_50000_two_threads", 40e6, ""}, // among 10 M
    {"proof_bytes", 700, ""},               // of 1 M
    {"verify", 3'000, ""},
    {"replay_with_root_to_without", 1.25, ""},
    {"short_replay_to_memory", 1 / 0.3, ""},
};

/// The upper limit of any row of `chainbase`, relative to the same row of `heap`.
constexpr double at_most_of_heap = 1.3;

/// The goal of an operation of a bench, if it has one.
std::optional<goal> goal_of(std::string_view operation) noexcept {
    const auto found = std::find_if(std::begin(goals), std::end(goals),
                                    [&](const goal& each) { return each.operation == operation; });
    if (found == std::end(goals)) return std::nullopt;
    return *found;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    if (values.size() % 2 != 0) return values[middle];
    return (values[middle - 1] + values[middle]) / 2;
}

} // namespace

void measurements::add(std::string_view operation, metric unit, double sample) {
    if (!std::isfinite(sample) || sample < 0 ||
        (sample == 0 && (unit == metric::ns || unit == metric::ratio)))
        throw error("bench: " + engine_ + " " + std::string(operation) + " measured " +
                    std::to_string(sample) + ", which is impossible; correct the engine's adapter");
    const auto [at, is_new] =
        position_.try_emplace({engine_, std::string(operation)}, rows_.size());
    if (is_new) rows_.push_back({engine_, std::string(operation), unit, 0, {}});
    rows_[at->second].samples.push_back(sample);
}

std::vector<row> measurements::rows() const {
    std::vector<row> result = rows_;
    for (row& each : result)
        each.value = median(each.samples);
    return result;
}

namespace {

constexpr int operation_width = 34;
constexpr int engine_width = 18;
constexpr int goal_width = 12;

std::string fixed(double value, int digits) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
}

/// Three significant digits below 10, one decimal below 1000.
std::string figure(double value) {
    if (value >= 1000) return fixed(value, 0);
    if (value >= 10 || value <= 0) return fixed(value, 1);
    return fixed(value, std::min(2 - static_cast<int>(std::floor(std::log10(value))), 9));
}

std::string bracketed(double ratio) {
    return std::string(" (").append(fixed(ratio, 2)).append(")");
}

/// The report's rows as a table, with names in order of appearance.
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

/// The row of `classical` to which an operation's ratio refers.
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

/// Empty for a goal that refers to an engine without such a row.
std::string goal_text(const row_table& table, const std::string& operation) {
    const auto aim = goal_of(operation);
    if (!aim) return "";
    if (!aim->reference.empty() && !table.value("classical", aim->reference)) return "";
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

/// "1.42 x heap" where chainbase exceeds the limit relative to the heap; not for bytes.
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

void print_rows(std::ostream& out, const std::vector<row>& rows) {
    const row_table table(rows);
    print_titles(out, table);
    for (const std::string& operation : table.operations()) {
        out << std::left << std::setw(operation_width) << operation << std::right;
        for (const std::string& engine : table.engines())
            out << std::setw(engine_width) << cell(table, engine, operation);
        out << std::setw(goal_width) << goal_text(table, operation) << "  "
            << verdict(table, operation) << ' ' << heap_text(table, operation) << "\n";
    }
}

} // namespace chainbase::bench

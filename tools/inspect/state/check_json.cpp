#include <tools/inspect/state/check.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

template <typename Value>
json or_null(const std::optional<Value>& value) {
    return value ? json(*value) : json(nullptr);
}

json to_json(const check::finding& one) {
    return {{"file", one.file},
            {"offset", or_null(one.offset)},
            {"slot", or_null(one.slot)},
            {"object", or_null(one.object)},
            {"what", one.what}};
}

json to_json(const check::part_report& part) {
    json figures = json::object();
    for (const auto& figure : part.figures)
        figures[figure.what] = figure.number;
    json findings = json::array();
    for (const check::finding& one : part.findings)
        findings.push_back(to_json(one));
    json parts = json::array();
    for (const check::part_report& inner : part.parts)
        parts.push_back(to_json(inner));
    return {{"name", part.name},        {"type", part.type},    {"key", part.key},
            {"found", part.found},      {"findings", findings}, {"not_checked", part.not_checked},
            {"refused", part.refused},  {"figures", figures},   {"seconds", part.seconds},
            {"parts", std::move(parts)}};
}

json to_json(const check::checked_publication& one) {
    return {{"generation", one.generation},
            {"revision", one.revision},
            {"irreversible_revision", one.irreversible_revision},
            {"time", one.time},
            {"pages", one.pages},
            {"standing", to_string(one.standing)}};
}

json to_json(const check::survivors& one) {
    return {{"type", one.type},
            {"objects", one.is_known ? json(one.objects) : json(nullptr)},
            {"whole", one.is_known ? json(one.whole) : json(nullptr)}};
}

/// What a restore would take; null if it has nothing to take.
json restored(const check::checked_checkpoints& all) {
    const check::checked_publication* best = all.restorable();
    return best ? json(best->generation) : json(nullptr);
}

json publications_of(const check::checked_checkpoints& all) {
    json publications = json::array();
    for (const check::checked_publication& one : all.publications)
        publications.push_back(to_json(one));
    return publications;
}

/// Whether all that was looked at is as the engine leaves it.
json verdict_json(const check::part_report& report) {
    const std::vector<std::string> refused = report.refused_in_all();
    const std::uint64_t found = report.found_in_all();
    return {{"sound", found == 0 && refused.empty()},
            {"found", found},
            {"not_checked", report.not_checked_in_all()},
            {"refused", refused}};
}

/// Where the state stands, as far as its log could be read.
void describe_log(json& to, const check::state_check& state) {
    const check::log_facts& log = state.log();
    const auto known = [&](const json& value) { return log.is_known ? value : json(nullptr); };
    to["revision"] = known(log.revision);
    to["irreversible_revision"] = known(log.irreversible_revision);
    to["sessions"] = known(log.sessions);
    to["rolled_back"] = known({{"operation", log.operation}, {"sessions", log.undone}});
}

} // namespace

std::string as_json(const check::state_check& state) {
    json survived = json::array();
    for (const check::survivors& each : state.survived())
        survived.push_back(to_json(each));
    json parts = json::array();
    for (const check::part_report& part : state.report().parts)
        parts.push_back(to_json(part));
    json all = {{"schema_version", 1}, {"state", state.state().string()}};
    all.update(verdict_json(state.report()));
    all["condition"] = to_string(state.condition());
    describe_log(all, state);
    if (state.checkpoints()) {
        all["restorable"] = restored(*state.checkpoints());
        all["publications"] = publications_of(*state.checkpoints());
        all["blocks"] = state.checkpoints()->blocks;
    }
    all["survived"] = std::move(survived);
    all["parts"] = std::move(parts);
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string as_json(const std::string& state, const check::checked_checkpoints& checkpoints) {
    json all = {{"schema_version", 1}, {"state", state}};
    all.update(verdict_json(checkpoints.report));
    all["restorable"] = restored(checkpoints);
    all["publications"] = publications_of(checkpoints);
    all["blocks"] = checkpoints.blocks;
    all["parts"] = json::array({to_json(checkpoints.report)});
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace chainbase::inspect

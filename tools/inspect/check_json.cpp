#include <tools/inspect/check.hpp>

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
    return {{"name", part.name},   {"type", part.type},       {"key", part.key},
            {"found", part.found}, {"findings", findings},    {"not_checked", part.not_checked},
            {"figures", figures},  {"seconds", part.seconds}, {"parts", std::move(parts)}};
}

json to_json(const check::checked_publication& one) {
    return {{"generation", one.generation},
            {"revision", one.revision},
            {"irreversible_revision", one.irreversible_revision},
            {"time", one.time},
            {"pages", one.pages},
            {"standing", to_string(one.standing)}};
}

} // namespace

std::string as_json(const check::state_check& state) {
    json survived = json::array();
    for (const check::survivors& each : state.survived())
        survived.push_back({{"type", each.type}, {"objects", each.objects}, {"whole", each.whole}});
    json parts = json::array();
    for (const check::part_report& part : state.report().parts)
        parts.push_back(to_json(part));
    const std::uint64_t found = state.report().found_in_all();
    const json all = {
        {"state", state.state().string()},
        {"sound", found == 0},
        {"found", found},
        {"condition", to_string(state.condition())},
        {"revision", state.log().revision},
        {"irreversible_revision", state.log().irreversible_revision},
        {"sessions", state.log().sessions},
        {"rolled_back", {{"operation", state.log().operation}, {"sessions", state.log().undone}}},
        {"survived", std::move(survived)},
        {"parts", std::move(parts)},
    };
    return all.dump(1) + "\n";
}

std::string as_json(const std::string& state, const check::checked_checkpoints& checkpoints) {
    json publications = json::array();
    for (const check::checked_publication& one : checkpoints.publications)
        publications.push_back(to_json(one));
    const check::checked_publication* best = checkpoints.restorable();
    const std::uint64_t found = checkpoints.report.found_in_all();
    const json all = {
        {"state", state},
        {"sound", found == 0},
        {"found", found},
        {"restorable", best ? json(best->generation) : json(nullptr)},
        {"publications", std::move(publications)},
        {"blocks", checkpoints.blocks},
        {"parts", json::array({to_json(checkpoints.report)})},
    };
    return all.dump(1) + "\n";
}

} // namespace chainbase::inspect

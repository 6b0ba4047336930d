#include <pool_allocator/error.hpp>

#include <tests/inspect/check_support.hpp>

#include <stdexcept>

namespace chainbase::test {

namespace {

void collect(const check::part_report& from, std::vector<found_damage>& into) {
    for (const check::finding& one : from.findings)
        into.push_back({from.name, from.type, one});
    for (const check::part_report& part : from.parts)
        collect(part, into);
}

} // namespace

std::vector<found_damage> all_findings(const check::part_report& report) {
    std::vector<found_damage> all;
    collect(report, all);
    return all;
}

std::string text_of(const std::vector<found_damage>& findings) {
    std::string text;
    for (const found_damage& one : findings)
        text += one.type + " " + one.part + ": " + one.what.file + " at " +
                std::to_string(one.what.offset.value_or(0)) + ": " + one.what.what + "\n";
    return text;
}

const check::part_report& part_of(const check::part_report& report, const std::string& type,
                                  const std::string& name) {
    for (const check::part_report& part : report.parts) {
        if (part.name == name && part.type == type) return part;
        if (part.name != type || type.empty()) continue;
        for (const check::part_report& inner : part.parts)
            if (inner.name == name) return inner;
    }
    throw std::runtime_error("no part " + type + " " + name);
}

std::uint64_t figure_of(const check::part_report& part, const std::string& what) {
    for (const auto& figure : part.figures)
        if (figure.what == what) return figure.number;
    throw std::runtime_error("part " + part.name + " has no figure " + what);
}

} // namespace chainbase::test

#pragma once

#include <chainbase/check/state_check.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::test {

/// A finding, and the part it was found in.
struct found_damage {
    std::string part;
    std::string type;
    check::finding what;
};

/// All findings of a report, those within parts, too.
[[nodiscard]] std::vector<found_damage> all_findings(const check::part_report& report);
/// One a line.
[[nodiscard]] std::string text_of(const std::vector<found_damage>& findings);
/// The part of this name within that of a type, or at the top; throws without one.
[[nodiscard]] const check::part_report& part_of(const check::part_report& report,
                                                const std::string& type, const std::string& name);
[[nodiscard]] std::uint64_t figure_of(const check::part_report& part, const std::string& what);

} // namespace chainbase::test

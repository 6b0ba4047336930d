#pragma once

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace chainbase::test {

/// The values of a text of JSON lines. Throws when one is none.
[[nodiscard]] inline std::vector<nlohmann::json> json_lines_of(const std::string& text) {
    std::vector<nlohmann::json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(nlohmann::json::parse(line));
    return lines;
}

} // namespace chainbase::test

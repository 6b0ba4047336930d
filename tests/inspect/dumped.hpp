#pragma once

#include <catch2/catch.hpp>
#include <tests/inspect/program.hpp>
#include <tests/support/scratch_state.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace chainbase::test {

/// A dump of the state "from", of which `load` makes the state "to".
struct dumped {
    [[nodiscard]] std::string path(const char* name) const { return (folder / name).string(); }

    /// Dumps the state "from" to the file "dump".
    void dump() const {
        REQUIRE(inspect_with("dump " + path("from") + " --output " + path("dump")).code == 0);
    }
    [[nodiscard]] outcome load(const std::string& rest = "") const {
        return inspect_with("load " + path("to") + " " + path("dump") + " " + rest + " 2>&1");
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        std::ifstream in(path("dump"));
        std::vector<std::string> all;
        for (std::string line; std::getline(in, line);)
            all.push_back(line);
        return all;
    }
    void write(const std::vector<std::string>& lines) const {
        std::ofstream out(path("dump"), std::ios::trunc);
        for (const std::string& line : lines)
            out << line << '\n';
    }

    scratch_folder folder;
};

} // namespace chainbase::test

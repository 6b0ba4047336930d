#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace chainbase {

/// A verb of a program, or the program itself, with what follows it on the command line.
struct described_verb {
    struct option {
        std::vector<std::string> names; ///< "--json", "-v"; none of a positional
        std::string value;              ///< what follows it, or what it is: "DIR"; empty of a flag
        std::string description;
        bool is_required = false;
    };

    std::vector<std::string> path; ///< "block-log", "verify"; empty: the program
    std::string description;
    std::vector<option> positionals;
    std::vector<option> options;
    std::vector<described_verb> verbs; ///< below it

    [[nodiscard]] std::string name() const { return path.empty() ? "" : path.back(); }

    [[nodiscard]] static described_verb of(const CLI::App& app);

    /// Calls visit(verb) for it and all below it.
    template <typename Visitor>
    void each(Visitor&& visit) const {
        visit(*this);
        for (const described_verb& one : verbs)
            one.each(visit);
    }
};

} // namespace chainbase

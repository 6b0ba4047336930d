#include <tools/inspect/stat.hpp>

#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>

namespace chainbase::inspect {

namespace {

struct call {
    std::string state;
    bool json = false;
};

/// Beside a writer no sample may have been possible; of a state at rest the sums must hold.
bool is_damaged(const state_report& report) {
    return report.condition == condition::closed && !report.consistent;
}

int run(const call& asked) {
    const state_report state = read_state(asked.state);
    const std::optional<archive_report> archive = read_archive(asked.state);
    const std::string text = asked.json ? as_json(state, archive) : as_text(state, archive);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!is_damaged(state)) return 0;
    spdlog::error("{}: the state is closed, and what it counts is not what its files hold",
                  asked.state);
    return 1;
}

} // namespace

void add_stat(CLI::App& program, int& exit_code) {
    const auto asked = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand("stat", "What is in a state, and where its bytes are");
    verb->add_option("DIR", asked->state, "The folder of the state")->required();
    verb->add_flag("--json", asked->json, "Print one JSON object instead of tables");
    verb->callback([asked, &exit_code] { exit_code = run(*asked); });
}

std::string to_string(condition what) {
    switch (what) {
    case condition::closed:
        return "closed";
    case condition::writer_running:
        return "writer_running";
    case condition::writer_died:
        return "writer_died";
    }
    return "unknown";
}

} // namespace chainbase::inspect

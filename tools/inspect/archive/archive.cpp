#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <memory>

namespace chainbase::inspect {

namespace {

struct call {
    std::string state;
    bool records = false;
    bool json = false;
};

exit_code run(const call& asked) {
    const archive_contents found = read_archive_contents(asked.state, asked.records);
    print_or_throw(asked.json ? as_json(found) : as_text(found));
    for (const std::string& finding : found.findings)
        spdlog::error("{}: {}", found.folder.string(), finding);
    if (!found.findings.empty()) return exit_code::damaged;
    if (!found.refusal.empty()) spdlog::error(found.refusal);
    if (!found.state_refusal.empty()) spdlog::error(found.state_refusal);
    return found.refusal.empty() && found.state_refusal.empty() ? exit_code::done
                                                                : exit_code::failed;
}

} // namespace

void declare_archive(command& verb) {
    const auto asked = std::make_shared<call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("--records", asked->records,
                  "Read every row, for the exact bytes of the records");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of tables");
    verb.runs([asked] { return look_at(asked->state, [&] { return run(*asked); }); });
}

} // namespace chainbase::inspect

#include <tools/driver/progress.hpp>
#include <tools/driver/sync/sync.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace chainbase::driver {

using json = nlohmann::ordered_json;

std::string to_json(const sync_report& report) {
    const json state = json::parse(to_json(report.state));
    json all{{"mode", "sync"}};
    for (const auto& [name, value] : state.items()) {
        if (name == "objects")
            all["sync"] = {{"forks", report.chain.forks},
                           {"switches", report.chain.switches},
                           {"popped_blocks", report.chain.popped},
                           {"rejected_blocks", report.chain.rejected},
                           {"useless_blocks", report.chain.useless},
                           {"connections", report.source.connections},
                           {"failures", report.source.failures},
                           {"bytes_received", report.source.bytes}};
        all[name] = value;
    }
    return all.dump();
}

std::string to_text(const sync_report& report) {
    return to_text(report.state) +
           fmt::format("forks: {}, switches to another branch: {}, blocks popped: {}, rejected: "
                       "{}, useless: {}\n"
                       "received: {} in {} connections, {} failures\n",
                       report.chain.forks, report.chain.switches, report.chain.popped,
                       report.chain.rejected, report.chain.useless,
                       bytes_in_words(report.source.bytes), report.source.connections,
                       report.source.failures);
}

} // namespace chainbase::driver

#include <tools/driver/sync/sync.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::driver {

using json = nlohmann::ordered_json;

std::string to_json(const sync_report& report) {
    const json state = json::parse(to_json(report.state));
    json all{{"mode", "sync"}};
    for (const auto& [name, value] : state.items()) {
        if (name == "objects") all["sync"] = to_object(report.followed);
        all[name] = value;
    }
    return all.dump();
}

std::string to_text(const sync_report& report) {
    return to_text(report.state) + in_words(report.followed);
}

} // namespace chainbase::driver

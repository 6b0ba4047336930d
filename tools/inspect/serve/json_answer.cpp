#include <tools/inspect/serve/json_answer.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace chainbase::inspect {

http_answer json_answer(std::string object, unsigned status) {
    return {status, "application/json", std::move(object), {}};
}

http_answer json_error(unsigned status, const std::string& message) {
    using json = nlohmann::ordered_json;
    const json all = {{"schema_version", 1}, {"error", message}};
    return json_answer(all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", status);
}

} // namespace chainbase::inspect

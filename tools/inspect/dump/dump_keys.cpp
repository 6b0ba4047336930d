#include <tools/inspect/dump/dump_keys.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;
using bulk_load::key_orders;

constexpr std::size_t ids_in_line = 10'000;

using write_line = std::function<void(std::string_view)>;

void write(const std::string& name, const std::vector<std::uint32_t>& ids, const write_line& to) {
    std::size_t at = 0;
    do {
        const std::size_t end = std::min(ids.size(), at + ids_in_line);
        const auto part = [&](std::size_t n) {
            return ids.begin() + static_cast<std::ptrdiff_t>(n);
        };
        to(json{{"key", name}, {"ids", std::vector<std::uint32_t>(part(at), part(end))}}.dump());
        at = end;
    } while (at < ids.size());
}

void write(const std::string& name, const std::vector<key_orders::entry>& entries,
           const write_line& to) {
    std::size_t at = 0;
    do {
        json line{{"key", name},
                  {"ids", json::array()},
                  {"hashes", json::array()},
                  {"follows", json::array()}};
        for (std::size_t n = 0; n < ids_in_line && at < entries.size(); ++n, ++at) {
            line["ids"].push_back(entries[at].id);
            line["hashes"].push_back(entries[at].hash);
            line["follows"].push_back(entries[at].has_key_of_previous);
        }
        to(line.dump());
    } while (at < entries.size());
}

} // namespace

std::string computed_keys(const type_schema& schema) {
    std::string names;
    for (const type_schema::key& key : schema.keys)
        if (bulk_load::is_computed(schema, key)) names += (names.empty() ? "" : ", ") + key.name;
    return names;
}

void write_orders(const std::string& type, const key_orders& orders, const write_line& to) {
    for (const auto& [key, ids] : orders.trees)
        write(type + "." + key, ids, to);
    for (const auto& [key, entries] : orders.tables)
        write(type + "." + key, entries, to);
}

} // namespace chainbase::inspect

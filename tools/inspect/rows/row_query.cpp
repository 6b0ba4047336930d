#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_reader.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace chainbase::inspect {

namespace {

using words = std::vector<std::string>;

std::unique_ptr<rows::row_cursor> cursor_by_id(const row_query& query) {
    const words& from = query.only.empty() ? query.from : query.only;
    const words& to = query.only.empty() ? query.to : query.only;
    return std::make_unique<rows::id_cursor>(from.empty() ? 0 : id_of(from),
                                             to.empty() ? UINT32_MAX : id_of(to), query.is_reverse);
}

/// The narrower bound: the common prefix comes first.
std::optional<rows::probe> bound(const rows::type_rows& of, const type_schema::key& key,
                                 const words& only, const words& given) {
    words parts = only;
    parts.insert(parts.end(), given.begin(), given.end());
    if (parts.empty()) return std::nullopt;
    return probe_of(of.schema(), key, parts, of.buffers());
}

std::unique_ptr<rows::row_cursor> cursor_by_key(const rows::type_rows& of, const row_query& query) {
    const type_schema::key& key = of.key_called(query.key);
    if (!of.tree(key))
        throw usage_error(fmt::format("{}.{} is {}: it has no order; use get, or another key",
                                      query.type, key.name, key.kind));
    return std::make_unique<rows::key_cursor>(
        key, rows::key_cursor::bounds{bound(of, key, query.only, query.from),
                                      bound(of, key, query.only, query.to), query.is_reverse});
}

std::vector<slot_number> slots_of(const rows::type_rows& of, const std::string& name,
                                  const words& parts, bool& is_unique) {
    is_unique = name == "id";
    if (is_unique) {
        const slot_number slot = of.slots().slot_of(id_of(parts));
        return slot == 0 ? std::vector<slot_number>() : std::vector<slot_number>{slot};
    }
    const type_schema::key& key = of.key_called(name);
    is_unique = key.kind.find("non_unique") == std::string::npos;
    if (parts.size() < key.parts.size())
        throw usage_error(fmt::format(
            "{}.{} has {} part{}, {} {} given{}", of.schema().name, name, key.parts.size(),
            key.parts.size() == 1 ? "" : "s", parts.size(), parts.size() == 1 ? "was" : "were",
            of.tree(key) ? "; for all that begin with them, use range" : ""));
    return of.find(key, probe_of(of.schema(), key, parts, of.buffers()));
}

} // namespace

std::uint32_t id_of(const words& parts) {
    std::uint32_t id = 0;
    const std::string& word = parts.front();
    const char* const end = word.data() + word.size();
    const auto [stop, problem] = std::from_chars(word.data(), end, id);
    if (parts.size() != 1 || problem != std::errc() || stop != end)
        throw usage_error("\"" + word + "\" is not an id, which is a whole number below 2^32");
    return id;
}

std::unique_ptr<rows::row_cursor> row_query::cursor(row_source& in) const {
    std::unique_ptr<rows::row_cursor> made;
    in.take_turn([&] {
        const rows::type_rows of = in.of(type);
        made = key == "id" ? cursor_by_id(*this) : cursor_by_key(of, *this);
    });
    return made;
}

found_rows find_rows(row_source& in, const std::string& type, const std::string& key,
                     const words& parts) {
    found_rows found;
    in.take_turn([&] {
        const rows::type_rows of = in.of(type);
        found.rows.clear();
        found.format.emplace(of.schema());
        found.revision = in.revision();
        for (const slot_number slot : slots_of(of, key, parts, found.is_unique))
            found.rows.push_back({of.slots().id(slot), false,
                                  found.format->text_of(of.slots().value(slot), of.buffers())});
    });
    return found;
}

} // namespace chainbase::inspect

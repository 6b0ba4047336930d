#include <chainbase/object/schema.hpp>
#include <pool_allocator/base/error.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>

namespace chainbase {

std::string detail::name_of_type(std::string_view function) {
    constexpr std::string_view before = "Type = ";
    const std::size_t begin = function.find(before) + before.size();
    return std::string(function.substr(begin, function.size() - 1 - begin));
}

namespace {

std::string text_of(const type_schema::key& key) {
    std::string text = key.kind + "(";
    for (const type_schema::part& part : key.parts)
        text += (text.back() == '(' ? "" : ", ") + part.field + (part.descending ? " desc" : "");
    return text + ")";
}

std::string text_of(const type_schema::field& field) {
    return field.type + " at offset " + std::to_string(field.offset);
}

template <typename Items>
std::string first_difference(const char* what, const Items& here, const Items& there) {
    for (std::size_t i = 0; i < std::max(here.size(), there.size()); ++i) {
        if (i >= here.size()) return std::string(what) + " " + there[i].name + ": only there";
        if (i >= there.size()) return std::string(what) + " " + here[i].name + ": only here";
        if (here[i] == there[i]) continue;
        if (here[i].name != there[i].name)
            return std::string(what) + " " + std::to_string(i) + ": " + there[i].name + " there, " +
                   here[i].name + " here";
        return std::string(what) + " " + here[i].name + ": " + text_of(there[i]) + " there, " +
               text_of(here[i]) + " here";
    }
    return {};
}

} // namespace

std::uint32_t type_schema::btrees() const {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(keys, [](const key& one) { return one.kind.starts_with("btree"); }));
}

std::vector<std::string> type_schema::files() const {
    std::vector<std::string> all{name + ".objects", name + ".ids"};
    for (std::uint32_t t = 0; t < tables && t < keys.size(); ++t)
        all.push_back(name + "." + std::to_string(t) + ".hash");
    for (std::uint32_t t = 0; t < btrees(); ++t)
        all.push_back(name + "." + std::to_string(t) + ".btree");
    return all;
}

bool operator==(const type_schema::field& a, const type_schema::field& b) {
    const auto is_same = [](const std::string& x, const std::string& y) {
        return x == y || (x == "bytes<16>" && (y == "i128" || y == "u128"));
    };
    return a.name == b.name && a.offset == b.offset && a.bytes == b.bytes &&
           (is_same(a.type, b.type) || is_same(b.type, a.type));
}

std::uint64_t type_schema::hash() const {
    std::string text = name + "/" + std::to_string(value_bytes) + "/" + std::to_string(node_bytes) +
                       "/" + std::to_string(link_bytes) + "/" + std::to_string(value_offset) + "/" +
                       std::to_string(root_bytes) + "/" + std::to_string(tables);
    for (const field& f : fields)
        text += "|" + f.name + ":" + text_of(f) + ":" + std::to_string(f.bytes);
    for (const key& k : keys)
        text += "|" + k.name + ":" + text_of(k);
    return XXH3_64bits(text.data(), text.size());
}

std::string type_schema::difference(const type_schema& other) const {
    if (*this == other) return {};
    if (auto found = first_difference("field", fields, other.fields); !found.empty()) return found;
    if (auto found = first_difference("key", keys, other.keys); !found.empty()) return found;
    return "size: value " + std::to_string(other.value_bytes) + ", node " +
           std::to_string(other.node_bytes) + ", root " + std::to_string(other.root_bytes) +
           " bytes there; " + std::to_string(value_bytes) + ", " + std::to_string(node_bytes) +
           ", " + std::to_string(root_bytes) + " here";
}

void detail::throw_other_order(const std::string& type, const char* member) {
    throw usage_error(type + ": the member `" + member +
                      "` is not described in its turn; describe the members in the order of their "
                      "declaration (BOOST_DESCRIBE_STRUCT)");
}

} // namespace chainbase

#include <pool_allocator/base/error.hpp>
#include <tools/chains/codec.hpp>
#include <tools/chains/operation_json.hpp>
#include <tools/chains/operations.hpp>

#include <boost/type_index.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace chainbase {

namespace codec {
namespace {

/// The name of a type without its namespaces: "vote".
template <class T>
[[nodiscard]] const std::string& short_name() {
    static const std::string name = [] {
        const std::string whole = boost::typeindex::type_id<T>().pretty_name();
        return whole.substr(whole.rfind(':') + 1);
    }();
    return name;
}

/// Numbers as numbers, texts as texts, bytes in hex, a described struct as an object of its
/// members, a variant as such an object with the name of its alternative in front, as "kind".
template <class T>
[[nodiscard]] nlohmann::ordered_json to_json(const T& value) {
    if constexpr (std::integral<T>) {
        return value;
    } else if constexpr (is_fixed_string<T>) {
        return text_to_json(value.view());
    } else if constexpr (std::same_as<T, std::string>) {
        return text_to_json(value);
    } else if constexpr (std::same_as<T, bytes>) {
        return to_hex(value);
    } else if constexpr (is_variant<T>) {
        return std::visit(
            []<class Held>(const Held& held) {
                nlohmann::ordered_json object{{"kind", short_name<Held>()}};
                object.update(to_json(held));
                return object;
            },
            value);
    } else {
        nlohmann::ordered_json object = nlohmann::ordered_json::object();
        boost::mp11::mp_for_each<members<T>>(
            [&](auto member) { object[member.name] = to_json(value.*member.pointer); });
        return object;
    }
}

} // namespace
} // namespace codec

namespace {

struct chain_operations {
    std::string_view name;
    nlohmann::ordered_json (*to_json)(byte_view);
    void (*require)(byte_view);
};

template <auto Decode>
constexpr chain_operations of(std::string_view chain) {
    return {chain, [](byte_view raw) { return codec::to_json(Decode(raw)); },
            [](byte_view raw) { (void)Decode(raw); }};
}

/// One line for each chain; new kinds of operations need no change here.
constexpr std::array all_operations{
    of<social::decode_operation>(social::chain_name),
    of<social::decode_operation>(social::generated_chain_name),
    of<swap::decode_operation>(swap::chain_name),
    of<payments::decode_operation>(payments::chain_name),
};
static_assert(std::ranges::equal(all_operations, chain_names, {}, &chain_operations::name));

const chain_operations* operations_of(std::string_view chain) noexcept {
    const auto* const known = std::ranges::find(all_operations, chain, &chain_operations::name);
    return known == all_operations.end() ? nullptr : known;
}

} // namespace

std::string codec::to_hex(byte_view raw) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * raw.size());
    for (const std::byte one : raw) {
        text += digits[std::to_integer<unsigned>(one >> 4)];
        text += digits[std::to_integer<unsigned>(one & std::byte(15))];
    }
    return text;
}

nlohmann::ordered_json codec::text_to_json(std::string_view text) {
    nlohmann::ordered_json as_text(text);
    try {
        (void)as_text.dump(); // the library's own look at the encoding
        return as_text;
    } catch (const nlohmann::json::type_error&) {
        return {{"hex", to_hex(bytes_of(text))}};
    }
}

bool knows_operations_of(std::string_view chain) noexcept {
    return operations_of(chain) != nullptr;
}

nlohmann::ordered_json operation_to_json(std::string_view chain, byte_view operation) {
    const chain_operations* const known = operations_of(chain);
    if (known == nullptr) return {{"hex", codec::to_hex(operation)}};
    return known->to_json(operation);
}

void require_operation(std::string_view chain, byte_view operation) {
    if (const chain_operations* const known = operations_of(chain)) known->require(operation);
}

} // namespace chainbase

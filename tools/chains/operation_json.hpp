#pragma once

#include <tools/chains/codec.hpp>

#include <boost/type_index.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/// Operations for people and scripts: described structs as JSON, member by member. The same
/// description as the codec's, so that an operation that can be stored can be shown.
namespace chainbase {

namespace codec {

/// The name of a type without its namespaces: "vote".
template <class T>
[[nodiscard]] const std::string& short_name() {
    static const std::string name = [] {
        const std::string whole = boost::typeindex::type_id<T>().pretty_name();
        return whole.substr(whole.rfind(':') + 1);
    }();
    return name;
}

[[nodiscard]] std::string to_hex(byte_view raw);

/// The text, or {"hex": ...} when it is no UTF-8, which JSON could not carry unchanged.
[[nodiscard]] nlohmann::ordered_json text_to_json(std::string_view text);

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

} // namespace codec

/// Whether the operations of the chain that a block log names are known here.
[[nodiscard]] bool knows_operations_of(std::string_view chain) noexcept;

/// An operation of `chain` with its kind and members; {"hex": ...} when the chain is unknown.
/// Throws damaged_error with the byte offset when a known chain's operation does not decode.
[[nodiscard]] nlohmann::ordered_json operation_to_json(std::string_view chain, byte_view operation);

/// Throws the same for an operation that does not decode, and nothing for an unknown chain.
void require_operation(std::string_view chain, byte_view operation);

} // namespace chainbase

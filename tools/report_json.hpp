#pragma once

#include <pool_allocator/buffer_layout.hpp>
#include <tools/print.hpp>

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>

/// Converts reports to JSON. Include it in sources only: it includes all of nlohmann-json. A report
/// is a struct described with Boost.Describe; its members have the JSON's names.
namespace chainbase {

using json = nlohmann::ordered_json;

/// The JSON of a report or a part of one. A type without a rule below has its own
/// `report_value(const T&)`, found by argument-dependent lookup; it returns a type that has a rule.
///
/// - described structs: objects, members in the order of their description, base classes first; of
///   a member function without arguments its result
/// - numbers, bools, texts: themselves; paths and enumerators with `to_string`: texts
/// - durations: seconds
/// - optionals: their value, or null
/// - ranges of pairs whose first is a text: objects; other ranges: arrays
template <typename T>
[[nodiscard]] json json_of(const T& value);

/// On one line, without a newline. Invalid UTF-8 bytes become U+FFFD.
[[nodiscard]] inline std::string line_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// For people and diffs: indented by `indent`, with a newline at the end.
[[nodiscard]] inline std::string lines_of(const json& value, int indent = 1) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

/// As lines_of(), with further members at the end whose values are JSON text already: parsing them
/// could change their numbers. Requires that the object has members.
[[nodiscard]] inline std::string
line_with(const json& object, std::initializer_list<std::pair<const char*, std::string>> more) {
    std::string text = line_of(object);
    text.pop_back();
    for (const auto& [name, value] : more)
        text.append(",\"").append(name).append("\":").append(value);
    return text + "}";
}

/// null for an empty text.
[[nodiscard]] inline json text_or_null(const std::string& text) {
    return text.empty() ? json(nullptr) : json(text);
}

namespace detail {

template <typename T>
concept has_report_value = requires(const T& value) { report_value(value); };
template <typename T>
concept is_duration = requires { typename T::period; } &&
                      std::is_same_v<T, std::chrono::duration<typename T::rep, typename T::period>>;
template <typename T>
concept is_named_pair = requires(const T& pair) {
    std::string(pair.first);
    pair.second;
};

template <typename T>
void add_members(json& to, const T& from) {
    using namespace boost::describe;
    boost::mp11::mp_for_each<describe_bases<T, mod_public>>([&](auto base) {
        add_members(to, static_cast<const typename decltype(base)::type&>(from));
    });
    boost::mp11::mp_for_each<describe_members<T, mod_public | mod_any_member>>([&](auto member) {
        if constexpr (std::is_member_function_pointer_v<decltype(member.pointer)>)
            to[member.name] = json_of((from.*member.pointer)());
        else
            to[member.name] = json_of(from.*member.pointer);
    });
}

template <typename T>
json range_json(const T& from) {
    if constexpr (is_named_pair<std::ranges::range_value_t<T>>) {
        json all = json::object();
        for (const auto& [name, value] : from)
            all[std::string(name)] = json_of(value);
        return all;
    } else {
        json all = json::array();
        for (const auto& each : from)
            all.push_back(json_of(each));
        return all;
    }
}

} // namespace detail

/// The described members of a struct, for a report_value() that adds more.
template <typename T>
[[nodiscard]] json members_of(const T& value) {
    json all = json::object();
    detail::add_members(all, value);
    return all;
}

template <typename T>
json json_of(const T& value) {
    if constexpr (detail::has_report_value<T>)
        return json_of(report_value(value));
    else if constexpr (std::is_same_v<T, json> || std::is_arithmetic_v<T>)
        return value;
    else if constexpr (std::is_same_v<T, std::filesystem::path>)
        return value.string();
    else if constexpr (requires { std::string(value); })
        return std::string(value);
    else if constexpr (std::is_enum_v<T>)
        return std::string(to_string(value));
    else if constexpr (detail::is_duration<T>)
        return std::chrono::duration<double>(value).count();
    else if constexpr (requires {
                           value.has_value();
                           *value;
                       })
        return value ? json_of(*value) : json(nullptr);
    else if constexpr (detail::is_described<T>)
        return members_of(value);
    else
        return detail::range_json(value);
}

/// Prints a report as text, to_text(report), or as one line of JSON.
template <typename Report>
void print_report(const Report& report, bool as_json) {
    print_or_throw(as_json ? line_of(json_of(report)) + "\n" : to_text(report));
}

} // namespace chainbase

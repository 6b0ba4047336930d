#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace boost::json {
class value;
}

/// The JSON of the engine's own files. When memory is short every function throws std::bad_alloc
/// and nothing else; reading or destroying a value copies nothing.
namespace chainbase {

/// Describes what is wrong with a text, or with a value in it, and where in the text; it does not
/// name the file.
struct json_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A value of a JSON text. Copies refer to the same value; the whole text lives as long as one of
/// them.
class json_value {
public:
    /// Strings may contain bytes that are not UTF-8, as file names do. Of members with the same
    /// name the last one counts. Throws json_error with the offset.
    [[nodiscard]] static json_value parse(std::string_view text);

    /// @name Each throws json_error when the value is no such thing
    /// @{
    [[nodiscard]] json_value at(std::string_view member) const;
    [[nodiscard]] bool has(std::string_view member) const;
    [[nodiscard]] std::vector<json_value> elements() const;
    [[nodiscard]] std::vector<std::pair<std::string, json_value>> members() const;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool truth() const;
    template <std::integral T>
    [[nodiscard]] T number() const {
        if constexpr (std::unsigned_integral<T>)
            return static_cast<T>(natural(std::numeric_limits<T>::max()));
        else
            return static_cast<T>(
                integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
    /// @}
    /// For messages.
    [[nodiscard]] std::string serialized() const;

private:
    json_value(std::shared_ptr<const boost::json::value> whole, const boost::json::value& at,
               std::string where)
        : whole_(std::move(whole)), at_(&at), where_(std::move(where)) {}

    [[noreturn]] void refuse(const std::string& wanted) const;
    [[nodiscard]] std::uint64_t natural(std::uint64_t most) const;
    [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;

    std::shared_ptr<const boost::json::value> whole_;
    const boost::json::value* at_;
    std::string where_; ///< "types[3].name"
};

/// @name Values as JSON
/// @{
/// Quoted; bytes that are not UTF-8 are kept.
[[nodiscard]] std::string to_json(std::string_view text);
[[nodiscard]] inline std::string to_json(const char* text) {
    return to_json(std::string_view(text));
}
[[nodiscard]] inline std::string to_json(const std::string& text) {
    return to_json(std::string_view(text));
}
/// null for infinity and NaN.
[[nodiscard]] std::string to_json(double number);
[[nodiscard]] inline std::string to_json(bool truth) {
    return truth ? "true" : "false";
}
template <std::integral T>
[[nodiscard]] std::string to_json(T number) {
    return std::to_string(number);
}
/// @}

/// `text` with U+FFFD in place of each byte that is not UTF-8, for other programs.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// An object, member by member.
class json_object {
public:
    /// `for_people`: with spaces.
    explicit json_object(bool for_people = false)
        : comma_(for_people ? ", " : ","), colon_(for_people ? ": " : ":") {}
    template <typename T>
    json_object& add(std::string_view name, const T& value) {
        return add_json(name, to_json(value));
    }
    /// `json`: a value as JSON.
    json_object& add_json(std::string_view name, std::string_view json);
    [[nodiscard]] std::string text() const { return members_ + "}"; }

private:
    const char* comma_;
    const char* colon_;
    std::string members_ = "{";
};

/// An array of the JSON values that `element` returns for each of `all`. With `line`, the beginning
/// of a line, each value is on a line of its own, for people.
template <typename Range, typename Element>
[[nodiscard]] std::string json_array(const Range& all, Element&& element,
                                     std::string_view line = {}) {
    std::string text = "[";
    bool is_first = true;
    for (const auto& one : all) {
        if (!is_first) text += ',';
        is_first = false;
        text += line;
        text += element(one);
    }
    return text += ']';
}

} // namespace chainbase

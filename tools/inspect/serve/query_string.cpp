#include <pool_allocator/error.hpp>
#include <tools/digits.hpp>
#include <tools/inspect/serve/query_string.hpp>

#include <charconv>

namespace chainbase::inspect {

namespace {

constexpr std::size_t most_values = 64;

unsigned char byte_of(std::string_view two) {
    unsigned char byte = 0;
    const auto [end, failed] = std::from_chars(two.data(), two.data() + two.size(), byte, 16);
    if (two.size() != 2 || failed != std::errc() || end != two.data() + two.size())
        throw usage_error("the query has \"%" + std::string(two) +
                          "\"; write a '%' and two hexadecimal digits for a byte");
    return byte;
}

std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i] == '+' ? ' ' : text[i];
            continue;
        }
        plain += static_cast<char>(byte_of(text.substr(i + 1, 2)));
        i += 2;
    }
    return plain;
}

} // namespace

query_string::query_string(std::string_view encoded) {
    while (!encoded.empty()) {
        const std::size_t end = encoded.find('&');
        const std::string_view one = encoded.substr(0, end);
        encoded.remove_prefix(end == std::string_view::npos ? encoded.size() : end + 1);
        const std::size_t equals = one.find('=');
        if (values_.size() == most_values)
            throw usage_error("the query has more than " + std::to_string(most_values) + " values");
        if (!one.empty())
            values_.emplace_back(
                decoded(one.substr(0, equals)),
                equals == std::string_view::npos ? std::string() : decoded(one.substr(equals + 1)));
    }
}

std::optional<std::string> query_string::value(std::string_view name) const {
    for (const auto& [known, value] : values_)
        if (known == name) return value;
    return std::nullopt;
}

std::vector<std::string> query_string::values(std::string_view name) const {
    std::vector<std::string> found;
    for (const auto& [known, value] : values_)
        if (known == name) found.push_back(value);
    return found;
}

std::uint64_t query_string::number(std::string_view name, std::uint64_t otherwise,
                                   std::uint64_t most) const {
    const std::optional<std::string> text = value(name);
    if (!text) return otherwise;
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (!is_digits(*text) || failed != std::errc() || number > most)
        throw usage_error("\"" + std::string(name) + "\" is to be a number from 0 to " +
                          std::to_string(most));
    return number;
}

} // namespace chainbase::inspect

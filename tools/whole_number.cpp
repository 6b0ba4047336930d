#include <tools/digits.hpp>
#include <tools/whole_number.hpp>

#include <charconv>
#include <string>

namespace chainbase {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
    const std::string range = "from " + std::to_string(least) + " to " + std::to_string(most);
    const auto check = [=](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (!is_digits(text) || error != std::errc() || value < least || value > most)
            return "\"" + text + "\" is no whole number " + range;
        text = std::to_string(value); // without leading zeros, which would make it octal
        return {};
    };
    return {check, "NUMBER " + range, "whole_number"};
}

} // namespace chainbase

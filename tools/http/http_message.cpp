#include <tools/http/http_message.hpp>

#include <algorithm>

namespace chainbase {

namespace {

/// Of ASCII only, whatever the locale.
char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_same_name(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

} // namespace

std::string_view http_request::path() const noexcept {
    const std::string_view all = target;
    return all.substr(0, all.find('?'));
}

std::string_view http_request::query() const noexcept {
    const std::size_t mark = target.find('?');
    return mark == std::string::npos ? std::string_view()
                                     : std::string_view(target).substr(mark + 1);
}

std::vector<std::string_view> http_request::values(std::string_view name) const {
    std::vector<std::string_view> found;
    for (const auto& [field, value] : fields)
        if (is_same_name(field, name)) found.push_back(value);
    return found;
}

} // namespace chainbase

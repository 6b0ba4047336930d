#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/endpoint_name.hpp>

namespace chainbase {

endpoint_name parse_endpoint(const std::string& text) {
    const auto wrong = [&] {
        return usage_error("\"" + text +
                           "\" is not an address; write HOST:PORT, such as 127.0.0.1:4000, "
                           "[::1]:4000, or :4000 for the loopback");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) throw wrong();
    endpoint_name name{text.substr(0, colon), text.substr(colon + 1)};
    if (!is_digits(name.port) || name.port.size() > 5 || std::stoul(name.port) > 65535)
        throw wrong();
    if (name.host.empty()) {
        name.host = "127.0.0.1";
        return name;
    }
    const bool in_brackets = name.host.front() == '[' && name.host.back() == ']';
    if (in_brackets) name.host = name.host.substr(1, name.host.size() - 2);
    const bool is_v6 = name.host.find(':') != std::string::npos;
    if (name.host.empty() || is_v6 != in_brackets) throw wrong();
    return name;
}

std::string in_words(const endpoint_name& name) {
    const bool is_v6 = name.host.find(':') != std::string::npos;
    return (is_v6 ? "[" + name.host + "]:" : name.host + ":") + name.port;
}

} // namespace chainbase

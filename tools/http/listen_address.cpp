#include <pool_allocator/error.hpp>
#include <tools/endpoint_name.hpp>
#include <tools/http/listen_address.hpp>

#include <boost/asio/ip/address.hpp>

namespace chainbase {

namespace ip = boost::asio::ip;

listen_address listen_address::parse(const std::string& text) {
    const endpoint_name named = parse_endpoint(text);
    boost::system::error_code failed;
    static_cast<void>(ip::make_address(named.host, failed));
    if (failed)
        throw usage_error("\"" + text +
                          "\" is no address to listen at: the host is to be a "
                          "number, such as 127.0.0.1 or [::1]");
    return {named.host, static_cast<std::uint16_t>(std::stoul(named.port))};
}

bool listen_address::is_loopback() const {
    return ip::make_address(host).is_loopback();
}

bool listen_address::is_any() const {
    return ip::make_address(host).is_unspecified();
}

std::string listen_address::text() const {
    return in_words(endpoint_name{host, std::to_string(port)});
}

} // namespace chainbase

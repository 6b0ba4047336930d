#pragma once

#include <pool_allocator/error.hpp>

#include <string>

namespace chainbase::driver {

/// What a peer does wrong, or cannot do. Costs it the connection.
class peer_error : public error {
public:
    /// What to expect of trying it again.
    enum class severity {
        transient, ///< it may be there again: cut, slow, busy
        fault,     ///< it breaks the protocol, or its blocks break rules
        lasting,   ///< another chain, another version: no use in trying again
    };

    peer_error(severity how, const std::string& what) : error(what), how_(how) {}

    [[nodiscard]] severity how() const noexcept { return how_; }

private:
    severity how_;
};

} // namespace chainbase::driver

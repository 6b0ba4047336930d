#include <archive/state_digest.hpp>

namespace chainbase::archive {

void state_digest::add(const std::string& name, const sha256_digest& type) {
    if (!types_.emplace(name, type).second)
        throw usage_error("state digest: the type \"" + name + "\" was added already");
}

std::string state_digest::hex() const {
    sha256 all;
    for (const auto& [name, type] : types_) {
        byte_buffer part(sizeof(std::uint32_t));
        detail::store_little(part.data(), static_cast<std::uint32_t>(name.size()));
        append(part, as_bytes(name));
        append(part, type);
        all.add(part);
    }
    return chainbase::hex(all.finish());
}

} // namespace chainbase::archive

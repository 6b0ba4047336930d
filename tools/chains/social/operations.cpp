#include <tools/chains/codec.hpp>
#include <tools/chains/social/operations.hpp>

namespace chainbase::social {

bytes encode(const operation& value) {
    return codec::encode(value);
}

operation decode_operation(byte_view encoded) {
    return codec::decode<operation>(encoded, "social operation");
}

} // namespace chainbase::social

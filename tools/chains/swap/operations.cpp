#include <tools/chains/codec.hpp>
#include <tools/chains/swap/operations.hpp>

namespace chainbase::swap {

bytes encode(const operation& value) {
    return codec::encode(value);
}

operation decode_operation(byte_view encoded) {
    return codec::decode<operation>(encoded, "swap operation");
}

} // namespace chainbase::swap

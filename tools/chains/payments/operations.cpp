#include <tools/chains/codec.hpp>
#include <tools/chains/payments/operations.hpp>

namespace chainbase::payments {

bytes encode(const operation& value) {
    return codec::encode(value);
}

operation decode_operation(byte_view encoded) {
    return codec::decode<operation>(encoded, "payments operation");
}

} // namespace chainbase::payments

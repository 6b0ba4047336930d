#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<marker>(const database&, const rows<marker>&, const std::vector<marker>&) {
    // no keys
}

template <>
std::unique_ptr<modelled_type> model_of<marker>() {
    return std::make_unique<typed_model<marker>>();
}

} // namespace chainbase::test

#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<marker>([[maybe_unused]] const database& db,
                        [[maybe_unused]] const rows<marker>& all,
                        [[maybe_unused]] const std::vector<marker>& probes) {
    // no keys
}

template <>
std::unique_ptr<modelled_type> model_of<marker>() {
    return std::make_unique<typed_model<marker>>();
}

} // namespace chainbase::test

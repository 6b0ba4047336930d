#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<label>(const database& db, const rows<label>& all,
                       const std::vector<label>& probes) {
    check_hashed<by_text>(
        db, all, probes,
        [](const label& a, const label& b) { return a.text.view() == b.text.view(); },
        [](const label& a, auto f) { f(a.text.view()); });
}

template <>
std::unique_ptr<modelled_type> model_of<label>() {
    return std::make_unique<typed_model<label>>();
}

} // namespace chainbase::test

#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<token>(const database& db, const rows<token>& all,
                       const std::vector<token>& probes) {
    check_hashed<by_code>(
        db, all, probes, [](const token& a, const token& b) { return a.code == b.code; },
        [](const token& a, auto f) { f(a.code); });
    check_hashed<by_kind>(
        db, all, probes, [](const token& a, const token& b) { return a.kind == b.kind; },
        [](const token& a, auto f) { f(a.kind); });
}

template <>
std::unique_ptr<modelled_type> model_of<token>() {
    return std::make_unique<typed_model<token>>();
}

} // namespace chainbase::test

#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<stake>(const database& db, const rows<stake>& all,
                       const std::vector<stake>& probes) {
    check_ordered<by_score>(
        db, all, probes,
        [](const stake& a, const stake& b) {
            return a.score != b.score ? a.score > b.score : a.owner < b.owner;
        },
        [](const stake& a, auto f) { f(a.score, a.owner); });
    check_ordered<by_weight>(
        db, all, probes, [](const stake& a, const stake& b) { return a.weight < b.weight; },
        [](const stake& a, auto f) { f(a.weight); });
    check_hashed<by_owner>(
        db, all, probes, [](const stake& a, const stake& b) { return a.owner == b.owner; },
        [](const stake& a, auto f) { f(a.owner); });
}

template <>
std::unique_ptr<modelled_type> model_of<stake>() {
    return std::make_unique<typed_model<stake>>();
}

} // namespace chainbase::test

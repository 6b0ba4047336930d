#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<account>([[maybe_unused]] const database& db,
                         [[maybe_unused]] const rows<account>& all,
                         [[maybe_unused]] const std::vector<account>& probes) {
    check_ordered<by_name>(
        db, all, probes,
        [](const account& a, const account& b) { return a.name.view() < b.name.view(); },
        [](const account& a, auto f) { f(a.name); });
    check_ordered<by_balance>(
        db, all, probes,
        [](const account& a, const account& b) {
            return a.balance != b.balance ? a.balance > b.balance : a.id.value < b.id.value;
        },
        [](const account& a, auto f) { f(a.balance, a.id); });
    check_ordered<by_group>(
        db, all, probes, [](const account& a, const account& b) { return a.group < b.group; },
        [](const account& a, auto f) { f(a.group); });
    check_hashed<by_number>(
        db, all, probes, [](const account& a, const account& b) { return a.number == b.number; },
        [](const account& a, auto f) { f(a.number); });
}

template <>
std::unique_ptr<modelled_type> model_of<account>() {
    return std::make_unique<typed_model<account>>();
}

} // namespace chainbase::test

#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<account>(const database& db, const rows<account>& all,
                         const std::vector<account>& probes) {
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
    check_ordered<by_distance>(
        db, all, probes,
        [](const account& a, const account& b) {
            const auto from_nothing = [](std::int64_t n) { return n < 0 ? -n : n; };
            const std::int64_t x = from_nothing(a.balance);
            const std::int64_t y = from_nothing(b.balance);
            return x != y ? x > y : a.group < b.group;
        },
        [](const account& a, auto f) { f(a.distance(), a.group); });
}

template <>
std::unique_ptr<modelled_type> model_of<account>() {
    return std::make_unique<typed_model<account>>();
}

} // namespace chainbase::test

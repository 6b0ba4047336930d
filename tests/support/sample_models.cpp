#include <tests/support/typed_model.hpp>

namespace chainbase::test {

// --- account ---

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

// --- post ---

template <>
void check_keys<post>(const database& db, const rows<post>& all, const std::vector<post>& probes) {
    check_ordered<by_link>(
        db, all, probes,
        [](const post& a, const post& b) {
            if (a.author.view() != b.author.view()) return a.author.view() < b.author.view();
            return a.permlink.view() < b.permlink.view();
        },
        [](const post& a, auto f) { f(a.author.view(), a.permlink.view()); });
    check_hashed<by_address>(
        db, all, probes,
        [](const post& a, const post& b) {
            return a.author.view() == b.author.view() && a.permlink.view() == b.permlink.view();
        },
        [](const post& a, auto f) { f(a.permlink.view(), a.author.view()); });
    check_hashed<by_author>(
        db, all, probes,
        [](const post& a, const post& b) { return a.author.view() == b.author.view(); },
        [](const post& a, auto f) { f(a.author.view()); });
    check_ordered<by_body>(
        db, all, probes, [](const post& a, const post& b) { return a.body.view() < b.body.view(); },
        [](const post& a, auto f) { f(a.body.view()); });
}

// --- stake ---

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

// --- marker ---

template <>
void check_keys<marker>(const database&, const rows<marker>&, const std::vector<marker>&) {
    // no keys
}

// --- token ---

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

// --- label ---

template <>
void check_keys<label>(const database& db, const rows<label>& all,
                       const std::vector<label>& probes) {
    check_hashed<by_text>(
        db, all, probes,
        [](const label& a, const label& b) { return a.text.view() == b.text.view(); },
        [](const label& a, auto f) { f(a.text.view()); });
}

std::vector<std::unique_ptr<modelled_type>> all_sample_types() {
    std::vector<std::unique_ptr<modelled_type>> all;
    all.push_back(std::make_unique<typed_model<account>>());
    all.push_back(std::make_unique<typed_model<post>>());
    all.push_back(std::make_unique<typed_model<stake>>());
    all.push_back(std::make_unique<typed_model<marker>>());
    all.push_back(std::make_unique<typed_model<token>>());
    all.push_back(std::make_unique<typed_model<label>>());
    return all;
}

} // namespace chainbase::test

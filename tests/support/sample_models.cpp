#include <tests/support/typed_model.hpp>

namespace chainbase::test {

template <>
void check_keys<account>(const database& db, const rows<account>& all,
                         const std::vector<account>& probes) {
    check_ordered<by_name>(
        db, all, probes, [](const account& a) { return std::tuple(a.name); },
        [](const account& a) { return a.name.view(); });
    check_ordered<by_balance>(
        db, all, probes, [](const account& a) { return std::tuple(a.balance, a.id); },
        [](const account& a) { return std::pair(-a.balance, a.id.value); });
    check_ordered<by_group>(db, all, probes, [](const account& a) { return std::tuple(a.group); });
    check_hashed<by_number>(db, all, probes, [](const account& a) { return std::tuple(a.number); });
    check_ordered<by_distance>(
        db, all, probes, [](const account& a) { return std::tuple(a.distance(), a.group); },
        [](const account& a) {
            return std::pair(a.balance < 0 ? a.balance : -a.balance, a.group);
        });
}

template <>
void check_keys<post>(const database& db, const rows<post>& all, const std::vector<post>& probes) {
    check_ordered<by_link>(db, all, probes, [](const post& a) {
        return std::tuple(a.author.view(), a.permlink.view());
    });
    check_hashed<by_address>(db, all, probes, [](const post& a) {
        return std::tuple(a.permlink.view(), a.author.view());
    });
    check_hashed<by_author>(db, all, probes,
                            [](const post& a) { return std::tuple(a.author.view()); });
    check_ordered<by_body>(db, all, probes,
                           [](const post& a) { return std::tuple(a.body.view()); });
}

template <>
void check_keys<stake>(const database& db, const rows<stake>& all,
                       const std::vector<stake>& probes) {
    check_ordered<by_score>(
        db, all, probes, [](const stake& a) { return std::tuple(a.score, a.owner); },
        [](const stake& a) { return std::pair(-a.score, a.owner); });
    check_ordered<by_weight>(db, all, probes, [](const stake& a) { return std::tuple(a.weight); });
    check_hashed<by_owner>(db, all, probes, [](const stake& a) { return std::tuple(a.owner); });
}

template <>
void check_keys<marker>(const database&, const rows<marker>&, const std::vector<marker>&) {
    // no keys
}

template <>
void check_keys<token>(const database& db, const rows<token>& all,
                       const std::vector<token>& probes) {
    check_hashed<by_code>(db, all, probes, [](const token& a) { return std::tuple(a.code); });
    check_hashed<by_kind>(db, all, probes, [](const token& a) { return std::tuple(a.kind); });
}

template <>
void check_keys<label>(const database& db, const rows<label>& all,
                       const std::vector<label>& probes) {
    check_hashed<by_text>(db, all, probes,
                          [](const label& a) { return std::tuple(a.text.view()); });
}

template <>
void check_keys<holding>(const database& db, const rows<holding>& all,
                         const std::vector<holding>& probes) {
    check_ordered<by_symbol>(
        db, all, probes, [](const holding& a) { return std::tuple(a.symbol); },
        [](const holding& a) { return a.symbol.view(); });
    check_ordered<by_holder>(db, all, probes,
                             [](const holding& a) { return std::tuple(a.holder); });
    check_ordered<by_amount>(
        db, all, probes, [](const holding& a) { return std::tuple(a.amount, a.id); },
        [](const holding& a) { return std::pair(-a.amount, a.id.value); });
    check_ordered<by_holding>(
        db, all, probes, [](const holding& a) { return std::tuple(a.symbol, a.holder); },
        [](const holding& a) { return std::pair(a.symbol.view(), a.holder); });
    check_hashed<by_owner>(db, all, probes, [](const holding& a) { return std::tuple(a.holder); });
}

std::vector<std::unique_ptr<modelled_type>> all_sample_types() {
    std::vector<std::unique_ptr<modelled_type>> all;
    all.push_back(std::make_unique<typed_model<account>>());
    all.push_back(std::make_unique<typed_model<post>>());
    all.push_back(std::make_unique<typed_model<stake>>());
    all.push_back(std::make_unique<typed_model<marker>>());
    all.push_back(std::make_unique<typed_model<token>>());
    all.push_back(std::make_unique<typed_model<label>>());
    all.push_back(std::make_unique<typed_model<holding>>());
    return all;
}

} // namespace chainbase::test

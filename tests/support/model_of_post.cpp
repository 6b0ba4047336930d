#include <tests/support/typed_model.hpp>

namespace chainbase::test {

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

template <>
std::unique_ptr<modelled_type> model_of<post>() {
    return std::make_unique<typed_model<post>>();
}

} // namespace chainbase::test

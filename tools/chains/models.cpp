#include <archive/lifecycle.hpp>
#include <chainbase/database.hpp>
#include <chainbase/offline/migration.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/payments/rules.hpp>
#include <tools/chains/social/rules.hpp>
#include <tools/chains/swap/rules.hpp>

namespace chainbase {

namespace {

using social_rules = social::rules<database, archive::lifecycle<social::comment_object>>;

template <typename Rules>
void name_types_of(migration& to) {
    Rules::each_type([&]<typename T>(const char* name) { to.type<T>(name); });
}

} // namespace

std::unique_ptr<chain_model> payments::make_model(database& state) {
    return std::make_unique<rules<database>>(state);
}
void payments::name_types(migration& to) {
    name_types_of<rules<database>>(to);
}

std::unique_ptr<chain_model> swap::make_model(database& state) {
    return std::make_unique<rules<database>>(state);
}
void swap::name_types(migration& to) {
    name_types_of<rules<database>>(to);
}

std::unique_ptr<chain_model> social::make_model(database& state, archive::store& rows) {
    return std::make_unique<social_rules>(state, rows);
}
void social::name_types(migration& to) {
    name_types_of<social_rules>(to);
}

} // namespace chainbase

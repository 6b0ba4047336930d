#include <archive/lifecycle.hpp>
#include <chainbase/database.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/payments/rules.hpp>
#include <tools/chains/social/rules.hpp>
#include <tools/chains/swap/rules.hpp>

namespace chainbase {

std::unique_ptr<chain_model> payments::make_model(database& state) {
    return std::make_unique<rules<database>>(state);
}

std::unique_ptr<chain_model> swap::make_model(database& state) {
    return std::make_unique<rules<database>>(state);
}

std::unique_ptr<chain_model> social::make_model(database& state, archive::store& rows) {
    using comments = archive::lifecycle<comment_object>;
    return std::make_unique<rules<database, comments>>(state, rows);
}

} // namespace chainbase

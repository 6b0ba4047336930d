#include <chainbase/database.hpp>
#include <tools/chains/payments/model.hpp>
#include <tools/chains/payments/rules.hpp>

namespace chainbase::payments {

std::unique_ptr<chain_model> make_model(database& state) {
    return std::make_unique<rules<database>>(state);
}

} // namespace chainbase::payments

#include <chainbase/database.hpp>
#include <tools/chains/swap/model.hpp>
#include <tools/chains/swap/rules.hpp>

namespace chainbase::swap {

std::unique_ptr<chain_model> make_model(database& state) {
    return std::make_unique<rules<database>>(state);
}

} // namespace chainbase::swap

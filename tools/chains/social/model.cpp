#include <archive/lifecycle.hpp>
#include <chainbase/database.hpp>
#include <tools/chains/social/model.hpp>
#include <tools/chains/social/rules.hpp>

namespace chainbase::social {

std::unique_ptr<chain_model> make_model(database& state, archive::store& rows) {
    using comments = archive::lifecycle<comment_object>;
    return std::make_unique<rules<database, comments>>(state, rows);
}

} // namespace chainbase::social

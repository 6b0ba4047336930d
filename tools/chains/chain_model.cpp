#include <tools/chains/chain_model.hpp>
#include <tools/chains/lookahead.hpp>

namespace chainbase {

void apply_blocks(chain_model& model, run_of_blocks run, std::size_t& at,
                  const std::function<void(const decoded_block&)>& after_each) {
    lookahead ahead(model, run_cursor(run));
    for (at = 0; at < run.size(); ++at) {
        const decoded_block& one = *run[at];
        model.begin_block(one.number(), one.timestamp());
        for (std::size_t i = 0; i < one.transactions(); ++i) {
            ahead.step();
            model.apply(one, i);
        }
        model.end_block();
        if (after_each) after_each(one);
    }
}

} // namespace chainbase

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/disk_pages.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/decoded_block.hpp>
#include <tools/chains/operations.hpp>
#include <tools/chains/rules_of_chain.hpp>

#include <algorithm>
#include <array>

namespace chainbase {
namespace {

/// Typical bytes of a one-operation transaction in a block.
constexpr std::size_t typical_transaction = 16;

using model_maker = std::unique_ptr<chain_model> (*)(database&, archive::store&);

struct known_chain {
    std::string_view name;
    block_decoder decode;
    model_maker make_model;
    answerer answer;
    void (*name_types)(migration&);
};

template <typename Operation>
std::shared_ptr<const decoded_block> decode(byte_view encoded) {
    return std::make_shared<const operations_block<Operation>>(encoded);
}

template <std::unique_ptr<chain_model> (*make)(database&)>
std::unique_ptr<chain_model> without_archive(database& state, archive::store&) {
    return make(state);
}

constexpr std::array known_chains{
    known_chain{social::chain_name, decode<social::operation>, social::make_model, social::answer,
                social::name_types},
    known_chain{social::generated_chain_name, decode<social::operation>, social::make_model,
                social::answer, social::name_types},
    known_chain{swap::chain_name, decode<swap::operation>, without_archive<swap::make_model>,
                swap::answer, swap::name_types},
    known_chain{payments::chain_name, decode<payments::operation>,
                without_archive<payments::make_model>, payments::answer, payments::name_types},
};
static_assert(std::ranges::equal(known_chains, chain_names, {}, &known_chain::name));

const known_chain& find(std::string_view chain) {
    std::string names;
    for (const known_chain& one : known_chains) {
        if (one.name == chain) return one;
        names += (names.empty() ? "" : ", ") + std::string(one.name);
    }
    throw usage_error("there is no model for the chain \"" + std::string(chain) + "\", only for " +
                      names + "; use a block log of one of them");
}

} // namespace

std::size_t transactions_ahead_now() noexcept {
    constexpr std::size_t while_missed = 1024;
    return disk_pages::are_missed() ? while_missed : transactions_ahead;
}

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

void decoded_block::read(byte_view encoded) {
    checksum_ = chainbase::checksum(encoded);
    bytes_ = encoded.size();
    byte_reader reader(encoded, "a block");
    number_ = reader.unsigned_number();
    reader.rename("block " + std::to_string(number_));
    timestamp_ = reader.signed_number();
    if (timestamp_ > last_timestamp)
        reader.fail("time " + std::to_string(timestamp_) + " is after the year 9999");
    const std::size_t count = reader.count();
    const std::size_t likely = reader.likely(count, typical_transaction);
    parts_.reserve(likely);
    expect(likely); // most transactions have one operation
    for (std::size_t i = 0; i < count; ++i)
        read_transaction(reader);
    reader.finish();
    memory_ = bytes_ + parts_.capacity() * sizeof(part) + own_memory();
}

void decoded_block::read_transaction(byte_reader& reader) {
    const byte_view rest = reader.rest();
    const std::size_t count = reader.count();
    for (std::size_t i = 0; i < count; ++i)
        try_add(reader.byte_string(), i);
    const byte_view own = rest.first(rest.size() - reader.remaining());
    parts_.push_back({operations() + count, chainbase::checksum(own)});
}

void decoded_block::try_add(byte_view operation, std::size_t within) {
    if (malformed_) return;
    try {
        add(operation);
    } catch (const damaged_error& problem) {
        malformed_ = fault{parts_.size(), within, problem.what()};
    }
}

void require_known_chain(std::string_view chain) {
    static_cast<void>(find(chain));
}

block_decoder decoder_of(std::string_view chain) {
    return find(chain).decode;
}

void name_types(std::string_view chain, migration& to) {
    find(chain).name_types(to);
}

answerer answerer_of(std::string_view chain) {
    return find(chain).answer;
}

std::unique_ptr<chain_model> make_chain_model(std::string_view chain, database& state,
                                              archive::store& rows) {
    return find(chain).make_model(state, rows);
}

} // namespace chainbase

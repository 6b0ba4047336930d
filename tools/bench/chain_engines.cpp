#include <tools/bench/chain_engines.hpp>

namespace chainbase::bench {

namespace {

const chain_engine_entry every_chain_engine[] = {
    {"chainbase", make_chainbase_chain, true},
    {"classical", make_classical_chain, false},
    {"classical_hashed", make_classical_hashed_chain, false},
    {"chainbase_archive", make_archiving_chain, true},
};

} // namespace

std::span<const chain_engine_entry> chain_engines() noexcept {
    return every_chain_engine;
}

const chain_engine_entry* find_chain_engine(std::string_view name) noexcept {
    for (const chain_engine_entry& entry : every_chain_engine)
        if (entry.name == name) return &entry;
    return nullptr;
}

} // namespace chainbase::bench

#include <tools/bench/account_engines.hpp>
#include <tools/bench/baselines/baselines.hpp>
#include <tools/bench/engines/chainbase_engine.hpp>

namespace chainbase::bench {

namespace {

const account_engine_entry every_account_engine[] = {
    {"chainbase", make_chainbase_engine},
    {"classical", make_classical_engine},
    {"heap", make_heap_engine},
    {"offset_ptr_pool", make_offset_ptr_pool_engine},
    {"node_allocator", make_node_allocator_engine},
    {"adaptive_pool", make_adaptive_pool_engine},
    {"lmdb", make_lmdb_engine},
    {"rocksdb", make_rocksdb_engine},
};

} // namespace

std::span<const account_engine_entry> account_engines() noexcept {
    return every_account_engine;
}

const account_engine_entry* find_account_engine(std::string_view name) noexcept {
    for (const account_engine_entry& entry : every_account_engine)
        if (entry.name == name) return &entry;
    return nullptr;
}

} // namespace chainbase::bench

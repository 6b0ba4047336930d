#pragma once

#include <tools/bench/account_engine.hpp>

#include <memory>

/// One factory per engine that chainbase is compared with; what each stands for is in the README.
namespace chainbase::bench {

std::unique_ptr<account_engine> make_classical_engine();
std::unique_ptr<account_engine> make_heap_engine();
std::unique_ptr<account_engine> make_offset_ptr_pool_engine();
std::unique_ptr<account_engine> make_node_allocator_engine();
std::unique_ptr<account_engine> make_adaptive_pool_engine();
std::unique_ptr<account_engine> make_lmdb_engine();
std::unique_ptr<account_engine> make_rocksdb_engine();

} // namespace chainbase::bench

#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/baselines.hpp>
#include <tools/bench/baselines/segment_store.hpp>

#include <boost/interprocess/allocators/adaptive_pool.hpp>
#include <boost/interprocess/allocators/node_allocator.hpp>

namespace chainbase::bench {

std::unique_ptr<account_engine> make_adaptive_pool_engine() {
    // Version 1 of the allocator: the container takes nodes with allocate(1), which version 2
    // passes on to the segment's general heap, so that its pool would never be used.
    using allocator =
        boost::interprocess::ipcdetail::adaptive_pool_v1<account, mapped_segment::manager, 64, 2,
                                                         5>;
    return make_account_engine<segment_store<ordered_accounts<allocator>>>();
}

std::unique_ptr<account_engine> make_node_allocator_engine() {
    // Version 1 of the allocator: the container takes nodes with allocate(1), which version 2
    // passes on to the segment's general heap, so that its pool would never be used.
    using allocator =
        boost::interprocess::ipcdetail::node_allocator_v1<account, mapped_segment::manager, 64>;
    return make_account_engine<segment_store<ordered_accounts<allocator>>>();
}

} // namespace chainbase::bench

#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/account_table.hpp>
#include <tools/bench/baselines/baselines.hpp>
#include <tools/bench/baselines/counting_allocator.hpp>

namespace chainbase::bench {

namespace {

using heap_accounts = ordered_accounts<counting_allocator<account>>;
using hashed_name_accounts = hashed_accounts<counting_allocator<account>>;

/// The container on the heap, without undo: what an ordinary program would use.
class heap_store : public account_table<heap_accounts> {
public:
    class hashed : public account_table<hashed_name_accounts> {
    public:
        explicit hashed(const store_options&) : account_table(objects_) {}

    private:
        hashed_name_accounts objects_;
    };

    explicit heap_store(const store_options&) : account_table(objects_) {}

    [[nodiscard]] std::uint64_t held_bytes() const { return heap_bytes_held(); }

private:
    heap_accounts objects_;
};

} // namespace

std::unique_ptr<account_engine> make_heap_engine() {
    return make_account_engine<heap_store>();
}

} // namespace chainbase::bench

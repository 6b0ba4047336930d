#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/account_table.hpp>
#include <tools/bench/baselines/baselines.hpp>
#include <tools/bench/baselines/slot_pool.hpp>

namespace chainbase::bench {

namespace {

using pooled_accounts = ordered_accounts<slot_allocator<account>>;

/// The container in a pool of equal slots, its links Boost's own, as offset pointers.
class offset_ptr_pool_store : public account_table<pooled_accounts> {
public:
    explicit offset_ptr_pool_store(const store_options& options)
        : account_table(objects_),
          pool_(options.directory / "slots", most_bytes_per_object * (options.objects + 1)),
          objects_(pooled_accounts::ctor_args_list(), slot_allocator<account>(pool_)) {}

    [[nodiscard]] std::uint64_t held_bytes() const { return pool_.held_bytes(); }

private:
    static constexpr std::size_t most_bytes_per_object = 256;

    slot_pool pool_;
    pooled_accounts objects_;
};

} // namespace

std::unique_ptr<account_engine> make_offset_ptr_pool_engine() {
    return make_account_engine<offset_ptr_pool_store>();
}

} // namespace chainbase::bench

#include <pool_allocator/base/error.hpp>
#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/classical_database.hpp>
#include <tools/bench/baselines/segment_store.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/bench/chain_engine_over.hpp>
#include <tools/bench/engines/stored_account.hpp>
#include <tools/bench/engines/stored_bank.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace chainbase::bench {

namespace {

class classical_store : public stored_accounts<classical_database<>, ordered_account> {
public:
    using hashed = segment_store<hashed_accounts<shared_allocator<account>>>;

    explicit classical_store(const store_options& options)
        : stored_accounts(options.directory, mapped_segment::bytes_for(options)) {
        state_.add_type<ordered_account>("account");
        for (std::uint32_t i = 1; i < options.types; ++i)
            state_.add_idle_type<ordered_account>("idle_" + std::to_string(i));
    }

    [[nodiscard]] std::uint64_t held_bytes() const { return state_.held_bytes(); }
    [[nodiscard]] std::uint64_t undo_bytes() const { return state_.held_bytes(); }
};

/// The file system's free bytes, so that running out of space is an allocator exception before it
/// is a SIGBUS; limited to the most that a run takes.
std::size_t classical_segment_bytes(const std::filesystem::path& directory) {
    constexpr std::uintmax_t most = std::uintmax_t{64} << 30;
    constexpr std::uintmax_t page = 4096;
    return std::min(std::filesystem::space(directory).available / page * page, most);
}

/// A chain over a classical_database.
template <hashed_keys Hashed>
class classical_chain final : public chain_engine_over<classical_database<Hashed>> {
    using base = chain_engine_over<classical_database<Hashed>>;

public:
    classical_chain(std::string_view chain, const std::filesystem::path& directory)
        : base(directory, classical_segment_bytes(directory)) {
        this->set_model(make_rules(chain, this->state()));
    }

    [[nodiscard]] bool asks_ahead() const override { return false; }
    [[nodiscard]] std::uint64_t objects() const override { return this->state().total_count(); }
    [[nodiscard]] std::uint64_t held_bytes() const override { return this->state().held_bytes(); }
};

} // namespace

std::unique_ptr<account_engine> make_classical_engine() {
    return make_account_engine<classical_store>();
}

std::unique_ptr<bank_engine> open_bank_classical(const crash_places& at) {
    return std::make_unique<stored_bank<classical_database<hashed_keys::as_hashes>>>(
        at.memory, classical_segment_bytes(at.memory));
}

std::unique_ptr<chain_engine> make_classical_chain(std::string_view chain,
                                                   const std::filesystem::path& directory) {
    return std::make_unique<classical_chain<hashed_keys::as_trees>>(chain, directory);
}

std::unique_ptr<chain_engine> make_classical_hashed_chain(std::string_view chain,
                                                          const std::filesystem::path& directory) {
    return std::make_unique<classical_chain<hashed_keys::as_hashes>>(chain, directory);
}

} // namespace chainbase::bench

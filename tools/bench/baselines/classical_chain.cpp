#include <pool_allocator/error.hpp>
#include <tools/bench/baselines/classical_database.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/bench/chain_engine_over.hpp>

#include <filesystem>
#include <string_view>

namespace chainbase::bench {

/// The file system's free bytes, so that a full one is an exception of the allocator before it is a
/// SIGBUS; but no more than any run takes.
inline std::size_t classical_segment_bytes(const std::filesystem::path& directory) {
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

std::unique_ptr<chain_engine> make_classical_chain(std::string_view chain,
                                                   const std::filesystem::path& directory) {
    return std::make_unique<classical_chain<hashed_keys::as_trees>>(chain, directory);
}

std::unique_ptr<chain_engine> make_classical_hashed_chain(std::string_view chain,
                                                          const std::filesystem::path& directory) {
    return std::make_unique<classical_chain<hashed_keys::as_hashes>>(chain, directory);
}

} // namespace chainbase::bench

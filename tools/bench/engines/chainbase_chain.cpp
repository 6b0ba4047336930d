#include <archive/lifecycle.hpp>
#include <archive/open_archive.hpp>
#include <chainbase/database.hpp>
#include <chainbase/statistics.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/bench/chain_engine_over.hpp>
#include <tools/chains/chains.hpp>

namespace chainbase::bench {

namespace {

class chainbase_chain : public chain_engine_over<database> {
public:
    chainbase_chain(std::string_view chain, const std::filesystem::path& directory)
        : chainbase_chain(directory) {
        set_model(make_rules(chain, state()));
    }
    /// Its files are removed, so it writes nothing more.
    ~chainbase_chain() override {
        undo_open_sessions();
        state().abandon();
    }

    [[nodiscard]] bool asks_ahead() const override { return true; }
    [[nodiscard]] std::uint64_t objects() const override {
        std::uint64_t sum = 0;
        for (const type_statistics& type : state().statistics().types)
            sum += type.objects;
        return sum;
    }
    [[nodiscard]] std::uint64_t held_bytes() const override { return state().statistics().total; }

protected:
    explicit chainbase_chain(const std::filesystem::path& directory)
        : chain_engine_over(directory / "state", options_for_bench()) {}
};

/// As the driver runs it: finished objects move to RocksDB.
class archiving_chain final : public chainbase_chain {
public:
    archiving_chain(std::string_view chain, const std::filesystem::path& directory)
        : chainbase_chain(directory), rows_(archive::open_store(directory / "archive")) {
        set_model(make_chain_model(chain, state(), *rows_));
    }
    /// Destroys the model before its store.
    ~archiving_chain() override {
        undo_open_sessions();
        set_model(nullptr);
    }

private:
    std::unique_ptr<archive::store> rows_;
};

} // namespace

std::unique_ptr<chain_engine> make_chainbase_chain(std::string_view chain,
                                                   const std::filesystem::path& directory) {
    return std::make_unique<chainbase_chain>(chain, directory);
}

std::unique_ptr<chain_engine> make_archiving_chain(std::string_view chain,
                                                   const std::filesystem::path& directory) {
    return std::make_unique<archiving_chain>(chain, directory);
}

} // namespace chainbase::bench

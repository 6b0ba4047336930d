#pragma once

#include <tools/bench/account_engine.hpp>
#include <tools/bench/account_hashed_rows.hpp>
#include <tools/bench/account_plain_rows.hpp>
#include <tools/bench/account_session_rows.hpp>

#include <memory>

namespace chainbase::bench {

/// The workload of the account bench over one store. Instantiated in the engine's own translation
/// unit, so that the store's primitives are inlined into the timed loops.
template <account_store Store>
class account_workload final : public account_engine {
public:
    void measure_plain(const account_plan& plan, const store_options& options,
                       measurements& out) override {
        account_plain_rows<Store>(plan, options, out).run();
    }

    void measure_hashed(const account_plan& plan, const store_options& options,
                        measurements& out) override {
        if constexpr (has_hashed_variant<Store>)
            account_hashed_rows<typename Store::hashed>(plan, options, out).run();
    }

    void measure_sessions(const account_plan& plan, const store_options& options,
                          measurements& out) override {
        if constexpr (undo_store<Store>) account_session_rows<Store>(plan, options, out).run();
    }
};

template <account_store Store>
std::unique_ptr<account_engine> make_account_engine() {
    return std::make_unique<account_workload<Store>>();
}

} // namespace chainbase::bench

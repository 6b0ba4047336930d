#pragma once

#include <tools/bench/chain_engine.hpp>
#include <tools/bench/kept_objects.hpp>
#include <tools/chains/payments/rules.hpp>
#include <tools/chains/social/rules.hpp>
#include <tools/chains/swap/rules.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::bench {

/// The rules of a chain over any State, finished objects kept in memory.
template <typename State>
std::unique_ptr<chain_model> make_rules(std::string_view chain, State& state) {
    using comments =
        kept_objects<State, social::comment_object, &social::comment_object::last_payout>;
    if (chain == swap::chain_name) return std::make_unique<swap::rules<State>>(state);
    if (chain == payments::chain_name) return std::make_unique<payments::rules<State>>(state);
    return std::make_unique<social::rules<State, comments>>(state);
}

/// The part of a chain_engine that is the same over chainbase::database and classical_database:
/// the model and the guards of the sessions under way.
template <typename State>
class chain_engine_over : public chain_engine {
    using session = decltype(std::declval<State&>().start_session());

public:
    [[nodiscard]] chain_model& model() final { return *model_; }

    void start_session() final { open_.push_back(state_.start_session()); }
    void push() final {
        open_.back().push();
        open_.pop_back();
    }
    void undo() final {
        if (open_.empty()) return state_.undo();
        open_.back().undo();
        open_.pop_back();
    }
    void squash() final {
        open_.back().squash();
        open_.pop_back();
    }
    void commit(std::int64_t revision) final { state_.commit(revision); }
    [[nodiscard]] std::int64_t revision() const final { return state_.revision(); }

protected:
    template <typename... Arguments>
    explicit chain_engine_over(Arguments&&... arguments)
        : state_(std::forward<Arguments>(arguments)...) {}
    ~chain_engine_over() override { undo_open_sessions(); }
    void undo_open_sessions() {
        while (!open_.empty())
            open_.pop_back();
    }

    [[nodiscard]] State& state() noexcept { return state_; }
    [[nodiscard]] const State& state() const noexcept { return state_; }
    void set_model(std::unique_ptr<chain_model> model) { model_ = std::move(model); }

private:
    State state_;
    std::unique_ptr<chain_model> model_;
    std::vector<session> open_;
};

} // namespace chainbase::bench

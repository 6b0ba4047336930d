#pragma once

#include <archive/found.hpp>
#include <chainbase/keys.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/chains/payments/rules.hpp>
#include <tools/chains/social/rules.hpp>
#include <tools/chains/swap/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::bench {

/// Replaces archive::lifecycle in the rules of a chain and keeps the finished objects in memory:
/// for engines without an archive, and for comparison with the one that has it. An object is
/// finished when its member `Finished` is not 0.
///
/// The state's content and digest are the same as with an archive.
template <typename State, typename T, auto Finished>
class kept_objects {
public:
    using found = archive::found<T>;

    kept_objects(State& state, std::string name) : state_(state), name_(std::move(name)) {}

    void retire(const T&) const noexcept {}
    /// The rules ask about the object just found, which needs no second lookup.
    [[nodiscard]] bool is_retired(id<T> id) const {
        const T& object = last_ && last_->id == id ? *last_ : state_.get(id);
        return object.*Finished != 0;
    }
    template <typename Change>
    void modify(const T& object, Change&& change) {
        state_.modify(object, std::forward<Change>(change));
    }
    void remove(id<T> id) { state_.remove(state_.get(id)); }
    [[nodiscard]] std::size_t hand_over(std::int64_t, std::size_t) const noexcept { return 0; }
    [[nodiscard]] std::size_t hand_over_behind(std::int64_t, std::size_t) const noexcept {
        return 0;
    }

    [[nodiscard]] std::optional<found> find(id<T> id) const { return seen(state_.find(id)); }
    template <typename Tag, typename... V>
    [[nodiscard]] std::optional<found> find(const V&... values) const {
        return seen(state_.template find<T, Tag>(values...));
    }
    template <typename Visitor>
    void for_each(Visitor&& visit) const {
        for (const T& object : state_.template objects<T>())
            visit(found(object));
    }

    [[nodiscard]] std::uint64_t archived() const noexcept { return 0; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    std::optional<found> seen(const T* object) const {
        last_ = object;
        return object ? std::optional<found>(*object) : std::nullopt;
    }

    State& state_;
    std::string name_;
    /// The last result of find(); read only right after it, while it exists.
    mutable const T* last_ = nullptr;
};

/// The rules of a chain over any State, with finished objects in memory.
template <typename State>
std::unique_ptr<chain_model> make_rules(std::string_view chain, State& state) {
    using comments =
        kept_objects<State, social::comment_object, &social::comment_object::last_payout>;
    if (chain == swap::chain_name) return std::make_unique<swap::rules<State>>(state);
    if (chain == payments::chain_name) return std::make_unique<payments::rules<State>>(state);
    return std::make_unique<social::rules<State, comments>>(state);
}

/// The common part of chain engines over chainbase::database and classical_database: the model and
/// the guards of the open sessions.
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

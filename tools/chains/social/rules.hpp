#pragma once

#include <archive/found.hpp>
#include <chainbase/id.hpp>
#include <tools/chains/checked.hpp>
#include <tools/chains/rules_of_chain.hpp>
#include <tools/chains/social/objects.hpp>

#include <span>
#include <string>
#include <utility>

namespace chainbase::social {

/// The rules of README.md, in its order and under its numbers, over any engine that offers what
/// these two do:
///
///  - State: as database, the calls create, modify, get, find, view, objects, remove, add_type and
///    committed_revision;
///  - Comments: as archive::lifecycle of comment_object by by_permlink.
///
/// See chain_model; model.hpp makes the one over a chainbase state.
template <typename State, typename Comments>
class rules final : public rules_of_chain<rules<State, Comments>, State, operation, global_object> {
    using base = rules_of_chain<rules<State, Comments>, State, operation, global_object>;
    using base::global;
    using base::state_;
    using base::totals_;

public:
    using typename base::named_counts;

    /// Registers the types in `state`. `archive`: what Comments takes between the state and the
    /// name of the type.
    template <typename... Archive>
    explicit rules(State& state, Archive&&... archive)
        : base(add_types(state)), comments_(state, std::forward<Archive>(archive)..., "comment") {}

    void begin_block(std::uint64_t number, std::int64_t timestamp) override;

    [[nodiscard]] std::uint64_t answer(std::uint64_t question) const override;

    std::size_t hand_over(std::size_t limit) override {
        return comments_.hand_over(state_.committed_revision(), limit);
    }
    std::size_t hand_over_behind(std::size_t batch) override {
        return comments_.hand_over_behind(state_.committed_revision(), batch);
    }
    [[nodiscard]] named_counts archived() const override {
        return {{"comment", static_cast<std::int64_t>(comments_.archived())}};
    }
    [[nodiscard]] named_counts oracle() const override;
    void check() const override;
    [[nodiscard]] verification verify() const override;
    [[nodiscard]] std::string state_digest() const override;
    void commit_to(archive::committed_state& root) const override;

    /// The rules, one for each operation.
    /// @{
    void operator()(const account_create& op);
    void operator()(const comment& op);
    void operator()(const vote& op);
    void operator()(const custom& op);
    void operator()(const deposit& op);
    void operator()(const transfer& op);
    void operator()(const claim& op);
    void operator()(const comment_delete& op);
    /// @}

    /// See rules_of_chain.
    template <typename Visitor>
    void each_key(std::span<const operation> all, Visitor visit) const;

private:
    static State& add_types(State& state);
    void pay_due_comments();
    void pay(const comment_object& due);
    std::int64_t pay_curators(const comment_object& due);
    void credit(id<account_object> account, std::int64_t account_object::* kind,
                std::int64_t amount);

    void require_given_fits() const;

    [[nodiscard]] const account_object& account(const account_name& name) const {
        return state_.template get<account_object, by_name>(name);
    }
    void count(std::uint32_t account_object::* what, const account_object& in);
    [[nodiscard]] id<comment_object> answer_to(const comment& op);
    [[nodiscard]] std::uint64_t about_account(std::uint32_t number) const;
    [[nodiscard]] std::uint64_t about_comment(std::uint32_t number) const;
    [[nodiscard]] std::uint64_t about_cashouts(std::uint32_t number) const;
    [[nodiscard]] int128 sum_of_balances() const;
    void remove_votes(id<comment_object> on);
    void verify_comment(const archive::found<comment_object>& by_id, verification& all) const;

    Comments comments_;
};

} // namespace chainbase::social

#include <tools/chains/social/detail/rules.ipp>

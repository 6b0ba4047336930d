#pragma once

#include <archive/found.hpp>
#include <chainbase/keys.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace chainbase::bench {

/// Stands where archive::lifecycle does in the rules of a chain, and keeps the finished objects in
/// memory: for engines that have no archive, and for the one that has, beside them. Finished is
/// what `Finished`, a member, says: not 0.
///
/// The state's content is the same as with an archive, and so is its digest.
template <typename State, typename T, auto Finished>
class kept_objects {
public:
    using found = archive::found<T>;

    kept_objects(State& state, std::string name) : state_(state), name_(std::move(name)) {}

    void retire(const T&) const noexcept {}
    /// The rules ask about what they have just found, which takes no second lookup.
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
    /// What find() returned last; read only right after it, so that it is still there.
    mutable const T* last_ = nullptr;
};

} // namespace chainbase::bench

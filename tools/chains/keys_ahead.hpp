#pragma once

#include <chainbase/find_together.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace chainbase {

/// Keys that are going to be looked up, of any number of views. Looking all of them up together
/// brings their objects into the cache for the lookups that follow.
class keys_ahead {
    template <typename View, typename... Key>
    struct batch;

public:
    /// A key that was noted.
    template <typename View, typename... Key>
    class noted {
    public:
        noted(const batch<View, Key...>& of, std::size_t number) : of_(&of), number_(number) {}
        /// What look_up() found, until it is called again; null also for a view that cannot look
        /// up many.
        [[nodiscard]] auto found() const {
            return number_ < of_->found.size() ? of_->found[number_] : nullptr;
        }

    private:
        const batch<View, Key...>* of_;
        std::size_t number_;
    };

    /// Notes a key, by reference: its values outlive look_up().
    template <typename View, typename... Key>
    noted<View, Key...> add(const View& view, const Key&... key) {
        batch<View, Key...>& to = batch_of<View, Key...>(view);
        to.keys.emplace_back(key...);
        return {to, to.keys.size() - 1};
    }
    /// Looks up what is noted. Throws as View::find_many.
    void look_up() {
        for (const auto& one : batches_)
            one->look_up();
    }

private:
    struct any_batch {
        explicit any_batch(const void* of) : type(of) {}
        any_batch(const any_batch&) = delete;
        any_batch& operator=(const any_batch&) = delete;
        virtual ~any_batch() = default;
        virtual void look_up() = 0;
        const void* type;
    };
    template <typename View, typename... Key>
    struct batch final : any_batch {
        static constexpr char this_type = 0; ///< its address
        explicit batch(const View& view) : any_batch(&this_type), from(view) {}
        void look_up() override {
            if constexpr (requires { from.find_many(keys, std::span(found)); }) {
                found.resize(keys.size());
                find_together(from, keys, std::span(found));
            }
            keys.clear();
        }
        View from;
        std::vector<std::tuple<const Key&...>> keys;
        std::vector<decltype(std::declval<const View&>().find(std::declval<const Key&>()...))>
            found;
    };

    template <typename View, typename... Key>
    batch<View, Key...>& batch_of(const View& view) {
        for (const auto& one : batches_)
            if (one->type == &batch<View, Key...>::this_type)
                return static_cast<batch<View, Key...>&>(*one);
        batches_.push_back(std::make_unique<batch<View, Key...>>(view));
        return static_cast<batch<View, Key...>&>(*batches_.back());
    }

    std::vector<std::unique_ptr<any_batch>> batches_;
};

} // namespace chainbase

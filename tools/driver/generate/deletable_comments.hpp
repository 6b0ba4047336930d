#pragma once

#include <tools/driver/generate/random_numbers.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace chainbase::generate {

/// Comments that can be deleted when they are paid: to which no votes and no replies come. They
/// could be before, too, so a branch may hold the same operations at another time.
class deletable_comments {
public:
    /// More are not remembered.
    static constexpr std::size_t most = 1 << 16;

    struct comment {
        std::uint32_t author = 0; ///< the number of an account
        std::string permlink;
        friend auto operator<=>(const comment&, const comment&) = default;
    };

    /// One that is paid at `cashout_time`.
    void add(comment one, std::int64_t cashout_time);
    /// One that is paid by the time `now`, if there is any: as often the one that was paid first,
    /// which a state has in its archive, as the one that was paid last.
    [[nodiscard]] std::optional<comment> take(std::int64_t now, random_numbers& random);

private:
    std::set<std::pair<std::int64_t, comment>> by_time_;
};

} // namespace chainbase::generate

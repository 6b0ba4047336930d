#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace chainbase::driver {

/// How long work that is measured in bytes will still take: a range, from the fastest to the
/// slowest of the rates seen since the begin, over the last ten seconds and over the last one; and
/// up to as much again for what is not known yet, in proportion to how much of the work is left.
///
/// While nothing was done for ten seconds there is no upper end.
///
/// Bytes of a block log weigh better than blocks: early blocks of a chain are small. A state that
/// grows makes work slower, seldom faster, so only the upper end is widened.
class time_left {
public:
    /// Seconds, at least and at most.
    using range_of_seconds = std::pair<double, double>;

    /// Notes that `done` bytes were done `seconds` after the begin. Both never fall.
    void note(double seconds, std::uint64_t done);

    /// Seconds left for `left` more bytes, at least and at most (infinite while nothing moves),
    /// never negative. Nothing before there is enough to tell from: half a second of progress.
    [[nodiscard]] std::optional<range_of_seconds> range(std::uint64_t left) const;

private:
    struct sample {
        double seconds;
        std::uint64_t done;
    };
    [[nodiscard]] double rate_over(double seconds) const;

    static constexpr double enough = 0.5;
    static constexpr double window = 10;

    std::optional<sample> first_;
    std::deque<sample> recent_;
};

/// "3 to 5 min left".
[[nodiscard]] std::string in_words(const time_left::range_of_seconds& left);

} // namespace chainbase::driver

#include <tools/driver/generate/deletable_comments.hpp>

#include <iterator>

namespace chainbase::generate {

void deletable_comments::add(comment one, std::int64_t cashout_time) {
    if (by_time_.size() < most) by_time_.emplace(cashout_time, std::move(one));
}

std::optional<deletable_comments::comment> deletable_comments::take(std::int64_t now,
                                                                    random_numbers& random) {
    const auto unpaid = by_time_.lower_bound({now + 1, comment()});
    if (unpaid == by_time_.begin()) return std::nullopt;
    const auto taken = random.chance(1, 2) ? by_time_.begin() : std::prev(unpaid);
    return std::move(by_time_.extract(taken).value().second);
}

} // namespace chainbase::generate

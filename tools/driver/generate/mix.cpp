#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/generate/mix.hpp>

#include <algorithm>
#include <numeric>

namespace chainbase::generate {
namespace {

constexpr std::array<std::string_view, operation_mix::kinds> kind_names{
    "account_create", "comment",  "vote",  "custom",
    "deposit",        "transfer", "claim", "comment_delete"};

constexpr std::size_t max_digits = 6;

usage_error refused(std::string_view part) {
    std::string known;
    for (const std::string_view one : kind_names)
        known += (known.empty() ? "" : ", ") + std::string(one);
    return usage_error("--mix: \"" + std::string(part) +
                       "\" is not kind=weight with a weight of up to 6 digits; the kinds are " +
                       known);
}

void read_part(std::string_view part, operation_mix& to) {
    const std::size_t equals = part.find('=');
    const auto kind = std::ranges::find(kind_names, part.substr(0, equals));
    if (equals == std::string_view::npos || kind == kind_names.end()) throw refused(part);
    const std::string_view weight = part.substr(equals + 1);
    if (!is_digits(weight) || weight.size() > max_digits) throw refused(part);
    to.weights[static_cast<std::size_t>(kind - kind_names.begin())] =
        static_cast<std::uint32_t>(std::stoul(std::string(weight)));
}

} // namespace

std::uint64_t operation_mix::sum() const noexcept {
    return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
}

operation_mix::kind operation_mix::draw(random_numbers& random) const noexcept {
    std::uint64_t place = random.below(sum());
    std::size_t at = 0;
    while (place >= weights[at])
        place -= weights[at++];
    return static_cast<kind>(at);
}

std::string_view name_of(operation_mix::kind kind) noexcept {
    return kind_names[kind];
}

operation_mix parse_mix(std::string_view text) {
    operation_mix result{.weights = {}};
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        read_part(text.substr(begin, end - begin), result);
        begin = end + 1;
    }
    if (result.sum() == 0) throw usage_error("--mix: every weight is 0; give one a weight");
    if (result.weights[operation_mix::vote] > 0 && result.weights[operation_mix::comment] == 0)
        throw usage_error("--mix: votes need comments to vote on; give comment a weight");
    if (result.weights[operation_mix::comment_delete] > 0 &&
        result.weights[operation_mix::comment] == 0)
        throw usage_error("--mix: only comments can be deleted; give comment a weight");
    return result;
}

} // namespace chainbase::generate

#include <pool_allocator/error.hpp>
#include <tools/bench/measurements.hpp>

#include <algorithm>
#include <cmath>

namespace chainbase::bench {

namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    if (values.size() % 2 != 0) return values[middle];
    return (values[middle - 1] + values[middle]) / 2;
}

} // namespace

std::string_view name_of(metric unit) noexcept {
    switch (unit) {
    case metric::ns:
        return "ns";
    case metric::bytes:
        return "bytes";
    case metric::ratio:
        return "ratio";
    case metric::count:
        return "count";
    }
    return "";
}

void measurements::add(std::string_view operation, metric unit, double sample) {
    if (!std::isfinite(sample) || sample <= 0)
        throw error("bench: " + engine_ + " " + std::string(operation) + " measured " +
                    std::to_string(sample) + ", which cannot be; correct the engine's adapter");
    const auto [at, is_new] =
        position_.try_emplace({engine_, std::string(operation)}, rows_.size());
    if (is_new) rows_.push_back({engine_, std::string(operation), unit, 0, {}});
    rows_[at->second].samples.push_back(sample);
}

std::vector<row> measurements::rows() const {
    std::vector<row> result = rows_;
    for (row& each : result)
        each.value = median(each.samples);
    return result;
}

} // namespace chainbase::bench

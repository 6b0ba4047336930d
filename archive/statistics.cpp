#include <archive/statistics.hpp>

namespace chainbase::archive {

namespace {

times_summary in_short(const latency_reading& times) {
    return {.count = times.count(),
            .measured = times.count(),
            .total_ns = times.total_ns(),
            .p50_ns = times.quantile(0.5),
            .p99_ns = times.quantile(0.99),
            .p999_ns = times.quantile(0.999),
            .longest_ns = times.longest_ns()};
}

std::atomic<std::uint32_t> threads{0};

/// splitmix64 (Sebastiano Vigna): every state is a good one.
std::uint64_t next_random(std::uint64_t& state) noexcept {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

} // namespace

bool detail::begin_next_distance() noexcept {
    constexpr std::uint64_t farthest = 127; // 64 on average
    sampling& own = own_sampling;
    if (own.number == 0) {
        own.number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
        own.random = own.number;
    }
    own.left = static_cast<std::uint32_t>(next_random(own.random) % farthest);
    return true;
}

times_summary lookup_times::summarized() const noexcept {
    times_summary all = in_short(times_.read());
    all.count += passed_.value();
    if (all.measured != 0)
        all.total_ns = static_cast<std::uint64_t>(static_cast<double>(all.total_ns) /
                                                  static_cast<double>(all.measured) *
                                                  static_cast<double>(all.count));
    return all;
}

statistics_summary statistics::summarized() const noexcept {
    return {.hits_in_memory = lookups(lookup::hit_in_memory).summarized(),
            .hits_in_archive = lookups(lookup::hit_in_archive).summarized(),
            .misses = lookups(lookup::miss).summarized(),
            .known_misses = lookups(lookup::known_miss).summarized(),
            .failures = failures,
            .rows_put = rows_put,
            .rows_unchanged = rows_unchanged,
            .rows_erased = rows_erased,
            .bytes_put = bytes_put,
            .record_bytes_put = record_bytes_put,
            .objects_handed_over = objects_handed_over,
            .largest_batch_rows = largest_batch_rows,
            .largest_batch_bytes = largest_batch_bytes,
            .encodings = in_short(encodings.read()),
            .batches = in_short(batches.read()),
            .waits = in_short(waits.read()),
            .removals = in_short(removals.read()),
            .syncs = in_short(syncs.read())};
}

} // namespace chainbase::archive

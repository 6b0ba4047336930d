#include <pool_allocator/error.hpp>
#include <tools/bench/archive_finds.hpp>
#include <tools/bench/stopwatch.hpp>

#include <algorithm>
#include <random>
#include <span>
#include <string>

namespace chainbase::bench {

namespace {

constexpr std::size_t cold_finds = 2000;

void require(bool is_true, std::string_view what) {
    if (!is_true) throw damaged_error("bench: " + std::string(what) + ": no figure counts");
}

/// Median and the tail of single calls; reading the clock, some 40 ns, is in each.
void add(measurements& into, const std::string& name, std::vector<double> times) {
    std::ranges::sort(times);
    const auto at = [&](std::size_t thousandths) {
        return times[times.size() * thousandths / 1000];
    };
    into.add(name, metric::ns, at(500));
    into.add(name + "_p99", metric::ns, at(990));
    into.add(name + "_p99_9", metric::ns, at(999));
}

template <typename All, typename Find>
std::vector<double> timed(const All& all, Find&& find) {
    std::vector<double> times;
    times.reserve(all.size());
    for (const auto& one : all)
        times.push_back(nanoseconds([&] { find(one); }));
    return times;
}

} // namespace

archive_finds::archive_finds(const archive::store& rows, archive::table_id table,
                             std::uint32_t count) {
    using social::comment_object;
    const std::uint64_t all = rows.count(table);
    const std::uint64_t every = std::max<std::uint64_t>(all / count, 1);
    double bytes = 0;
    std::uint64_t number = 0;
    for (auto at = rows.rows(table); at.valid(); at.next(), ++number) {
        bytes += static_cast<double>(at.record().size());
        if (number % every != 0 || wanted_.size() == count) continue;
        const archive::found<comment_object> one(
            archive::pinned_row(at.id(), at.record(), nullptr));
        wanted_.push_back({one.id(), one.get<&comment_object::author>(),
                           std::string(one.get<&comment_object::permlink>())});
    }
    require(number == all && all != 0, "the archive has not as many rows as it says");
    record_bytes_ = bytes / static_cast<double>(all);
    std::shuffle(wanted_.begin(), wanted_.end(), std::mt19937_64(1));
}

void archive_finds::measure_warm(const comments& in, measurements& into) const {
    using social::by_permlink;
    const auto measure = [&](const std::string& name, const auto& all, auto&& find) {
        (void)timed(all, find);
        add(into, name, timed(all, find));
    };
    measure("find_warm", wanted_, [&](const wanted& one) {
        const auto found = in.find<by_permlink>(one.author, one.permlink);
        require(found && found->id() == one.id && !found->in_memory(), "a key is not found");
    });
    measure("find_by_id_warm", wanted_,
            [&](const wanted& one) { require(in.find(one.id).has_value(), "a row is not found"); });
    std::vector<wanted> nowhere = wanted_;
    for (wanted& one : nowhere)
        one.permlink += '~';
    measure("find_nowhere", nowhere, [&](const wanted& one) {
        require(!in.find<by_permlink>(one.author, one.permlink), "what is nowhere is found");
    });
}

void archive_finds::measure_cold(const comments& in, const archive::rocksdb_store& rows,
                                 measurements& into) const {
    const std::size_t half = std::min(cold_finds, wanted_.size() / 2);
    const auto measure = [&](const std::string& name, std::size_t from, auto&& find) {
        const std::uint64_t before = rows.engine().block_misses;
        add(into, name, timed(std::span(wanted_).subspan(from, half), find));
        into.add(name + "_blocks", metric::ratio,
                 static_cast<double>(rows.engine().block_misses - before) /
                     static_cast<double>(half));
    };
    measure("find_by_id_cold", 0,
            [&](const wanted& one) { require(in.find(one.id).has_value(), "a row is not found"); });
    measure("find_cold", half, [&](const wanted& one) {
        require(in.find<social::by_permlink>(one.author, one.permlink).has_value(),
                "a key is not found");
    });
}

} // namespace chainbase::bench

#pragma once

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/describe/enum_to_string.hpp>

#include <chrono>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::bench {

/// Returns: the wall time of `work()` in nanoseconds. The barriers keep the compiler from moving
/// stores across the two readings of the clock; one reading costs about 20 ns, so time batches.
template <typename Work>
double nanoseconds(Work&& work) {
    asm volatile("" ::: "memory");
    const auto start = std::chrono::steady_clock::now();
    std::forward<Work>(work)();
    asm volatile("" ::: "memory");
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
}

/// The unit of a row: nanoseconds per operation, bytes per object, a ratio of such, or a count per
/// operation.
enum class metric { ns, bytes, ratio, count };
BOOST_DESCRIBE_ENUM(metric, ns, bytes, ratio, count)

[[nodiscard]] inline std::string_view to_string(metric unit) noexcept {
    return boost::describe::enum_to_string(unit, "");
}

/// One figure of the report: the median of the rounds, and the rounds themselves.
struct row {
    std::string engine;
    std::string operation;
    bench::metric metric = bench::metric::ns;
    double value = 0;
    std::vector<double> samples;
};
BOOST_DESCRIBE_STRUCT(row, (), (engine, operation, metric, value, samples))

/// Collects one sample per engine, operation and round; rows keep the order of first appearance of
/// engines and operations.
class measurements {
public:
    /// Sets the engine of the next samples.
    void select(std::string_view engine) { engine_ = engine; }

    /// Throws: chainbase::error when `sample` is not a finite number above zero (of bytes: or
    /// zero), which is a fault of the engine's adapter, not a result.
    void add(std::string_view operation, metric unit, double sample);

    [[nodiscard]] std::vector<row> rows() const;

private:
    std::string engine_;
    std::vector<row> rows_;
    std::map<std::pair<std::string, std::string>, std::size_t> position_;
};

/// Prints a line per operation and a column per engine, each value with its ratio to `classical` in
/// brackets; then the goal and whether `chainbase` meets it, including the failures.
void print_rows(std::ostream&, const std::vector<row>&);

} // namespace chainbase::bench

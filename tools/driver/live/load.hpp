#pragma once

#include <tools/driver/live/live_node.hpp>
#include <tools/driver/live/load_recorder.hpp>
#include <tools/driver/live/readers.hpp>
#include <tools/interruption.hpp>

#include <boost/describe/class.hpp>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver::live {

struct load_options {
    std::string workload = "payments"; ///< or social
    std::uint32_t accounts = 5000;
    std::uint64_t seed = 1;
    nanoseconds interval{std::chrono::seconds(1)}; ///< between blocks
    nanoseconds pending_budget{0};                 ///< per interval; 0: all of it
    load_steps steps;
    double seconds = 10; ///< duration of each rate
    readers::options reading{2, 1000};
    batching batch;
    std::int64_t lag = 3;
    std::filesystem::path state; ///< empty: a temporary one in memory
    std::filesystem::path to;    ///< output folder; empty: none
};

/// The result of a measurement.
struct load_report {
    load_options options;
    double set_up_seconds = 0;
    std::vector<load_step> steps;
    std::vector<load_second> seconds;
    bool interrupted = false;
    std::string state_digest;

    /// The last sustained rate; nothing and 0 when none was.
    [[nodiscard]] std::optional<load_step> sustained() const;
    [[nodiscard]] double sustained_rate() const;
};
BOOST_DESCRIBE_STRUCT(load_report, (),
                      (set_up_seconds, interrupted, sustained_rate, sustained, steps, state_digest))
/// Includes the options (README.md lists the members).
[[nodiscard]] nlohmann::ordered_json report_value(const load_report& report);

/// Sends transactions at a fixed rate, makes a block of them every interval, and raises the rate
/// step by step until load_criterion fails. One thread applies; transactions come from another,
/// readers from theirs. Throws usage_error when the state or an output file exists already.
///
/// Measures the state engine alone: no signatures, no consensus, no network.
[[nodiscard]] load_report load(const load_options& options, const catch_interruption& signals);

[[nodiscard]] std::string to_text(const load_report& report);

/// A row a second, a header above them.
[[nodiscard]] std::string to_csv(const load_report& report);

/// The output files of a measurement, in a folder made if missing: load.csv, load.json, load.gp and
/// load.svg, which gnuplot makes from it.
class load_files {
public:
    /// Throws usage_error when one of them exists already, io_error when the folder cannot be made.
    explicit load_files(std::filesystem::path folder);

    /// Writes them. Returns why there is no plot, or nothing when there is one. Throws io_error.
    [[nodiscard]] std::optional<std::string> write(const load_report& report) const;

private:
    [[nodiscard]] std::optional<std::string> plot() const;

    std::filesystem::path folder_;
};

} // namespace chainbase::driver::live

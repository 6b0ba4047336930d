#include <tools/driver/log_progress.hpp>
#include <tools/driver/progress.hpp>
#include <tools/interruption.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace chainbase::driver {

void log_progress::advance(std::uint64_t done, std::uint64_t all) {
    if (all != all_ || done < done_) begin_part(done, all);
    done_ = done;
    if (catch_interruption::noted())
        throw interrupted_error(
            fmt::format("interrupted while {}, at {} of {}; nothing unfinished is left, the same "
                        "call begins anew",
                        what_, bytes_in_words(done), bytes_in_words(all)));
    const auto now = clock::now();
    if (now < next_line_) return;
    next_line_ = now + std::chrono::seconds(1);
    estimate_.note(std::chrono::duration<double>(now - part_begin_).count(), done);
    say(done, all);
}

void log_progress::begin_part(std::uint64_t done, std::uint64_t all) {
    part_begin_ = clock::now();
    all_ = all;
    estimate_ = {};
    estimate_.note(0, done);
}

void log_progress::say(std::uint64_t done, std::uint64_t all) const {
    const auto range = estimate_.range(all - done);
    const std::string outlook = range ? ", " + in_words(*range) : "";
    spdlog::info("{}: {} of {}{}", what_, bytes_in_words(done), bytes_in_words(all), outlook);
}

} // namespace chainbase::driver

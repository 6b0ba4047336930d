#include <tools/driver/live/load_steps.hpp>

#include <fmt/format.h>

namespace chainbase::driver::live {

std::optional<double> load_steps::after(double rate) const noexcept {
    const double next = rate * factor + more;
    return next > rate && next <= last ? std::optional(next) : std::nullopt;
}

std::string load_criterion::judge(const load_step& step) const {
    if (step.blocks.longest() > interval)
        return fmt::format("a block took {:.1f} ms, of {:.1f} ms between blocks",
                           milliseconds_of(step.blocks.longest()), milliseconds_of(interval));
    if (step.in_time * 2 < step.offered)
        return fmt::format("{} of {} transactions were in a block within {:.1f} ms, less than half",
                           step.in_time, step.offered, milliseconds_of(in_time()));
    return {};
}

} // namespace chainbase::driver::live

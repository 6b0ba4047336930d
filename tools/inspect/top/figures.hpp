#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

/// Figures as the dashboard shows them: short, so that columns stay narrow.
namespace chainbase::inspect {

/// "512 B", "4.4 MiB".
[[nodiscard]] std::string short_bytes(double bytes);
/// With its sign: "+4.4 MiB", "0 B", "-512 B".
[[nodiscard]] std::string gained_bytes(double bytes);
/// "850 ns", "12.3 us", "4.5 ms", "2.1 s", "3 min", "5 h".
[[nodiscard]] std::string short_time(double nanoseconds);
/// Of a lock's holder or waiter, whose clock goes on by the kernel's tick: "0 ms", "12 ms", "2.1
/// s".
[[nodiscard]] std::string short_age(double seconds);
/// "1,234", "0.4": whole numbers from ten on.
[[nodiscard]] std::string short_number(double number);
/// With its sign.
[[nodiscard]] std::string gained_number(double number);
/// "63.2 %"; "-" of nothing.
[[nodiscard]] std::string percent(double part, double whole);

/// A bar of `columns`, of which a share in [0, 1] is filled. With `is_unicode` in eighths of a
/// column, else in '#' and '.'.
[[nodiscard]] std::string bar_of(double share, std::size_t columns, bool is_unicode);

/// The last figures that fit into `columns`, the newest at the right, as columns of a height that
/// is relative to the largest of them. Figures are not negative.
[[nodiscard]] std::string sparkline(const std::deque<double>& figures, std::size_t columns,
                                    bool is_unicode);

} // namespace chainbase::inspect

#include <tools/inspect/top/view_tables.hpp>

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>

namespace chainbase::inspect {

sortable_table checkpoint_table(const view_content& content) {
    sortable_table table({{"made", /*is_text=*/true},
                          {"age"},
                          {"generation"},
                          {"revision"},
                          {"irreversible"},
                          {"bytes"},
                          {"redo log", /*is_text=*/true}});
    const auto now = std::chrono::system_clock::to_time_t(content.sample.now.time);
    for (const checkpoint_info& one : content.sample.checkpoints) {
        const double seconds = static_cast<double>(std::max<std::int64_t>(0, now - one.time));
        const auto number = [](std::int64_t figure) {
            return cell{std::to_string(figure), static_cast<double>(figure)};
        };
        table.add({{fmt::format("{:%F %T} UTC", fmt::gmtime(std::time_t{one.time})),
                    static_cast<double>(one.time)},
                   duration(seconds * 1e9),
                   whole(one.generation),
                   number(one.revision),
                   number(one.irreversible_revision),
                   bytes(one.bytes),
                   text(one.has_redo_log ? "follows it" : "none")});
    }
    return table;
}

} // namespace chainbase::inspect

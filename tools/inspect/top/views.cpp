#include <tools/inspect/top/view_tables.hpp>

#include <fmt/format.h>

namespace chainbase::inspect {

sortable_table table_of(view which, const view_content& content) {
    switch (which) {
    case view::memory:
        return memory_table(content);
    case view::latencies:
        return latency_table(content);
    case view::locks:
        return lock_table(content);
    case view::archive:
        return archive_table(content);
    case view::checkpoints:
        break;
    }
    return checkpoint_table(content);
}

sortable_table::order usual_order(view which) {
    if (which == view::memory) return {3, false};
    return {};
}

std::string note_of(view which, const view_content& content) {
    const top_sample& sample = content.sample;
    switch (which) {
    case view::memory:
        return fmt::format("a minute: measured over {:.0f} s", sample.growth.seconds);
    case view::latencies:
        return fmt::format(
            "* their time so far, by ticks, at {} looks; the rest: since the archive was opened",
            grouped(content.locks.looks()));
    case view::locks:
        return sample.now.locks.readers.empty() ? "no readers" : "";
    case view::archive:
        return sample.now.archive ? "" : "no process has counted for an archive of this state";
    case view::checkpoints:
        break;
    }
    return sample.checkpoints.empty() ? "no checkpoint is there" : "";
}

} // namespace chainbase::inspect

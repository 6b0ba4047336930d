#include <chainbase/database.hpp>
#include <chainbase/feed/feed_end.hpp>
#include <chainbase/feed/writer.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <tools/driver/sync/other_writer.hpp>

#include <utility>

namespace chainbase::driver {

other_writer::other_writer(std::filesystem::path state) : state_(std::move(state)) {}

other_writer::~other_writer() {
    if (kept_) kept_->abandon(); // closing would make a checkpoint without the archive's rows
}

/// A segment that is gone was in memory, and the machine restarted.
other_writer::condition other_writer::look() const {
    if (file_lock::is_held(state_ / "lock")) return condition::works;
    open_options options;
    options.mode = open_mode::read_only;
    const std::filesystem::path segment = state_opening(state_, options).place().folder();
    if (!std::filesystem::exists(segment / "header")) return condition::killed;
    const auto header = detail::header_in(segment);
    return header && header->clean == 1 ? condition::ended : condition::killed;
}

/// As its node opens it: a segment in memory is only opened with checkpoints, and one without them
/// would get one. None is made here.
void other_writer::keep_out() {
    open_options options;
    const bool has_own_segment = std::filesystem::exists(state_ / "segment" / "header");
    const bool has_checkpoint = std::filesystem::exists(state_ / "checkpoint" / "published.0");
    options.durability =
        has_own_segment && !has_checkpoint ? durability::process : durability::checkpoint;
    options.checkpoints.interval = {};
    if (!kept_) kept_ = std::make_unique<database>(state_, options);
    const feed::writer telling(*kept_); // has told all where it ends
}

revision_number other_writer::revision() const {
    return kept_->revision();
}

void other_writer::pass_on(const std::string& other) {
    supersede(state_, other);
    feed::end_feed(disk::of_system(), state_, farewell(other));
}

void other_writer::end_feed_for(const std::string& other) {
    const file_lock alone(state_ / "lock", /*create=*/false);
    feed::end_feed(disk::of_system(), state_, farewell(other));
}

std::string other_writer::farewell(const std::string& other) {
    return other + " took over; follow that one";
}

} // namespace chainbase::driver

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

other_writer::condition other_writer::look() const {
    if (file_lock::is_held(state_ / "lock")) return condition::works;
    open_options options;
    options.mode = open_mode::read_only;
    const auto header = detail::header_in(state_opening(state_, options).place().folder());
    return header && header->clean == 1 ? condition::ended : condition::killed;
}

void other_writer::keep_out() {
    open_options options;
    options.durability = durability::process;
    if (!kept_) kept_ = std::make_unique<database>(state_, options);
    const feed::writer telling(*kept_); // has told all where it ends
}

void other_writer::pass_on(const std::filesystem::path& other) {
    feed::end_feed(disk::of_system(), state_,
                   std::filesystem::absolute(other).string() + " took over; follow that one");
}

} // namespace chainbase::driver

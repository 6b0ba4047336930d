#include <archive/record/integers.hpp>
#include <archive/store.hpp>
#include <chainbase/feed/log_reader.hpp>
#include <chainbase/segment/segment.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/rows/beside_writer.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/sink/bootstrap.hpp>
#include <tools/sink/placement.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::sink {

namespace {

using inspect::row_source;
using inspect::state_changed;
using inspect::type_records;
using inspect::unchanging_state;

constexpr std::uint32_t ids_at_once = 8192;
constexpr std::size_t bytes_of_load = std::size_t{4} << 20;

/// A cursor that is gone with the object, so that nothing is kept for it.
struct short_cursor {
    short_cursor(std::filesystem::path of, std::string called)
        : state(std::move(of)), name(std::move(called)) {}
    ~short_cursor() {
        try {
            disk& on = disk::of_system();
            if (feed::feed_cursor::exists(on, feed::feed_folder(state), name))
                feed::feed_cursor::remove(on, feed::feed_folder(state), name);
        } catch (const std::exception& problem) {
            spdlog::warn("{}: the cursor {} is left ({}); chainbase-inspect feed --drop removes it",
                         state.string(), name, problem.what());
        }
    }
    short_cursor(const short_cursor&) = delete;
    short_cursor& operator=(const short_cursor&) = delete;

    const std::filesystem::path state;
    const std::string name;
};

} // namespace

state_description state_description::of(const std::filesystem::path& state) {
    return inspect::look_beside_writer(state, [](segment& from) {
        state_description found;
        for (const std::byte byte : from.header().identity)
            found.identity += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
        for (const catalogue::entry& one : from.types().entries())
            found.types.push_back(one.schema);
        return found;
    });
}

block_of_state block_of_state::of(const std::filesystem::path& state) {
    const snapshot now(state.string());
    block_of_state found{now.revision(), 0};
    try {
        found.serial = feed::log_reader::serial_of(now).value_or(0);
    } catch (const too_old_error&) { // the log begins behind it
    }
    return found;
}

/// The objects of a state in turns, each as of one block.
class bootstrap::rows_of_state {
public:
    /// `confirm`: called for each block that is read, and returns when that is told of; may be
    /// empty: then one block has to do, or busy_error.
    rows_of_state(const std::filesystem::path& state, std::function<void()> confirm)
        : source_(state), confirm_(std::move(confirm)) {
        source_.read_all(/*and_keys=*/false);
        begin();
    }

    /// Objects of a type, beginning at an id: calls `visit`, and moves `from` behind those that it
    /// visited. Returns whether there may be more.
    template <typename Visit>
    bool read(const std::string& type, std::uint32_t& from, Visit&& visit) {
        for (;;) {
            try {
                type_records& all = records_of(type);
                const std::uint32_t end = std::max(from, all.end()); // lower after a pop
                const std::uint32_t to = from + std::min(ids_at_once, end - from);
                // Not before all are read: those of a change would be seen twice.
                visit(all.read(from, to));
                from = to;
                return from < end;
            } catch (const state_changed&) {
                if (!confirm_)
                    throw busy_error(source_.state().string() +
                                     ": it is written, without a feed; call again when it is "
                                     "closed, or let its node write one");
                begin();
            }
        }
    }

private:
    /// The archive is opened after the state: rows that were handed over are there.
    void begin() {
        for (const inspect::patience until(std::chrono::seconds(10));; inspect::patience::pause()) {
            try {
                records_.reset();
                archive_.reset();
                now_.emplace(source_);
                archive_ = inspect::open_archive(source_);
                if (confirm_) confirm_();
                now_->take_turn([] {}); // so this block is one of those that are told
                return;
            } catch (const state_changed&) {
                if (until.is_over())
                    throw busy_error(source_.state().string() +
                                     ": its writer changes it all the time; keep more log for "
                                     "readers there (open_options::snapshot_log_bytes)");
            }
        }
    }
    type_records& records_of(const std::string& type) {
        if (!records_ || type != type_) {
            records_.emplace(*now_, type, archive_.get(), type_records::places::both);
            type_ = type;
        }
        return *records_;
    }

    row_source source_;
    std::function<void()> confirm_;
    std::optional<unchanging_state> now_;
    std::unique_ptr<archive::store> archive_;
    std::string type_;
    std::optional<type_records> records_;
};

feed::feed_position bootstrap::run(feed::follower& from, const std::string& name,
                                   const std::string& identity) {
    const snapshot begins(state_.string());
    from.begin_at(begins);
    cursor at;
    at.state = identity;
    at.at = from.position();
    at.revision = begins.revision();
    (void)tables_.take(state_description::of(state_).types); // the feed tells of later ones
    spdlog::info("{}: the rows are copied, as of revision {} and later ones", state_.string(),
                 at.revision);
    begin(at);
    feed::feed_position end = *at.at;
    const short_cursor confirms(state_, name + "-begin");
    feed::follower confirmed(state_, confirms.name);
    rows_of_state rows(state_, [&] {
        confirmed.begin_at(snapshot(state_.string()));
        end = std::max(end, confirmed.position());
    });
    load(rows);
    return end;
}

void bootstrap::run(const std::string& identity) {
    const block_of_state block = block_of_state::of(state_);
    rows_of_state rows(state_, {});
    cursor at;
    at.state = identity;
    at.revision = at.since = block.revision;
    at.serial = block.serial;
    begin(at);
    load(rows);
    if (!(block_of_state::of(state_) == block))
        throw busy_error(state_.string() + ": it changed meanwhile; call again");
    std::vector<batch> none(to_.count());
    std::vector<cursor> ready;
    for (std::size_t number = 0; number < to_.count(); ++number) {
        ready.push_back(*to_.at(number));
        ready.back().is_ready = true;
    }
    to_.begin(std::move(none), ready);
    to_.wait();
}

/// All databases have the same epoch then.
void bootstrap::begin(const cursor& at) {
    epoch_ = 0;
    for (std::size_t number = 0; number < to_.count(); ++number)
        if (to_.at(number)) epoch_ = std::max(epoch_, to_.at(number)->bootstraps());
    epoch_ = (epoch_ + 1) << 32 | (std::random_device()() & UINT32_MAX);
    const std::vector<const table*> tables = tables_.all();
    to_.make(tables, /*indexed=*/false);
    std::vector<cursor> next;
    for (std::size_t number = 0; number < to_.count(); ++number) {
        next.push_back(at);
        next.back().epoch = epoch_;
        next.back().shard = static_cast<std::uint32_t>(number);
        next.back().shards = static_cast<std::uint32_t>(to_.count());
    }
    to_.begin_bootstrap(next, tables);
}

void bootstrap::load(rows_of_state& rows) {
    for (const table* of : tables_.all())
        load_type(rows, *of);
    to_.make(tables_.all(), /*indexed=*/true);
}

/// While databases take what was read, the next part is.
void bootstrap::load_type(rows_of_state& rows, const table& of) {
    progress shown("copying " + of.type(), "ids");
    row_values values(of);
    const std::size_t by = tables_.distribution(of);
    const auto shards = static_cast<std::uint32_t>(to_.count());
    std::vector<load_batch> parts(shards, load_batch{&of, {}, {}});
    const auto hand_over = [&] {
        to_.wait();
        to_.begin_load(std::exchange(parts, std::vector(shards, load_batch{&of, {}, {}})));
    };
    std::uint32_t from = 0;
    for (bool goes_on = true; goes_on;) {
        require_going_on();
        goes_on = rows.read(of.type(), from, [&](archive::byte_buffer records) {
            constexpr std::size_t length = sizeof(std::uint32_t);
            for (std::size_t at = 0; at < records.size();) {
                const auto bytes = archive::detail::load_little<std::uint32_t>(records.data() + at);
                const auto record = archive::bytes_view(records).subspan(at + length, bytes);
                load_batch& part =
                    parts[shards == 1 ? 0 : shard_of(values.read(record)[by], shards)];
                const std::size_t begin = part.records.size();
                archive::append(part.records, record);
                part.rows.emplace_back(begin, part.records.size());
                at += length + bytes;
            }
        });
        shown.show(from, from);
        if (std::ranges::any_of(
                parts, [](const load_batch& one) { return one.records.size() >= bytes_of_load; }))
            hand_over();
    }
    hand_over();
    to_.wait();
}

void bootstrap::require_going_on() const {
    if (is_over_())
        throw interrupted_error("the rows are not all there; the next call begins anew");
}

} // namespace chainbase::sink

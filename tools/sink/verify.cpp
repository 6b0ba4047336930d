#include <archive/record/integers.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/feed/follower.hpp>
#include <chainbase/state_root/sha256.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/interruption.hpp>
#include <tools/sink/bootstrap.hpp>
#include <tools/sink/changes.hpp>
#include <tools/sink/following.hpp>
#include <tools/sink/verify.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace chainbase::sink {

namespace {

using archive::byte_buffer;
using archive::bytes_view;

constexpr std::uint32_t ids_compared = 8192;
constexpr std::chrono::seconds patience_with_feed{20};
constexpr std::chrono::milliseconds pause_of_losses{500};
constexpr std::chrono::seconds patience_with_writer{30};

bool same(const value& a, const value& b) {
    if (a.what != b.what) return false;
    switch (a.what) {
    case value::kind::null:
        return true;
    case value::kind::boolean:
    case value::kind::integer:
        return a.is_negative == b.is_negative && a.magnitude == b.magnitude;
    case value::kind::real:
        return std::memcmp(&a.real, &b.real, sizeof a.real) == 0;
    case value::kind::text:
        return a.text == b.text;
    case value::kind::bytes:
        return archive::same(a.bytes, b.bytes);
    case value::kind::list:
        return a.count == b.count &&
               std::equal(a.elements.begin(),
                          a.elements.begin() + static_cast<std::ptrdiff_t>(a.count),
                          b.elements.begin(), same);
    }
    return false;
}

/// Rows of one database, read by a thread ahead of who compares them.
class rows_ahead {
public:
    struct row {
        const table* of;
        std::uint32_t id;
        byte_buffer record;
    };

    rows_ahead(database_link& from, std::vector<const table*> tables)
        : thread_([this, &from, tables = std::move(tables)] { run(from, tables); }) {}
    ~rows_ahead() {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    rows_ahead(const rows_ahead&) = delete;
    rows_ahead& operator=(const rows_ahead&) = delete;

    /// Where the database was when reading began. Waits for that. Throws what reading threw.
    [[nodiscard]] cursor begun() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return begun_ || is_done_; });
        if (!begun_) std::rethrow_exception(problem_);
        return *begun_;
    }
    /// The next row, null behind the last; valid until pop(). Throws what reading threw.
    [[nodiscard]] const row* next() {
        if (now_.empty()) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !ready_.empty() || is_done_; });
            if (ready_.empty()) {
                if (problem_) std::rethrow_exception(problem_);
                return nullptr;
            }
            now_.swap(ready_.front());
            ready_.pop_front();
            changed_.notify_all();
        }
        return &now_.front();
    }
    void pop() { now_.pop_front(); }

private:
    static constexpr std::size_t rows_of_piece = 1024;
    static constexpr std::size_t pieces_ahead = 8;

    struct over {};

    void run(database_link& from, const std::vector<const table*>& tables) {
        std::deque<row> piece;
        std::map<const table*, row_record> records;
        try {
            from.read(
                tables,
                [&](const cursor& at) {
                    const std::lock_guard lock(mutex_);
                    begun_ = at;
                    changed_.notify_all();
                },
                [&](const table& of, std::span<const value> values) {
                    row_record& made = records.try_emplace(&of, of).first->second;
                    const bytes_view record = made.make(values);
                    piece.push_back({&of, static_cast<std::uint32_t>(values.front().as_int64()),
                                     byte_buffer(record.begin(), record.end())});
                    if (piece.size() == rows_of_piece) hand_over(piece);
                });
            hand_over(piece);
        } catch (const over&) {
        } catch (...) {
            problem_ = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        is_done_ = true;
        changed_.notify_all();
    }
    void hand_over(std::deque<row>& piece) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ready_.size() < pieces_ahead || is_over_; });
        if (is_over_) throw over{};
        if (!piece.empty()) ready_.push_back(std::exchange(piece, {}));
        changed_.notify_all();
    }

    std::deque<row> now_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<cursor> begun_;
    std::deque<std::deque<row>> ready_;
    bool is_done_ = false;
    bool is_over_ = false;
    std::exception_ptr problem_;
    std::thread thread_;
};

/// A digest of a type, from records by rising id.
class type_digest {
public:
    void add(bytes_view record) {
        std::byte length[sizeof(std::uint32_t)];
        archive::detail::store_little(length, static_cast<std::uint32_t>(record.size()));
        sum_.add(length);
        sum_.add(record);
    }
    [[nodiscard]] sha256_digest finish() { return sum_.finish(); }

private:
    sha256 sum_;
};

/// What changed since the databases' position: the record of each object, empty if it is none;
/// nothing where the feed tells that it is back from the archive, and not what it is.
using told_objects = std::map<std::pair<std::string, std::uint32_t>, std::optional<byte_buffer>>;

class comparison {
public:
    comparison(const sink_options& asked, std::size_t most, const std::function<bool()>& is_over)
        : asked_(asked), most_(most), is_over_(is_over), tables_(asked.distribute),
          from_(asked, tables_, is_over, /*reads_only=*/true) {}

    verification run();

private:
    [[nodiscard]] verification attempt();
    [[nodiscard]] cursor begin_reading();
    void require_tables_as_read();
    [[nodiscard]] told_objects told_until(const cursor& from, revision_number revision);
    void compare(inspect::unchanging_state& state);
    void compare_type(inspect::type_records& all, const table& of);
    void compare_object(const table& of, std::uint32_t id, bytes_view record);
    void take_rows(const table& of, std::uint64_t before);
    [[nodiscard]] rows_ahead* with_lowest(const table& of);
    void note(const table& of, std::uint32_t id, std::string what);
    [[nodiscard]] std::string columns_that_differ(const table& of, bytes_view a, bytes_view b);

    const sink_options& asked_;
    std::size_t most_;
    const std::function<bool()>& is_over_;
    known_tables tables_;
    databases from_;
    feed::feed_position farthest_ = 0; ///< of the databases' cursors
    told_objects told_;
    std::vector<const table*> all_;       ///< by name
    std::vector<std::string> catalogues_; ///< of each database, before its rows
    std::vector<std::unique_ptr<rows_ahead>> rows_;
    type_digest rows_digest_;
    type_digest state_digest_;
    verification found_;
};

/// The rows first: the state is read as of a block that they have reached, or a later one.
verification comparison::run() {
    const std::string identity = state_description::of(asked_.state).identity;
    from_.look(identity);
    for (const inspect::patience until(patience_with_writer);; inspect::patience::pause()) {
        if (is_over_()) throw interrupted_error("not compared");
        try {
            return attempt();
        } catch (const retry_error& problem) {
            spdlog::warn("{}; all is compared anew", problem.what());
            rows_.clear();
            std::this_thread::sleep_for(pause_of_losses);
            from_.look(identity); // waits until it is there
        } catch (const inspect::state_changed&) {
            if (until.is_over())
                throw busy_error(asked_.state +
                                 ": its writer changed it during each attempt; call again, or "
                                 "keep more log for readers there "
                                 "(open_options::snapshot_log_bytes)");
        }
    }
}

verification comparison::attempt() {
    found_ = {};
    rows_digest_ = {};
    state_digest_ = {};
    farthest_ = 0;
    rows_.clear();
    (void)tables_.take(state_description::of(asked_.state).types);
    const cursor at = begin_reading();
    inspect::row_source source(asked_.state);
    inspect::unchanging_state now(source);
    told_ = told_until(at, now.revision());
    found_.told_since = told_.size();
    now.take_turn([] {});
    found_.revision = now.revision();
    compare(now);
    return std::move(found_);
}

/// The lowest of the databases' cursors. A table that a database has not yet has no rows there: its
/// objects came later, and the feed tells of them.
cursor comparison::begin_reading() {
    for (std::size_t number = 0; number < from_.count(); ++number)
        if (!from_.at(number))
            throw usage_error(from_.link(number).name() +
                              ": it has no rows of this state; chainbase-sink follow first");
    all_ = tables_.all();
    std::ranges::sort(all_, {}, &table::type);
    catalogues_.clear();
    for (std::size_t number = 0; number < from_.count(); ++number) {
        database_link& link = from_.link(number);
        catalogues_.push_back(link.catalogue());
        std::vector<const table*> there;
        if (!catalogues_.back().empty()) there = tables_.made_in(catalogues_.back(), link.name());
        std::ranges::sort(there, {}, &table::type);
        rows_.push_back(std::make_unique<rows_ahead>(link, std::move(there)));
    }
    cursor lowest;
    for (std::size_t number = 0; number < from_.count(); ++number) {
        const cursor at = rows_[number]->begun();
        if (!at.is_ready)
            throw usage_error(from_.link(number).name() +
                              ": its rows are not those of a block yet; wait for chainbase-sink "
                              "follow, or call it");
        if (number == 0 || at.at < lowest.at) lowest = at;
        farthest_ = std::max(farthest_, at.at.value_or(0));
    }
    return lowest;
}

/// Of the feed, up to the block that is read. Nothing where the databases are there.
told_objects comparison::told_until(const cursor& from, revision_number revision) {
    const block_of_state to = block_of_state::of(asked_.state);
    if (to.revision != revision) throw inspect::state_changed{};
    const feed::block_name end{to.revision, to.serial};
    // The block that was reached, last; serial 0: not known which of its revision.
    std::vector<feed::block_name> at{{from.revision, from.serial}};
    const auto is_there = [&] { return end.serial != 0 && end.is_behind(at.back()); };
    const auto may_be_there = [&] {
        return at.back().revision == end.revision && (at.back().serial == 0 || end.serial == 0);
    };
    told_objects told;
    const bool has_same_place = !from.at || *from.at == farthest_;
    if (has_same_place && (is_there() || (!from.at && may_be_there()))) return told;
    std::optional<feed::follower> reader;
    try {
        if (from.at) {
            disk& on = disk::of_system(); // a cursor that is there stays as it is
            const std::string name = cursor_name(asked_);
            if (feed::feed_cursor::exists(on, feed::feed_folder(asked_.state), name))
                reader.emplace(asked_.state, name);
            else
                reader.emplace(asked_.state, from.revision + 1);
            reader->go_to(*from.at);
        }
    } catch (const feed::too_far_behind_error&) {
        reader.reset();
    } catch (const usage_error&) { // of another feed
        reader.reset();
    }
    if (!reader)
        throw usage_error(fmt::format("{}: the state is at revision {}, the rows are at {}, and no "
                                      "feed leads there; chainbase-sink follow first",
                                      asked_.state, revision, from.revision));
    const auto until = std::chrono::steady_clock::now() + patience_with_feed;
    for (feed::entry one; !is_there() || reader->position() < farthest_;) {
        if (is_over_()) throw interrupted_error("not compared");
        if (!reader->next(one)) {
            if (may_be_there() && reader->position() >= farthest_) break;
            if (std::chrono::steady_clock::now() > until) throw inspect::state_changed{};
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        if (one.what == feed::entry::kind::irreversible) continue;
        if (one.what == feed::entry::kind::block)
            at.push_back({one.revision, one.serial});
        else if (at.size() > 1)
            at.pop_back();
        else
            at.back() = {one.revision - 1, 0};
        for (const feed::object_change& each : one.changes) {
            const bytes_view now = each.what == feed::object_change::kind::archived
                                       ? one.before(each)
                                       : one.after(each);
            told[{reader->types()[each.type].name, each.id}] = byte_buffer(now.begin(), now.end());
            if (const auto removed = removed_by(tables_, one, each))
                told[{tables_.of(removed->type)->type(), removed->id}] =
                    removed->is_back ? std::nullopt : std::optional(byte_buffer());
        }
    }
    return told;
}

void comparison::compare(inspect::unchanging_state& state) {
    std::unique_ptr<archive::store> store = inspect::open_archive(state.source());
    std::set<std::string> names;
    std::map<std::string, std::string> excluded;
    state.take_turn([&] {
        names.clear();
        for (const type_schema* each : state.source().types()) {
            names.insert(each->name);
            if (has_table(each->name) &&
                std::ranges::find(all_, each->name, &table::type) == all_.end())
                throw inspect::state_changed{}; // it came meanwhile
        }
        for (const type_schema* each : state.source().types())
            excluded[each->name] = inspect::why_bookkeeping(*each, names);
    });
    archive::state_digest of_rows;
    archive::state_digest of_state;
    for (const table* of : all_) {
        inspect::type_records records(state, of->type(), store.get(),
                                      inspect::type_records::places::both);
        compare_type(records, *of);
        const sha256_digest rows = rows_digest_.finish();
        const sha256_digest objects = state_digest_.finish();
        rows_digest_ = {};
        state_digest_ = {};
        if (!excluded[of->type()].empty()) continue;
        of_rows.add(of->type(), rows);
        of_state.add(of->type(), objects);
    }
    require_tables_as_read();
    found_.rows_digest = of_rows.hex();
    found_.state_digest = of_state.hex();
}

/// One that was made after reading began may have rows that count as missing.
void comparison::require_tables_as_read() {
    rows_.clear();
    for (std::size_t number = 0; number < from_.count(); ++number)
        if (from_.link(number).catalogue() != catalogues_[number]) throw inspect::state_changed{};
}

void comparison::compare_type(inspect::type_records& all, const table& of) {
    for (std::uint32_t from = 0; from < all.end();) {
        if (is_over_()) throw interrupted_error("not all was compared");
        const std::uint32_t to = from + std::min(ids_compared, all.end() - from);
        all.each(from, to, [&](const inspect::type_records::seen& one) {
            compare_object(of, one.id, one.record);
        });
        from = to;
    }
    take_rows(of, std::uint64_t{UINT32_MAX} + 1);
}

void comparison::compare_object(const table& of, std::uint32_t id, bytes_view record) {
    take_rows(of, id);
    state_digest_.add(record);
    rows_ahead* const from = with_lowest(of);
    const bool is_there = from && from->next()->id == id;
    const auto told = told_.find({of.type(), id});
    if (told != told_.end()) { // a row that changed its shard may still be in both
        while (rows_ahead* const old = with_lowest(of)) {
            if (old->next()->id != id) break;
            old->pop();
        }
        const bytes_view as_told = told->second ? bytes_view(*told->second) : record;
        if (!as_told.empty()) rows_digest_.add(as_told);
        if (!archive::same(as_told, record)) note(of, id, "not as the feed told");
        return;
    }
    if (!is_there) return note(of, id, "missing");
    ++found_.rows;
    const byte_buffer row = from->next()->record;
    from->pop();
    rows_digest_.add(row);
    if (!archive::same(row, record)) note(of, id, columns_that_differ(of, row, record));
}

/// Those below an id are of no object, or of one that the feed told is none.
void comparison::take_rows(const table& of, std::uint64_t before) {
    while (rows_ahead* const from = with_lowest(of)) {
        const rows_ahead::row& row = *from->next();
        if (row.id >= before) return;
        const auto told = told_.find({of.type(), row.id});
        if (told == told_.end() || !told->second || !told->second->empty()) {
            rows_digest_.add(row.record);
            note(of, row.id, "too many");
        }
        from->pop();
    }
}

/// Of the databases whose next row is of this table the one with the lowest id; null: none.
rows_ahead* comparison::with_lowest(const table& of) {
    rows_ahead* lowest = nullptr;
    for (const auto& one : rows_) {
        const rows_ahead::row* const row = one->next();
        if (!row || row->of != &of) continue;
        if (!lowest || row->id < lowest->next()->id) lowest = one.get();
    }
    return lowest;
}

void comparison::note(const table& of, std::uint32_t id, std::string what) {
    ++found_.different;
    if (found_.first.size() < most_) found_.first.push_back({of.type(), id, std::move(what)});
}

std::string comparison::columns_that_differ(const table& of, bytes_view a, bytes_view b) {
    row_values left(of);
    row_values right(of);
    const std::vector<value>& ours = left.read(a);
    const std::vector<value>& theirs = right.read(b);
    std::string names;
    for (std::size_t number = 0; number < ours.size(); ++number) {
        if (same(ours[number], theirs[number])) continue;
        if (!names.empty()) names += ", ";
        names += of.columns()[number].name;
    }
    return names;
}

} // namespace

verification verify(const sink_options& asked, std::size_t most_differences,
                    std::function<bool()> is_over) {
    return comparison(asked, most_differences, is_over).run();
}

} // namespace chainbase::sink

#include <archive/record/described_record.hpp>
#include <chainbase/feed/block_texts.hpp>
#include <chainbase/feed/live_files.hpp>
#include <chainbase/feed/log_reader.hpp>
#include <chainbase/locks/snapshot_slots.hpp>
#include <chainbase/segment/index_base.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/before_images.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

namespace chainbase::feed {

namespace fs = std::filesystem;

namespace {

/// An object that a block touched.
struct touched {
    std::uint32_t type;
    std::uint32_t id;
    std::uint64_t at; ///< of its value, in the address space
    bool existed;
    bool exists;
    std::size_t before = 0, after = 0; ///< its values, in block::values
};

struct block {
    revision_number revision = 0;
    std::uint32_t serial = 0;
    log_time begin = 0, end = 0;
    std::vector<touched> objects; ///< by type and id
    std::vector<std::byte> values;
    std::vector<entry::next_id> next_ids = {}; ///< of the types whose objects changed, at its end
    std::vector<entry::next_id> next_ids_before = {};
};

/// A place of the address space as it is, and then as it was.
struct place {
    std::uint64_t at;
    std::uint32_t bytes;
    std::size_t value; ///< where its bytes are
};

/// Types of the state root, whose objects change by words and follow from all others.
bool is_told(const type_schema& type) noexcept {
    return !type.name.starts_with("state_root.");
}

bool is_of_object(record_kind kind) noexcept {
    return kind != record_kind::mark && kind != record_kind::words;
}

/// Of the root of a type, in the window of its objects.
constexpr std::size_t next_id_at = sizeof(window_header) + offsetof(detail::root_prefix, next_id);

constexpr std::size_t mark_bytes = write_barrier::record_bytes(sizeof(session_mark));

} // namespace

class log_reader::reading {
public:
    reading(const fs::path& state, start at, const before_images* where);

    [[nodiscard]] const std::deque<type_schema>& types() const noexcept { return types_; }
    [[nodiscard]] revision_number revision() const noexcept { return revision_; }
    [[nodiscard]] std::uint32_t serial() const noexcept { return ends_.back().serial; }
    [[nodiscard]] bool has_read() const noexcept { return !waiting_.empty(); }
    [[nodiscard]] bool next(entry& into);
    [[nodiscard]] std::optional<std::uint32_t> serial_of(const before_images& snapshot);

private:
    /// The end of a block that was told of.
    struct told_end : block_end {
        std::uint32_t serial;
    };

    void begin(start at, const before_images* where);
    [[nodiscard]] bool look();
    void note_types();
    void note_life_cycles();
    [[nodiscard]] std::uint32_t type_at(std::uint64_t offset);
    void note_root(const before_images::record& one, block& of) const;
    static void note_next_id(std::uint32_t type, block& of);
    [[nodiscard]] std::uint64_t place_of_next_id(std::uint32_t type) const;
    void go_back(const before_images::step_back& by);
    [[nodiscard]] bool read_blocks(const block_end& to);
    [[nodiscard]] std::vector<block> split(const block_end& to) const;
    void find_objects(std::vector<block>& blocks);
    void find_values(std::vector<block>& blocks);
    void find_texts(const std::vector<block>& blocks, block_texts& into) const;
    [[nodiscard]] std::set<std::pair<std::uint32_t, std::uint32_t>>
    archived_in(const block& of) const;
    [[nodiscard]] entry told(const block& of, block_texts& texts) const;
    /// From the oldest end on to which it may have to go back.
    void announce() { slot_->announce({ends_.front().time, images_->from().epoch}); }
    [[nodiscard]] bool tell_irreversible();
    [[noreturn]] void throw_lost(const std::string& why) const;

    fs::path state_;
    std::optional<snapshot_slot> slot_;
    std::optional<before_images> images_;
    std::optional<live_files> files_;
    fs::path log_;
    std::deque<type_schema> types_;
    std::deque<archive::described_record> records_;
    /// Which objects the entries of a life cycle (archive/lifecycle.md) name, by the entries' type.
    struct departure {
        std::uint32_t type;   ///< of the object
        std::uint32_t offset; ///< of its id in the value
        bool is_removed;      ///< else it was retired
    };
    std::map<std::uint32_t, departure> departures_;
    std::unordered_map<std::uint64_t, std::uint32_t> type_of_; ///< by window of the objects
    /// Of the blocks that may be undone, and the newest one that may not.
    std::deque<told_end> ends_;
    std::deque<entry> told_; ///< those of ends_ but the first
    std::deque<entry> waiting_;
    revision_number revision_ = 0;
    revision_number irreversible_ = 0; ///< as told
};

/// Unless `where` is null it begins where that did.
log_reader::reading::reading(const fs::path& state, start at, const before_images* where)
    : state_(state) {
    open_options options;
    options.mode = open_mode::read_only;
    const state_opening opening(state, options);
    opening.find_for_reading();
    log_ = opening.place().folder() / "undo_log";
    images_.emplace(log_.string());
    images_->need_log_only();
    slot_.emplace(state / "readers");
    if (where && !where->is_at(log_.string())) throw_lost("the segment was replaced");
    begin(at, where);
    files_.emplace(state, log_.parent_path());
    opening.place().require_identity(files_->header().identity);
    if (!images_->is_at(log_.string())) throw_lost("the segment was replaced");
    note_types();
    irreversible_ = std::min(images_->committed().value_or(revision_), revision_);
}

/// Until it is announced the writer does not keep the log for it.
void log_reader::reading::begin(start at, const before_images* where) {
    constexpr unsigned most_begins = 100;
    for (unsigned tries = 1;; ++tries) {
        if (where) {
            images_->begin_at(*where);
        } else {
            images_->begin();
            if (at == start::irreversible) images_->begin_at_oldest();
        }
        ends_.assign(1, {images_->from(), 0});
        revision_ = images_->from().revision;
        announce();
        try {
            images_->require_usable();
            if (where || at == start::newest) return;
            const auto serial = images_->serial_of_base();
            if (!serial) throw too_old_error("it goes on all the time");
            ends_.back().serial = *serial;
            return;
        } catch (const too_old_error& problem) {
            if (where || tries == most_begins) throw_lost(problem.what());
            std::this_thread::sleep_for(std::chrono::microseconds(10 * tries));
        }
    }
}

bool log_reader::reading::next(entry& into) {
    constexpr unsigned most_tries = 100;
    for (unsigned tries = 1; waiting_.empty(); ++tries) {
        if (!images_->is_at(log_.string())) throw_lost("the segment was replaced");
        if (const auto back = images_->undone())
            go_back(*back);
        else if (look())
            return false;
        if (tries == most_tries && waiting_.empty())
            throw busy_error(state_.string() + ": blocks are undone all the time; try again");
    }
    into = std::move(waiting_.front());
    waiting_.pop_front();
    return true;
}

/// Looks for something to tell. Returns whether there is nothing: false, too, if a block was undone
/// meanwhile, which is told first.
bool log_reader::reading::look() {
    try {
        const block_end to = images_->find_newest();
        if (to.time != images_->from().time && !read_blocks(to)) return false;
        revision_ = to.revision; // a session may have been squashed
        return waiting_.empty() && tell_irreversible() && waiting_.empty();
    } catch (const too_old_error& problem) {
        if (!images_->undone()) throw_lost(problem.what());
        return false;
    }
}

void log_reader::reading::throw_lost(const std::string& why) const {
    throw too_old_error(state_.string() + ": what changed after revision " +
                        std::to_string(revision()) + " cannot be told (" + why +
                        "); take a snapshot, and follow from there");
}

/// "comment.removed" and "comment.retired" name objects of "comment".
void log_reader::reading::note_life_cycles() {
    for (std::uint32_t type = 0; type < types_.size(); ++type)
        for (const auto& [suffix, is_removed] :
             {std::pair(".removed", true), {".retired", false}}) {
            const std::string name = types_[type].name + suffix;
            const auto kept = std::ranges::find(types_, name, &type_schema::name);
            if (kept == types_.end()) continue;
            const auto id = std::ranges::find(kept->fields, "object", &type_schema::field::name);
            if (id == kept->fields.end() || id->bytes != sizeof(std::uint32_t)) continue;
            departures_[static_cast<std::uint32_t>(kept - types_.begin())] = {type, id->offset,
                                                                              is_removed};
        }
}

void log_reader::reading::note_types() {
    for (std::size_t i = types_.size(); i < files_->types().entries().size(); ++i) {
        const catalogue::entry& added = files_->types().entries()[i];
        type_of_.emplace(added.first_window, static_cast<std::uint32_t>(i));
        types_.push_back(added.schema);
        records_.emplace_back(types_.back());
    }
    note_life_cycles();
}

std::uint32_t log_reader::reading::type_at(std::uint64_t offset) {
    const std::uint64_t window = offset / files_->header().window_bytes;
    if (!type_of_.contains(window)) { // it was added since
        files_.emplace(state_, log_.parent_path());
        note_types();
    }
    const auto found = type_of_.find(window);
    if (found == type_of_.end())
        throw damaged_error(log_.string() + ": a record is of an object in window " +
                            std::to_string(window) +
                            ", which no type has; run chainbase-inspect check");
    return found->second;
}

std::uint64_t log_reader::reading::place_of_next_id(std::uint32_t type) const {
    return files_->types().entries()[type].first_window * files_->header().window_bytes +
           next_id_at;
}

/// Pops what was undone, down to the newest block that was not.
void log_reader::reading::go_back(const before_images::step_back& by) {
    while (ends_.back().time > by.to) {
        if (ends_.size() == 1)
            throw_lost("the state went back behind the block at which this began");
        waiting_.push_back(pop_of(told_.back()));
        ends_.pop_back();
        told_.pop_back();
    }
    images_->go_back(ends_.back(), by);
    revision_ = ends_.back().revision;
    announce();
}

/// Returns false if a block of that revision may be another one than was told of.
bool log_reader::reading::tell_irreversible() {
    const auto committed = images_->committed();
    if (!committed || images_->undone()) return false;
    const revision_number now = std::min(*committed, revision_);
    while (ends_.size() > 1 && ends_[1].revision <= now) {
        ends_.pop_front();
        told_.pop_front();
    }
    announce();
    if (now <= irreversible_) return true;
    irreversible_ = now;
    waiting_.push_back({entry::kind::irreversible, now, ends_.front().serial, {}, {}});
    return true;
}

/// Returns false if one of these blocks was undone before all of it was read: then nothing is told
/// of any.
bool log_reader::reading::read_blocks(const block_end& to) {
    std::vector<block> blocks = split(to);
    find_objects(blocks);
    find_values(blocks);
    if (!images_->holds(to)) return false; // their values may be of different times
    block_texts texts(*files_, *images_);
    do
        find_texts(blocks, texts);
    while (texts.fetch());
    std::deque<entry> told_of;
    std::deque<told_end> ends = ends_;
    for (const block& one : blocks) {
        told_of.push_back(told(one, texts));
        ends.push_back({{one.revision, 0, one.end, to.epoch}, one.serial});
    }
    if (!images_->holds(to)) return false;
    told_.insert(told_.end(), told_of.begin(), told_of.end());
    images_->move_to(to);
    ends_.swap(ends);
    waiting_.swap(told_of);
    announce();
    return true;
}

/// A block begins at the newest mark of its revision. Newer marks of higher ones are of sessions
/// that were squashed into it.
std::vector<block> log_reader::reading::split(const block_end& to) const {
    std::vector<block> blocks;
    block now{to.revision, ends_.back().serial, images_->from().time, to.time, {}, {}};
    std::uint32_t squashed_last = 0; // session of those right above `now`
    const auto& records = images_->records();
    for (std::size_t i = records.size(); i-- > 0;) {
        const before_images::record& one = records[i];
        if (one.kind != record_kind::mark || one.time > to.time) continue;
        session_mark mark{};
        std::memcpy(&mark, one.content, sizeof mark);
        if (mark.revision == now.revision + 1 && squashed_last == 0) squashed_last = mark.serial;
        if (mark.revision > now.revision) continue;
        if (mark.revision < now.revision) throw too_old_error("its revision was set");
        now.begin = one.time - mark_bytes;
        now.serial = mark.serial;
        blocks.push_back(now);
        now = {mark.revision - 1, ends_.back().serial, images_->from().time, now.begin, {}, {}};
        squashed_last = 0;
    }
    // Sessions that were squashed into the block of from().
    if (std::ranges::any_of(records, [&](const before_images::record& one) {
            return one.time <= now.end && is_of_object(one.kind);
        })) {
        if (squashed_last != 0) now.serial = squashed_last; // as undo_log::squash() stores it
        blocks.push_back(now);
    }
    std::ranges::reverse(blocks);
    return blocks;
}

/// Both read one log: what this finds between where it began and there, and what was not undone
/// since the snapshot began, is the same.
std::optional<std::uint32_t> log_reader::reading::serial_of(const before_images& snapshot) {
    const block_end& of = snapshot.from();
    if (images_->losses() != snapshot.losses() || of.revision < revision()) return std::nullopt;
    std::optional<std::uint32_t> found;
    if (of.revision == revision() && of.time == images_->from().time) found = serial();
    const block_end to = images_->find_newest();
    if (to.time != images_->from().time)
        for (const block& one : split(to))
            if (one.revision == of.revision && one.end == of.time) found = one.serial;
    return snapshot.undone() ? std::nullopt : found;
}

/// A record of a type's root is in each block that changes what the root has.
void log_reader::reading::note_root(const before_images::record& one, block& of) const {
    const std::uint64_t within = one.offset % files_->header().window_bytes;
    if (within > next_id_at || next_id_at - within >= one.bytes) return;
    const auto type = type_of_.find(one.offset / files_->header().window_bytes);
    if (type != type_of_.end() && is_told(types_[type->second])) note_next_id(type->second, of);
}

void log_reader::reading::note_next_id(std::uint32_t type, block& of) {
    if (std::ranges::find(of.next_ids, type, &entry::next_id::type) == of.next_ids.end())
        of.next_ids.push_back({type, 0});
}

void log_reader::reading::find_objects(std::vector<block>& blocks) {
    const auto& records = images_->records();
    auto record = records.begin();
    std::uint64_t window = UINT64_MAX; // of the last record, and its type
    std::uint32_t type = 0;
    for (block& of : blocks) {
        std::vector<touched>& found = of.objects;
        for (; record != records.end() && record->time <= of.end; ++record) {
            if (record->kind == record_kind::words) note_root(*record, of);
            if (!is_of_object(record->kind)) continue;
            std::uint32_t id = 0;
            std::memcpy(&id, record->content, sizeof id);
            if (record->offset / files_->header().window_bytes != window) {
                type = type_at(record->offset);
                window = record->offset / files_->header().window_bytes;
            }
            if (!is_told(types_[type])) continue;
            if (record->kind == record_kind::created) note_next_id(type, of); // of a new type, too
            found.push_back({type, id, record->offset, record->kind != record_kind::created,
                             record->kind != record_kind::removed});
        }
        // Of each object the first record says whether it existed and where, the last one whether
        // it does.
        const auto key = [](const touched& one) { return std::pair(one.type, one.id); };
        std::ranges::stable_sort(found, {}, key);
        auto to = found.begin();
        for (auto at = found.begin(); at != found.end();) {
            touched one = *at;
            for (; at != found.end() && key(*at) == key(one); ++at)
                one.exists = at->exists;
            if (one.existed || one.exists) *to++ = one;
        }
        found.erase(to, found.end());
    }
}

/// Of all objects the bytes as they are, and then back through the log: as of the end of each
/// block, and of its begin.
void log_reader::reading::find_values(std::vector<block>& blocks) {
    std::vector<place> places;
    for (const block& of : blocks)
        for (const touched& one : of.objects)
            places.push_back({one.at, types_[one.type].value_bytes, 0});
    for (const block& of : blocks)
        for (const entry::next_id& one : of.next_ids)
            places.push_back({place_of_next_id(one.type), sizeof one.id, 0});
    std::ranges::sort(places, {}, &place::at);
    places.erase(std::unique(places.begin(), places.end(),
                             [](const place& a, const place& b) { return a.at == b.at; }),
                 places.end());
    std::size_t bytes = 0;
    for (place& one : places)
        one.value = std::exchange(bytes, bytes + one.bytes);
    std::vector<std::byte> values(bytes);
    std::vector<live_files::piece> pieces;
    for (const place& one : places)
        pieces.push_back({one.at, std::span(values).subspan(one.value, one.bytes)});
    auto copy = [&] { files_->copy(pieces); };
    images_->with_images([](void* with) { (*static_cast<decltype(copy)*>(with))(); }, &copy);

    const auto& records = images_->records();
    std::size_t left = records.size();
    const auto go_back_to = [&](log_time time) {
        for (; left != 0 && records[left - 1].time > time; --left) {
            const before_images::record& one = records[left - 1];
            if (!one.restores()) continue;
            auto at = std::ranges::upper_bound(places, one.offset, {}, &place::at);
            if (at != places.begin()) --at;
            for (; at != places.end() && at->at < one.offset + one.bytes; ++at) {
                const std::uint64_t from = std::max(at->at, one.offset);
                const std::uint64_t to = std::min(at->at + at->bytes, one.offset + one.bytes);
                if (from < to)
                    std::memcpy(values.data() + at->value + (from - at->at),
                                one.content + (from - one.offset), to - from);
            }
        }
    };
    const auto value_at = [&](std::uint64_t at) {
        const place& found = *std::ranges::lower_bound(places, at, {}, &place::at);
        return std::span(values).subspan(found.value, found.bytes);
    };
    const auto keep = [&](block& of, bool touched::* is, std::size_t touched::* where) {
        for (touched& one : of.objects) {
            one.*where = of.values.size();
            if (!(one.*is)) continue;
            const auto value = value_at(one.at);
            of.values.insert(of.values.end(), value.begin(), value.end());
        }
    };
    const auto keep_next_ids = [&](std::vector<entry::next_id>& of) {
        for (entry::next_id& one : of)
            std::memcpy(&one.id, value_at(place_of_next_id(one.type)).data(), sizeof one.id);
    };
    for (std::size_t i = blocks.size(); i-- > 0;) {
        go_back_to(blocks[i].end);
        keep(blocks[i], &touched::exists, &touched::after);
        keep_next_ids(blocks[i].next_ids);
        go_back_to(blocks[i].begin);
        keep(blocks[i], &touched::existed, &touched::before);
        blocks[i].next_ids_before = blocks[i].next_ids;
        keep_next_ids(blocks[i].next_ids_before);
    }
}

/// Asks for what is needed.
void log_reader::reading::find_texts(const std::vector<block>& blocks, block_texts& into) const {
    archive::byte_buffer unused;
    for (const block& of : blocks) {
        const auto then = into.at(of.begin);
        const auto now = into.at(of.end);
        for (const touched& one : of.objects) {
            const archive::described_record& record = records_[one.type];
            if (!record.has_buffers()) continue;
            unused.clear();
            if (one.existed) record.append(of.values.data() + one.before, then, unused);
            if (one.exists) record.append(of.values.data() + one.after, now, unused);
        }
    }
}

/// The objects, by type, that left memory for the archive: those that left the queue of retired
/// ones and were not removed.
std::set<std::pair<std::uint32_t, std::uint32_t>>
log_reader::reading::archived_in(const block& of) const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> archived, removed;
    for (const touched& one : of.objects) {
        const auto kept = departures_.find(one.type);
        if (kept == departures_.end()) continue;
        const auto& [type, offset, is_removed] = kept->second;
        if (is_removed ? one.existed || !one.exists : !one.existed || one.exists) continue;
        std::uint32_t id = 0;
        std::memcpy(&id, of.values.data() + (is_removed ? one.after : one.before) + offset,
                    sizeof id);
        (is_removed ? removed : archived).emplace(type, id);
    }
    for (const auto& one : removed)
        archived.erase(one);
    return archived;
}

entry log_reader::reading::told(const block& of, block_texts& texts) const {
    entry made{entry::kind::block, of.revision, of.serial, {}, {}};
    const auto archived = archived_in(of);
    const auto then = texts.at(of.begin);
    const auto now = texts.at(of.end);
    for (const touched& one : of.objects) {
        const archive::described_record& record = records_[one.type];
        using kind = object_change::kind;
        const kind what = !one.existed                            ? kind::created
                          : one.exists                            ? kind::modified
                          : archived.contains({one.type, one.id}) ? kind::archived
                                                                  : kind::removed;
        object_change told{one.type, one.id, what, made.content.size(), 0, 0};
        if (one.existed) record.append(of.values.data() + one.before, then, made.content);
        told.after_at = made.content.size();
        if (one.exists) record.append(of.values.data() + one.after, now, made.content);
        told.end = made.content.size();
        if (what == kind::modified && archive::same(made.before(told), made.after(told)))
            made.content.resize(told.before_at);
        else
            made.changes.push_back(told);
    }
    for (std::size_t i = 0; i < of.next_ids.size(); ++i) {
        const entry::next_id& one = of.next_ids[i];
        const auto is_last = [&](const object_change& each) {
            return each.type == one.type && each.id + 1 == one.id &&
                   each.what == object_change::kind::created;
        };
        if (one.id != of.next_ids_before[i].id && std::ranges::none_of(made.changes, is_last))
            made.next_ids.push_back(one);
    }
    return made;
}

log_reader::log_reader(const fs::path& state, start at)
    : reading_(std::make_unique<reading>(state, at, nullptr)) {}
log_reader::log_reader(const snapshot& at)
    : reading_(std::make_unique<reading>(at.state(), start::newest, &at.memory().images())) {}
log_reader::~log_reader() = default;

const std::deque<type_schema>& log_reader::types() const noexcept {
    return reading_->types();
}

revision_number log_reader::revision() const noexcept {
    return reading_->revision();
}

std::uint32_t log_reader::serial() const noexcept {
    return reading_->serial();
}

bool log_reader::has_read() const noexcept {
    return reading_->has_read();
}

bool log_reader::next(entry& into) {
    return reading_->next(into);
}

std::optional<std::uint32_t> log_reader::serial_of(const snapshot& of) {
    reading from(of.state(), start::irreversible, nullptr);
    return from.serial_of(of.memory().images());
}

} // namespace chainbase::feed

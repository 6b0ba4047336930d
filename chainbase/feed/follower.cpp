#include <chainbase/feed/follower.hpp>
#include <chainbase/feed/log_reader.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/before_images.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace chainbase::feed {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds patience{5};
constexpr std::chrono::milliseconds pause{2};

} // namespace

class follower::following {
public:
    following(const fs::path& state, const std::string& name, disk* on);
    following(const fs::path& state, revision_number from, disk* on);

    [[nodiscard]] const checkpoint::slot_file::identity& state() {
        static_cast<void>(end());
        return head_.value().state();
    }
    [[nodiscard]] bool is_new() const noexcept { return cursor_ && !cursor_->now().has_begun; }
    void begin_at(const snapshot& at);
    [[nodiscard]] bool next(entry& into);
    [[nodiscard]] const std::deque<type_schema>& types() const noexcept { return types_; }
    [[nodiscard]] feed_position position() const noexcept { return at_; }
    [[nodiscard]] revision_number revision() const noexcept { return revision_; }
    void go_to(feed_position at);
    void keep() { keep(at_, revision_); }
    void keep(feed_position behind, revision_number at) {
        if (cursor_) cursor_->set({behind, true, at});
    }

private:
    [[nodiscard]] std::optional<feed_position> find(const block_name& block);
    void take_types(const feed_reader::record& from);
    void know_types();
    [[noreturn]] void throw_damaged(feed_position at) const;
    [[nodiscard]] feed_position end();

    disk& on_;
    fs::path folder_;
    std::optional<feed_cursor> cursor_; ///< nothing: it reads from a revision on
    std::optional<feed_head> head_;
    std::optional<feed_reader> reader_;
    feed_reader::record record_;
    std::deque<type_schema> types_;
    bool knows_types_ = false;
    std::optional<revision_number> from_; ///< what is below is passed over, until that is reached
    feed_position at_ = 0;
    revision_number revision_ = 0;
};

follower::following::following(const fs::path& state, const std::string& name, disk* on)
    : on_(on ? *on : disk::of_system()), folder_(feed_folder(state)) {
    if (!on_.exists(folder_)) { // nothing is made where there is no state
        open_options options;
        options.mode = open_mode::read_only;
        state_opening(state, options).find_for_reading();
        on_.make_folder(folder_);
    }
    cursor_.emplace(on_, folder_, name, disk::mode::create, end());
    at_ = cursor_->now().at;
    revision_ = cursor_->now().revision;
}

follower::following::following(const fs::path& state, revision_number from, disk* on)
    : on_(on ? *on : disk::of_system()), folder_(feed_folder(state)), from_(from),
      revision_(std::max<revision_number>(from, 0) - 1) {
    open_options options;
    options.mode = open_mode::read_only;
    state_opening(state, options).find_for_reading();
    const feed_position end = this->end();
    const std::vector<feed_position> files = entries_files(on_, folder_);
    if (!reader_ || files.empty())
        throw usage_error(folder_.string() +
                          ": nothing is kept, since nobody follows; a cursor begins it");
    // The revision behind which what is told begins, without a break until the end.
    std::optional<revision_number> first;
    constexpr feed_position nowhere = UINT64_MAX;
    feed_position found = nowhere;
    for (at_ = files.front(); at_ < end; at_ = record_.end) {
        if (!reader_->read(at_, record_)) throw_damaged(at_);
        const feed_record& head = record_.head;
        if (head.what == feed_record::begin) {
            first = head.revision;
            found = nowhere;
        }
        // A file begins with the types, whose record names the block before.
        if (!first) first = head.revision;
        if (head.what != feed_record::block && head.what != feed_record::pop) continue;
        if (found == nowhere && head.revision >= from) found = at_;
    }
    if (!first || *first >= from)
        throw too_far_behind_error(
            folder_.string() + ": revision " + std::to_string(from) + " is not there any more" +
            (first ? ", what is begins after revision " + std::to_string(*first) : std::string()) +
            "; take a snapshot, and follow from there");
    at_ = std::min(found, end);
}

/// 0 until a node has written.
feed_position follower::following::end() {
    if (!head_) {
        if (!on_.exists(folder_ / "head")) return 0;
        head_.emplace(on_, folder_);
        reader_.emplace(on_, folder_, head_->state());
    }
    return head_->end();
}

void follower::following::begin_at(const snapshot& at) {
    const auto until = std::chrono::steady_clock::now() + patience;
    std::optional<std::uint32_t> serial;
    try {
        serial = log_reader::serial_of(at);
    } catch (const too_old_error&) { // as if it was undone
    }
    while (serial && !at.memory().images().undone() && std::chrono::steady_clock::now() < until) {
        if (const auto found = find({at.revision(), *serial})) {
            at_ = *found;
            revision_ = at.revision();
            knows_types_ = false;
            return keep();
        }
        if (!file_lock::is_held(fs::path(at.state()) / "lock")) break; // nobody is going to
        std::this_thread::sleep_for(pause);
    }
    throw busy_error(folder_.string() + ": the feed has not told of revision " +
                     std::to_string(at.revision()) +
                     " (no node writes it, or this block was undone); take a new snapshot");
}

/// Behind the block, if its entry may be read.
std::optional<feed_position> follower::following::find(const block_name& block) {
    const feed_position end = this->end();
    if (!reader_) return std::nullopt;
    std::vector<feed_position> files = entries_files(on_, folder_);
    for (feed_position stop = end; !files.empty(); files.pop_back()) {
        std::optional<feed_position> found;
        try {
            for (feed_position at = files.back(); at < stop && reader_->read(at, record_);) {
                at = record_.end;
                const auto what = record_.head.what;
                if (what != feed_record::block && what != feed_record::begin) continue;
                if (block.is_behind({record_.head.revision, record_.head.serial})) found = at;
            }
        } catch (const error&) { // damaged, or removed meanwhile: another file may have it
        }
        if (found) return found;
        stop = std::min(stop, files.back());
    }
    return std::nullopt;
}

bool follower::following::next(entry& into) {
    if (is_new())
        throw usage_error(folder_.string() + ": this cursor has not begun; begin_at(snapshot)");
    while (at_ < end()) {
        if (!knows_types_) know_types();
        if (!reader_->read(at_, record_)) throw_damaged(at_);
        const feed_record& head = record_.head;
        if (head.what == feed_record::begin) {
            const std::string why(reinterpret_cast<const char*>(record_.body.data()),
                                  record_.body.size());
            throw too_far_behind_error(reader_->place(at_) + ": what follows revision " +
                                           std::to_string(revision_) + " is not told (" + why +
                                           "); take a snapshot, and follow from there",
                                       why);
        }
        const feed_position end_of_record = record_.end;
        if (head.what == feed_record::types) {
            take_types(record_);
            at_ = end_of_record;
            continue;
        }
        if (from_ && head.revision < *from_) {
            at_ = end_of_record;
            continue;
        }
        from_.reset();
        into.revision = head.revision;
        into.serial = head.serial;
        into.changes.clear();
        into.content.clear();
        into.next_ids.clear();
        switch (head.what) {
        case feed_record::block:
        case feed_record::pop:
            into.what = head.what == feed_record::pop ? entry::kind::pop : entry::kind::block;
            try {
                decode(record_, into);
                for (const object_change& each : into.changes)
                    if (each.type >= types_.size()) throw damaged_error("an object of no type");
                for (const entry::next_id& each : into.next_ids)
                    if (each.type >= types_.size()) throw damaged_error("an id of no type");
            } catch (const damaged_error& problem) {
                throw damaged_error(reader_->place(at_) + ": " + problem.what());
            }
            revision_ = head.what == feed_record::pop ? head.revision - 1 : head.revision;
            break;
        case feed_record::irreversible:
            into.what = entry::kind::irreversible;
            break;
        default:
            throw format_error(reader_->place(at_) + ": an entry of kind " +
                               std::to_string(head.what) +
                               ", which this version does not know; follow with a newer one");
        }
        at_ = end_of_record;
        return true;
    }
    return false;
}

/// Those that were there before the place at which it begins: the file has them in its begin.
void follower::following::know_types() {
    const std::vector<feed_position> files = entries_files(on_, folder_);
    const auto after = std::ranges::upper_bound(files, at_);
    if (after == files.begin()) { // next() says so, also of a file that is open still
        reader_.emplace(on_, folder_, head_->state());
        return;
    }
    for (feed_position at = *std::prev(after); at < at_; at = record_.end) {
        if (!reader_->read(at, record_)) throw_damaged(at);
        if (record_.head.what == feed_record::types) take_types(record_);
    }
    knows_types_ = true;
}

void follower::following::throw_damaged(feed_position at) const {
    throw damaged_error(reader_->place(at) + ": not the entry that was written there; take a "
                                             "snapshot, and follow from there");
}

void follower::following::take_types(const feed_reader::record& from) {
    const std::string text(reinterpret_cast<const char*>(from.body.data()), from.body.size());
    const catalogue all = catalogue_of(text, folder_);
    for (std::size_t i = types_.size(); i < all.entries().size(); ++i)
        types_.push_back(all.entries()[i].schema);
}

/// Behind the end there is nothing to check yet: after a loss of power that is only known when the
/// node has started.
void follower::following::go_to(feed_position at) {
    feed_reader::record one;
    if (at < end() && !reader_->read(at, one))
        throw usage_error(reader_->place(at) + ": no entry begins there");
    at_ = at;
    from_.reset();
    knows_types_ = false;
    if (is_new()) keep();
}

follower::follower(const fs::path& state, const std::string& name, disk* on)
    : following_(std::make_unique<following>(state, name, on)) {}
follower::follower(const fs::path& state, revision_number from, disk* on)
    : following_(std::make_unique<following>(state, from, on)) {}
follower::~follower() = default;

const checkpoint::slot_file::identity& follower::state() const {
    return following_->state();
}

bool follower::is_new() const noexcept {
    return following_->is_new();
}

void follower::begin_at(const snapshot& at) {
    following_->begin_at(at);
}

bool follower::next(entry& into) {
    return following_->next(into);
}

const std::deque<type_schema>& follower::types() const noexcept {
    return following_->types();
}

feed_position follower::position() const noexcept {
    return following_->position();
}

revision_number follower::revision() const noexcept {
    return following_->revision();
}

void follower::go_to(feed_position at) {
    following_->go_to(at);
}

void follower::keep() {
    following_->keep();
}

void follower::keep(feed_position behind, revision_number at) {
    following_->keep(behind, at);
}

} // namespace chainbase::feed

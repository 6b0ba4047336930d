#include <chainbase/database.hpp>
#include <chainbase/feed/feed_end.hpp>
#include <chainbase/feed/log_reader.hpp>
#include <chainbase/feed/writer.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <undo/undo_log.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::feed {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;

const trace::site telling("feed.tell");
const trace::site waited_for("feed.wait");
const trace::counter bytes_written("feed.bytes");
const trace::counter blocks_written("feed.blocks");
const trace::counter series_begun("feed.series");
const trace::counter failures("feed.failed");
const trace::gauge followers("feed.followers");
const trace::gauge behind("feed.slowest_cursor.bytes");
const trace::gauge not_shown("feed.waiting.bytes");

constexpr std::chrono::milliseconds pause_followed{2};
constexpr std::chrono::milliseconds pause_unfollowed{100};
constexpr std::chrono::seconds pause_after_failure{1};
constexpr std::chrono::seconds pause_of_cursors{1};
/// Without a redo log, whose thread asks for it when blocks go to storage: this many times as long
/// as the last one took, so that a slow disk does not take the time of reading.
constexpr int pause_of_syncs = 4;
constexpr std::chrono::milliseconds longest_pause_of_syncs{50};

/// Of what followers may only read together with what comes behind it.
constexpr block_name nameless{-1, 0};

/// What leads from the end of the files to a state.
struct way_to_state {
    std::size_t same = 0; ///< blocks of the state, up to the newest one that the files have
    std::size_t pops = 0; ///< of the files' newest blocks
    std::string why;      ///< empty, or why there is none
};

/// `of_state`: the newest block that cannot be undone, and those after it.
way_to_state compare(const std::vector<feed_end::block>& of_state, feed_end& end) {
    way_to_state found{.why = end.damage()};
    if (!found.why.empty()) return found;
    const auto& told = end.blocks();
    const auto oldest = [&] { // block of the state that leads to the end
        for (found.same = 0; found.same < of_state.size();) {
            const feed_end::block& one = of_state[found.same++];
            const auto at =
                std::ranges::find_if(told, [&](const auto& each) { return each.is(one); });
            if (at != told.end()) return at;
        }
        return told.end();
    };
    auto at = oldest();
    while (at == told.end() && end.reach_back())
        at = oldest();
    if (at == told.end()) {
        found.why = end.damage();
        if (found.why.empty())
            found.why =
                "revision " + std::to_string(of_state[0].name.revision) + " was not told of";
        return found;
    }
    for (++at; at != told.end() && found.same < of_state.size() && at->is(of_state[found.same]);
         ++at)
        ++found.same;
    found.pops = static_cast<std::size_t>(told.end() - at);
    if (found.pops != 0 && end.is_irreversible(*at))
        found.why = "revision " + std::to_string(at->name.revision) +
                    ", which was irreversible, is another one";
    return found;
}

} // namespace

class writer::writing final : public commit_gate {
public:
    writing(database& of, const writer_options& how);
    ~writing();

    void abandon() noexcept;
    [[nodiscard]] writer_statistics so_far() const;
    void before_commit(revision_number newest, std::uint32_t serial) noexcept override;

private:
    void wait_for(std::unique_lock<std::mutex>& lock, bool on_storage);
    void require_on_storage();
    void wait_for_redo_log() noexcept;
    void run();
    void answer(std::uint64_t& done, std::uint64_t asked);
    [[nodiscard]] bool work();
    void look_for_cursors();
    void open();
    void tell();
    void begin_reading();
    void note_unseen();
    void take_types();
    void add(const entry& one);
    void show(bool is_stopping);
    void tell_irreversible(feed_position to);
    void fail(const char* why) noexcept;

    segment& of_;
    writer_options how_;
    disk& on_;
    fs::path folder_;
    std::optional<file_lock> lock_;

    // of the thread
    std::optional<feed_head> head_;
    std::optional<feed_end> end_;
    std::unique_ptr<log_reader> reader_;
    std::size_t types_ = 0; ///< of the reader that were written
    catalogue all_types_;
    struct unseen {
        block_name name;
        feed_position end;
    };
    /// What followers may not read yet; pops have no name, since what follows them has to be
    /// there, too.
    std::deque<unseen> unseen_;
    feed_position shown_ = 0;
    revision_number irreversible_ = 0; ///< as the reader told
    writer_statistics now_;
    clock::time_point next_look_{}; ///< at the cursors
    clock::time_point next_try_{};
    clock::time_point next_sync_{};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t asked_ = 0; ///< calls that wait until all that was published is told
    std::uint64_t asked_on_storage_ = 0;
    std::uint64_t done_ = 0;
    std::uint64_t done_on_storage_ = 0;
    std::vector<block_name> told_; ///< blocks that may still be undone
    bool is_followed_ = false;
    bool is_writing_ = false; ///< else nobody waits for it
    bool is_stopping_ = false;
    bool is_abandoned_ = false;
    writer_statistics so_far_;

    std::shared_ptr<void> before_checkpoints_;
    std::thread thread_;
};

writer::writing::writing(database& of, const writer_options& how)
    : of_(of.memory()), how_(how), on_(how.on ? *how.on : disk::of_system()),
      folder_(feed_folder(of_.state())) {
    if (!of_.log())
        throw usage_error(of_.state().string() +
                          ": only a state that is open for writing has a writer of its feed");
    look_for_cursors();
    if (is_followed_) {
        open();
        begin_reading();
        end_->flush();
        show(/*is_stopping=*/false);
        is_writing_ = true;
    }
    before_checkpoints_ = of_.sync_before_checkpoints([this] { require_on_storage(); }, this);
    of_.log()->ask_before_commits(this);
    try {
        thread_ = background_thread("feed", [this] { run(); });
    } catch (...) {
        is_writing_ = false; // nobody is there to wait for
        of_.log()->ask_before_commits(nullptr);
        throw;
    }
}

writer::writing::~writing() {
    wait_for_redo_log();
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    before_checkpoints_.reset();
    if (undo_log* log = of_.log()) log->ask_before_commits(nullptr);
}

void writer::writing::abandon() noexcept {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
}

writer_statistics writer::writing::so_far() const {
    const std::lock_guard lock(mutex_);
    writer_statistics now = so_far_;
    now.is_followed = is_followed_;
    return now;
}

// --- by those that wait ---

/// Waits until all that was published before is told.
void writer::writing::wait_for(std::unique_lock<std::mutex>& lock, bool on_storage) {
    const trace::span timed(waited_for);
    const std::uint64_t mine = ++asked_;
    if (on_storage) asked_on_storage_ = mine;
    changed_.notify_all();
    changed_.wait(lock,
                  [&] { return !is_writing_ || (on_storage ? done_on_storage_ : done_) >= mine; });
}

void writer::writing::require_on_storage() {
    std::unique_lock lock(mutex_);
    if (is_writing_) wait_for(lock, /*on_storage=*/true);
}

/// Followers are shown the last blocks only when these are on storage.
void writer::writing::wait_for_redo_log() noexcept {
    try {
        {
            const std::lock_guard lock(mutex_);
            if (is_abandoned_ || !is_writing_) return;
        }
        if (of_.checkpoints().redo) of_.wait_until_durable();
    } catch (const std::exception&) { // who closes the state is told; followers see less
    }
}

void writer::writing::before_commit(revision_number newest, std::uint32_t serial) noexcept {
    std::unique_lock lock(mutex_);
    const bool is_told = std::ranges::find(told_, block_name{newest, serial}) != told_.end();
    if (is_writing_ && !is_told) wait_for(lock, /*on_storage=*/false);
}

// --- by the thread ---

void writer::writing::run() {
    for (bool is_last = false; !is_last;) {
        std::uint64_t asked = 0;
        std::uint64_t asked_on_storage = 0;
        {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, is_writing_ ? pause_followed : pause_unfollowed, [&] {
                return is_stopping_ || asked_ != done_ || asked_on_storage_ != done_on_storage_;
            });
            if (is_abandoned_) break;
            asked = asked_;
            asked_on_storage = asked_on_storage_;
            is_last = is_stopping_;
        }
        try {
            if (clock::now() >= next_try_ && !work()) {
                is_last = false; // the next round
                continue;
            }
            answer(done_, asked); // a commit does not wait for the disk
            if (is_writing_ && asked_on_storage != done_on_storage_) end_->sync();
            if (is_writing_) show(is_last);
        } catch (const std::exception& problem) {
            fail(problem.what());
        }
        answer(done_on_storage_, asked_on_storage);
    }
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    changed_.notify_all();
}

void writer::writing::answer(std::uint64_t& done, std::uint64_t asked) {
    const std::lock_guard lock(mutex_);
    done = asked;
    changed_.notify_all();
}

/// Returns whether all is told that was published before the call, or nobody waits for that.
bool writer::writing::work() {
    if (clock::now() >= next_look_) look_for_cursors();
    if (!is_followed_) {
        reader_.reset();
        const std::lock_guard lock(mutex_);
        is_writing_ = false;
        return true;
    }
    const trace::span timed(telling);
    bool is_told = true;
    if (!end_) open();
    try {
        if (!reader_) begin_reading();
        tell();
    } catch (const too_old_error&) { // compacted, or changed outside of sessions
        reader_.reset();
        is_told = false;
    } catch (const busy_error&) {
        is_told = false;
    }
    end_->flush();
    std::vector<block_name> told;
    const auto& blocks = end_->blocks();
    for (auto at = blocks.rbegin(); at != blocks.rend() && at->name.revision > irreversible_; ++at)
        told.push_back(at->name);
    const std::lock_guard lock(mutex_);
    told_.swap(told);
    is_writing_ = true;
    now_.last_failure.clear();
    return is_told;
}

/// Finds out who follows, and removes what nobody needs any more.
void writer::writing::look_for_cursors() {
    feed_position slowest = UINT64_MAX;
    const std::vector<std::string> names = feed_cursor::names(on_, folder_);
    const bool is_followed = !names.empty();
    for (const std::string& name : names) {
        try {
            const feed_cursor one(on_, folder_, name, disk::mode::read);
            slowest = std::min(slowest, one.now().at);
        } catch (const error&) { // being made, or none; its owner is told
            slowest = 0;
        }
    }
    next_look_ = clock::now() + (is_followed ? pause_of_cursors : pause_unfollowed);
    {
        const std::lock_guard lock(mutex_);
        is_followed_ = is_followed;
    }
    const feed_position end = end_ && is_followed ? end_->at() : 0;
    followers.set(static_cast<double>(names.size()));
    behind.set(static_cast<double>(end - std::min(slowest, end)));
    if (!is_followed) not_shown.set(0);
    if (end_) end_->remove_before(slowest, how_.most_bytes);
}

void writer::writing::open() {
    on_.make_folder(folder_);
    on_.sync_folder(of_.state());
    if (!how_.on && !lock_) {
        lock_.emplace(folder_ / "lock", /*create=*/true);
        lock_->announce();
    }
    if (!head_) head_.emplace(on_, folder_, of_.header().identity);
    try {
        shown_ = head_->end();
    } catch (const damaged_error&) { // of a crash; followers saw what is on storage at most
        shown_ = 0;
    }
    end_.emplace(on_, folder_, of_.header().identity, how_.file_bytes, shown_);
    unseen_.clear();
}

/// From the newest block that cannot be undone on: what of it the files have is not told again.
void writer::writing::begin_reading() {
    auto from = std::make_unique<log_reader>(of_.state(), log_reader::start::irreversible);
    const block_name base{from->revision(), from->serial()};
    std::vector<entry> first(1);
    while (from->next(first.back())) {
        first.emplace_back();
        if (!from->has_read()) break;
    }
    first.pop_back();
    reader_ = std::move(from);
    std::vector<feed_end::block> those{{base}};
    std::vector<std::byte> body;
    for (const entry& one : first) {
        body.clear();
        encode(one, body);
        those.push_back({{one.revision, one.serial}, archive::hash_of(body)});
    }
    auto [same, pops, why] = compare(those, *end_);
    types_ = 0;
    all_types_ = {};
    take_types();
    try {
        for (; why.empty() && pops != 0; --pops)
            end_->pop();
    } catch (const damaged_error& problem) {
        why = problem.what();
    }
    if (!why.empty()) {
        if (!end_->blocks().empty())
            spdlog::info("{}: a new series begins: {}", folder_.string(), why);
        end_->begin(base, why);
        ++now_.begins;
        series_begun.add();
        same = 1;
    }
    note_unseen();
    for (; same < those.size(); ++same)
        add(first[same - 1]);
    irreversible_ = std::max(irreversible_, base.revision);
}

/// What followers may not read yet, of what there is.
void writer::writing::note_unseen() {
    unseen_.clear();
    const auto& told = end_->blocks();
    for (const feed_end::block& one : told)
        if (one.end > shown_) unseen_.push_back({one.name, one.end});
    if (end_->at() > std::max(shown_, told.back().end)) unseen_.push_back({nameless, end_->at()});
}

/// All that was published before the call.
void writer::writing::tell() {
    entry one;
    while (reader_->next(one)) {
        take_types();
        add(one);
        if (!reader_->has_read() && one.what != entry::kind::pop) return; // pops come before a look
    }
}

void writer::writing::take_types() {
    if (types_ == reader_->types().size()) return;
    for (; types_ < reader_->types().size(); ++types_)
        all_types_.add({reader_->types()[types_], 0});
    end_->set_types(all_types_);
}

void writer::writing::add(const entry& one) {
    if (one.what == entry::kind::irreversible) {
        irreversible_ = one.revision;
        return;
    }
    const feed_position before = end_->at();
    end_->add(one);
    const bool is_pop = one.what == entry::kind::pop;
    unseen_.push_back({is_pop ? nameless : block_name{one.revision, one.serial}, end_->at()});
    if (!is_pop) {
        ++now_.blocks;
        blocks_written.add();
    }
    now_.bytes += end_->at() - before;
    bytes_written.add(end_->at() - before);
}

/// Lets followers read what is on storage here; with durability::commit, of that up to the last
/// block that is on storage, so that the state has it after a loss of power.
void writer::writing::show(bool is_stopping) {
    const checkpoint::history done = of_.checkpoints();
    auto seen = unseen_.end();
    if (!done.redo && !unseen_.empty() && !is_stopping && clock::now() < next_sync_) return;
    if (done.redo) {
        const block_name durable{done.redo->durable, done.redo->serial};
        while (seen != unseen_.begin() && !durable.is_behind(std::prev(seen)->name))
            --seen;
    }
    feed_position to = seen == unseen_.begin() ? shown_ : std::prev(seen)->end;
    unseen_.erase(unseen_.begin(), seen);
    tell_irreversible(unseen_.empty() ? end_->at() : to);
    if (unseen_.empty()) to = end_->at();
    if (is_stopping || to > end_->synced()) {
        const auto begin = clock::now();
        end_->sync();
        const auto now = clock::now();
        next_sync_ =
            now + std::min<clock::duration>(pause_of_syncs * (now - begin), longest_pause_of_syncs);
    }
    end_->flush();
    if (to != shown_) head_->set_end(to);
    shown_ = to;
    now_.end = end_->at();
    now_.durable = to;
    not_shown.set(static_cast<double>(now_.end - now_.durable));
    const std::lock_guard lock(mutex_);
    so_far_ = now_;
}

/// Of those blocks only that end before `to`: a state that lost the others may have other ones.
void writer::writing::tell_irreversible(feed_position to) {
    if (irreversible_ <= end_->irreversible()) return;
    const auto& told = end_->blocks();
    const auto newest = std::find_if(told.rbegin(), told.rend(), [&](const auto& one) {
        return one.end <= to && one.name.revision <= irreversible_;
    });
    if (newest == told.rend() || newest->name.revision <= end_->irreversible()) return;
    end_->add({entry::kind::irreversible, newest->name.revision, newest->name.serial, {}, {}});
}

/// What was promised until here is kept; those that wait go on. The files are opened again, which
/// finds what is whole.
void writer::writing::fail(const char* why) noexcept {
    next_try_ = clock::now() + pause_after_failure;
    failures.add();
    reader_.reset();
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    end_.reset();
    unseen_.clear();
    try {
        if (!checkpoint::is_same_failure(now_.last_failure, why))
            spdlog::error("{}: the feed is not written ({}); followers are told when it is again",
                          folder_.string(), why);
        so_far_ = now_;
        so_far_.last_failure = now_.last_failure = why;
    } catch (const std::exception&) { // no memory for the text
    }
}

writer::writer(database& of, const writer_options& how)
    : writing_(std::make_unique<writing>(of, how)) {}

writer::~writer() {
    if (!origin_.is_here()) leak(std::move(writing_));
}

void writer::abandon() noexcept {
    writing_->abandon();
}

writer_statistics writer::so_far() const {
    return writing_->so_far();
}

} // namespace chainbase::feed

#include <chainbase/segment/state_opening.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/sync/served_feed.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace chainbase::driver {

using feed::feed_cursor;
using feed::feed_position;
using wire::feed_begin;
using wire::feed_writer;
using wire::refusal_reason;

namespace {

/// How long what was seen of the writer counts, for all clients together.
constexpr std::chrono::milliseconds look_counts{1};
/// A cursor is synced at most that often, whatever its client says.
constexpr std::chrono::milliseconds between_cursor_syncs{200};
constexpr std::string_view client_prefix = "remote-";

feed_writer seen(other_writer::condition what) {
    switch (what) {
    case other_writer::condition::works:
        return feed_writer::works;
    case other_writer::condition::killed:
        return feed_writer::killed;
    case other_writer::condition::ended:
        return feed_writer::ended;
    }
    return feed_writer::works;
}

} // namespace

// --- the feed ---

served_feed::served_feed(const std::filesystem::path& state, bool may_take_over)
    : on_(disk::of_system()), folder_(feed::feed_folder(state)), writer_(state),
      may_take_over_(may_take_over) {
    if (!on_.exists(state))
        throw usage_error(state.string() + ": is no folder of a state; --feed names one that a "
                                           "node of this machine writes");
    note_successor();
}

/// Of this state's mark, if another one took its place.
void served_feed::note_successor() {
    const auto by = superseded_by(writer_.state());
    if (!by) return;
    taken_by_ = *by;
    seen_ = feed_writer::kept_out;
    is_passed_on_ = true;
    try {
        writer_.end_feed_for(*by);
    } catch (const error& problem) { // who has it may tell them
        spdlog::warn("{}; its followers are not told that {} took over", problem.what(), *by);
    }
}

std::string served_feed::successor(const std::string& client) {
    return "the standby " + client + " of another machine";
}

feed::feed_head& served_feed::head() {
    if (head_) return *head_;
    if (!on_.exists(folder_ / "head"))
        throw refusal_error(refusal_reason::too_far_behind,
                            "nobody has written this state's feed yet; serve --snapshot begins it");
    return head_.emplace(on_, folder_);
}

feed_writer served_feed::writer(const std::string& as_told_to) {
    if (!taken_by_.empty()) return taken_by_ == successor(as_told_to) ? seen_ : feed_writer::taken;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return seen_;
    next_look_ = now + look_counts;
    return seen_ = seen(writer_.look());
}

feed_cursor served_feed::cursor_for(const feed_request_message& asked) {
    const std::string name = std::string(client_prefix) + asked.name;
    if (asked.state != checkpoint::slot_file::identity{} && asked.state != head().state())
        throw refusal_error(refusal_reason::other_state,
                            "this is the feed of another state than the one that was followed");
    const auto opened = [&](feed_cursor::state at) {
        const std::vector<std::string> all = feed_cursor::names(on_, folder_);
        const auto ours = std::ranges::count_if(
            all, [](const std::string& one) { return one.starts_with(client_prefix); });
        if (std::cmp_greater_equal(ours, most_clients) && !feed_cursor::exists(on_, folder_, name))
            throw refusal_error(refusal_reason::busy,
                                fmt::format("this feed has {} followers on other machines, and no "
                                            "room for another; chainbase-inspect feed --drop ends "
                                            "one",
                                            ours));
        feed_cursor made(on_, folder_, name, disk::mode::create, at.at);
        made.set(at);
        return made;
    };
    static_cast<void>(head());
    try {
        const bool is_there = feed_cursor::exists(on_, folder_, name);
        switch (asked.begin) {
        case feed_begin::snapshot: {
            if (!feed_cursor::exists(on_, folder_, cursor_of_snapshot)) break;
            const auto begin =
                feed_cursor(on_, folder_, cursor_of_snapshot, disk::mode::read).now();
            if (begin.has_begun) return opened(begin);
            break;
        }
        case feed_begin::cursor:
            if (is_there) return feed_cursor(on_, folder_, name, disk::mode::write);
            break;
        case feed_begin::place:
            if (is_there) return feed_cursor(on_, folder_, name, disk::mode::write);
            return opened({asked.place, true, 0});
        }
    } catch (const usage_error& problem) { // no name
        throw peer_error(peer_error::severity::fault, problem.what());
    }
    throw refusal_error(refusal_reason::too_far_behind,
                        asked.begin == feed_begin::snapshot
                            ? "nothing is kept here that follows a snapshot: serve --snapshot with "
                              "a folder that is not there makes one, and keeps what follows it"
                            : "nothing is kept here for " + asked.name +
                                  "; begin anew, with a snapshot");
}

void served_feed::take_over(const std::string& client) {
    if (taken_by_.empty()) note_successor();
    const std::string own = successor(client);
    if (taken_by_ == own) return;
    if (!may_take_over_)
        throw refusal_error(refusal_reason::no_take_over,
                            "clients may not take this state's place; serve --take-over lets them");
    if (!taken_by_.empty())
        throw refusal_error(refusal_reason::no_take_over,
                            taken_by_ + " has taken this state's place");
    try {
        if (writer_.look() == other_writer::condition::works)
            throw locked_error("this state's writer works");
        spdlog::warn("{}: {} takes its place; no other process can write it before this one ends",
                     writer_.state().string(), client);
        writer_.keep_out();
        seen_ = feed_writer::kept_out;
        keeps_out_ = true;
    } catch (const locked_error& problem) {
        throw refusal_error(refusal_reason::no_take_over, problem.what());
    } catch (const damaged_error& problem) {
        spdlog::error("{}; {} takes over with what it was told of", problem.what(), client);
        seen_ = feed_writer::lost;
    }
    taken_by_ = own;
}

void served_feed::pass_on(const std::string& client) {
    if (taken_by_ != successor(client) || is_passed_on_) return;
    try {
        writer_.pass_on(taken_by_);
        is_passed_on_ = true;
    } catch (const error& problem) {
        spdlog::error("{}; see that no node is started with this state", problem.what());
    }
}

// --- to a client ---

outgoing_feed::outgoing_feed(served_feed& from, const feed_request_message& asked)
    : from_(from), client_(asked.name), cursor_(from.cursor_for(asked)),
      at_(asked.begin == feed_begin::place ? asked.place : cursor_.now().at) {
    if (asked.begin == feed_begin::place) return;
    // With the whole file: it begins with what its entries need.
    const std::vector<feed_position> files = feed::entries_files(from_.on_, from_.folder_);
    const auto after = std::ranges::upper_bound(files, at_);
    if (after != files.begin()) at_ = *std::prev(after);
}

std::optional<bytes> outgoing_feed::next_frame(std::chrono::milliseconds silence) {
    keep();
    feed_state_message now;
    now.state = from_.head().state();
    now.begin = cursor_.now().at;
    now.revision = cursor_.now().revision;
    now.writer = from_.writer(client_); // before the end: what it told while it worked is in that
    if (now.writer == feed_writer::kept_out) now.revision = from_.newest_revision();
    now.end = from_.head().end();
    const bool is_news = told_at_ == clock::time_point{} || now.writer != told_.writer;
    if (!is_news && at_ < now.end)
        if (auto part = next_part(now.end)) return part;
    if (!is_news && clock::now() - told_at_ < silence) return std::nullopt;
    told_ = now;
    told_at_ = clock::now();
    return framed(now);
}

/// Finds the file that has the next byte. Returns whether there is one yet.
bool outgoing_feed::open_file() {
    const std::vector<feed_position> files = feed::entries_files(from_.on_, from_.folder_);
    const auto after = std::ranges::upper_bound(files, at_);
    if (after == files.begin())
        throw refusal_error(refusal_reason::too_far_behind,
                            fmt::format("what followed byte {} of the feed was removed, since it "
                                        "took too much space; begin anew, with a snapshot",
                                        at_));
    first_ = *std::prev(after);
    file_ = from_.on_.open(feed::entries_file(from_.folder_, first_), disk::mode::read);
    if (at_ - first_ < file_->bytes()) return true;
    if (after == files.end()) return false;
    at_ = first_ = *after; // what lies between was damaged
    file_ = from_.on_.open(feed::entries_file(from_.folder_, first_), disk::mode::read);
    return true;
}

std::optional<bytes> outgoing_feed::next_part(feed_position end) {
    for (int tries = 0; tries < 2; ++tries) {
        if (file_) {
            bytes part(std::min<std::uint64_t>(wire::max_part, end - at_));
            part.resize(file_->read(at_ - first_, part));
            if (!part.empty()) {
                bytes frame = framed(feed_part_message{first_, at_, part});
                at_ += part.size();
                return frame;
            }
        }
        if (!open_file() || at_ >= end) break;
    }
    return std::nullopt;
}

void outgoing_feed::take(const feed_keep_message& said) {
    const feed_cursor::state last = kept_.value_or(cursor_.now());
    if (said.place > std::max(last.at, at_))
        throw peer_error(peer_error::severity::fault,
                         fmt::format("needs nothing before byte {} of the feed, of which it was "
                                     "sent {}",
                                     said.place, at_));
    if (said.place > last.at) kept_ = {said.place, true, said.revision};
    if (said.takes_over) from_.take_over(client_);
    if (said.place >= from_.head().end()) from_.pass_on(client_);
}

void outgoing_feed::keep() {
    if (!kept_ || clock::now() < next_keep_) return;
    cursor_.set(*kept_);
    kept_.reset();
    next_keep_ = clock::now() + between_cursor_syncs;
}

} // namespace chainbase::driver

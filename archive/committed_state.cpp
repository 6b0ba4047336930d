#include <archive/committed_state.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/state_root/leaves_file.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/thread_pool.hpp>
#include <undo/session_changes.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

namespace chainbase::archive {

namespace {

/// The bytes of records of a whole state that are handed to the tree at once.
constexpr std::size_t bytes_at_once = std::size_t{4} << 20;

using state_root::background_tree;
using state_root::committed_type;
using state_root::object_changes;
using state_root::recorded_root;
using state_root::state_tree;

/// undo_log::serial() as it was when the session of this revision was the newest.
std::optional<std::uint32_t> serial_of(undo_log& log, revision_number revision) {
    struct marks : undo_log_view {
        using undo_log_view::mark_at;
        using undo_log_view::undo_log_view;
    };
    const auto place = log.find_session(revision);
    if (!place) return std::nullopt;
    return marks(log.file()).mark_at(*place).serial;
}

} // namespace

void state_digest::add(const std::string& name, const sha256_digest& type) {
    if (!types_.emplace(name, type).second)
        throw usage_error("state digest: the type \"" + name + "\" was added already");
}

std::string state_digest::hex() const {
    sha256 all;
    for (const auto& [name, type] : types_) {
        byte_buffer part(sizeof(std::uint32_t));
        detail::store_little(part.data(), static_cast<std::uint32_t>(name.size()));
        append(part, as_bytes(name));
        append(part, type);
        all.add(part);
    }
    return chainbase::hex(all.finish());
}

committed_state::committed_state(database& state, unsigned threads)
    : state_(state), threads_(threads) {
    state.add_type<recorded_root>(recorded_root::type_name);
    state.add_type<committed_type>(committed_type::type_name);
}

committed_state::~committed_state() = default;

std::uint32_t committed_state::window_of(const std::string& type) const {
    if (const catalogue::entry* const found = state_.memory().types().find(type))
        return found->first_window;
    throw usage_error(state_.state() + ": state root: there is no type \"" + type +
                      "\"; call add_type for it first");
}

void committed_state::enter(std::unique_ptr<source> made, std::string name,
                            const std::vector<std::string>& bookkeeping) {
    const bool is_known =
        std::ranges::any_of(sources_, [&](const auto& one) { return one->name == name; });
    if (is_known) throw usage_error("state root: the type \"" + name + "\" was added already");
    made->window = window_of(name);
    offered_.insert(name);
    if (!only_.empty() && !only_.contains(name)) return;
    for (const std::string& one : bookkeeping)
        made->bookkeeping.push_back(window_of(one));
    made->name = std::move(name);
    const auto place = std::ranges::upper_bound(sources_, made->name, {},
                                                [](const auto& one) { return one->name; });
    sources_.insert(place, std::move(made));
    for (std::uint32_t number = 0; number < sources_.size(); ++number)
        sources_[number]->number = number;
    tree_.reset();
}

std::vector<std::string> committed_state::names() const {
    std::vector<std::string> all;
    for (const auto& one : sources_)
        all.push_back(one->name);
    return all;
}

std::set<std::string> committed_state::types() const {
    const auto all = names();
    return {all.begin(), all.end()};
}

std::set<std::string> committed_state::recorded_types() const {
    std::set<std::string> all;
    for (const committed_type& one : state_.objects<committed_type>())
        all.emplace(one.name.view());
    return all;
}

// --- the record ---

const recorded_root* committed_state::recorded() const {
    const auto all = state_.objects<recorded_root>();
    return all.begin() == all.end() ? nullptr : &*all.begin();
}

sha256_digest committed_state::root() const {
    const recorded_root* const known = recorded();
    return known ? known->root : sha256_digest{};
}

std::uint64_t committed_state::objects() const {
    const recorded_root* const known = recorded();
    return known ? known->objects : 0;
}

std::uint32_t committed_state::format() const {
    const recorded_root* const known = recorded();
    return known ? known->format : 0;
}

bool committed_state::has_recorded_types() const {
    const auto names_a_source = [](const committed_type& type, const auto& one) {
        return type.name.view() == one->name;
    };
    const auto types = state_.objects<committed_type>();
    return std::equal(types.begin(), types.end(), sources_.begin(), sources_.end(), names_a_source);
}

bool committed_state::is_current() const {
    const recorded_root* const known = recorded();
    return known && known->format == state_root::current_format &&
           known->revision == state_.revision() && has_recorded_types();
}

void committed_state::write_record(const state_tree& tree) {
    if (!has_recorded_types()) {
        state_.clear<committed_type>();
        for (const auto& one : sources_)
            state_.create<committed_type>(
                [&](committed_type& it) { it.name = std::string_view(one->name); });
    }
    for (const committed_type& one : state_.objects<committed_type>()) {
        const state_root::id_tree& now = tree.objects(*tree.number_of(one.name.view()));
        if (one.root == now.root() && one.height == now.height()) continue;
        state_.modify(one, [&](committed_type& it) {
            it.height = now.height();
            it.objects = now.leaves();
            it.root = now.root();
        });
    }
    const auto change = [&](recorded_root& it) {
        it.format = state_root::current_format;
        it.revision = state_.revision();
        it.objects = tree.leaves();
        it.root = tree.root();
    };
    if (const recorded_root* const known = recorded())
        state_.modify(*known, change);
    else
        state_.create<recorded_root>(change);
}

void committed_state::record() {
    write_record(tree());
}

/// In a session of its own, so that it happens as a whole.
void committed_state::record_anew() {
    session all = state_.start_session();
    write_record(settled());
    // That after this session is squashed.
    state_.modify(*recorded(), [](recorded_root& it) { --it.revision; });
    squash(all);
}

void committed_state::forget() {
    session all = state_.start_session();
    state_.clear<committed_type>();
    state_.clear<recorded_root>();
    squash(all);
    sources_.clear();
    tree_.reset();
    std::error_code ignored; // it is of no root that will be recorded
    std::filesystem::remove(leaves_file(), ignored);
}

// --- the tree ---

void committed_state::catch_up() {
    leave_undone_sessions();
    if (!follows()) make_tree();
    if (!is_current()) record_anew();
}

void committed_state::rebuild() {
    auto made = std::make_unique<background_tree>(names(), threads_);
    add_all(*made);
    (void)made->settled();
    tree_ = std::move(made);
    begin_journal();
    record_anew();
}

std::unique_ptr<background_tree> committed_state::tree_of_kept_leaves() const {
    try {
        if (auto kept = state_root::read_leaves(leaves_file(), root(), threads_))
            return std::make_unique<background_tree>(*std::move(kept), threads_);
    } catch (const error& problem) {
        spdlog::warn("the state root is made from all objects: {}", problem.what());
    }
    return nullptr;
}

void committed_state::make_tree() {
    const bool is_known = is_current();
    std::unique_ptr<background_tree> made = is_known ? tree_of_kept_leaves() : nullptr;
    if (!made) {
        made = std::make_unique<background_tree>(names(), threads_);
        add_all(*made);
        const sha256_digest anew = made->settled().root();
        if (is_known && anew != root())
            throw damaged_error(
                state_.state() + ": the state root is " + hex(root()) + ", and " + hex(anew) +
                " when it is made anew from all objects: a program or a disk changed them; "
                "`chainbase-inspect root --verify` says more; go back to a checkpoint or a backup, "
                "or accept the objects by turning the root off and on");
    }
    tree_ = std::move(made);
    begin_journal();
}

void committed_state::add_all(background_tree& to) const {
    object_changes some;
    for (const auto& one : sources_)
        one->each([&](std::uint32_t id, const byte_buffer& content) {
            some.records.insert(some.records.end(), content.begin(), content.end());
            some.add(one->number, id, true);
            if (some.records.size() < bytes_at_once) return;
            (void)to.update(std::move(some));
            some = to.empty_changes();
        });
    (void)to.update(std::move(some));
}

sha256_digest committed_state::recomputed() const {
    background_tree made(names(), threads_);
    add_all(made);
    return made.settled().root();
}

/// A tree that lacks some changes is made anew.
const state_tree& committed_state::settled() {
    try {
        return tree_->settled();
    } catch (...) {
        tree_.reset();
        throw;
    }
}

const state_tree& committed_state::tree() {
    leave_undone_sessions();
    if (!tree_)
        throw usage_error(state_.state() +
                          ": state root: there is no tree; call catch_up() before");
    if (!stale_.empty()) (void)send({});
    return settled();
}

std::filesystem::path committed_state::leaves_file() const {
    return std::filesystem::path(state_.state()) / state_root::leaves_file_name;
}

void committed_state::keep_leaves() noexcept {
    try {
        leave_undone_sessions();
        if (!tree_ || !is_current() || !follows()) return;
        state_root::write_leaves(leaves_file(), tree());
    } catch (const std::exception& problem) {
        spdlog::warn("{}: the leaves of the state root are not kept, so the next opening reads all "
                     "objects: {}",
                     state_.state(), problem.what());
    }
}

// --- what the tree follows ---

revision_number committed_state::followed_revision() const noexcept {
    return journal_.empty() ? base_ : journal_.back().revision;
}

bool committed_state::follows() const noexcept {
    return tree_ && followed_revision() == state_.revision();
}

/// What any of the sessions that can be undone has touched counts as touched by each of them.
void committed_state::begin_journal() {
    undo_log& log = *state_.memory().log();
    stale_.clear();
    journal_.clear();
    base_ = log.committed_revision();
    for (revision_number one = base_ + 1; one <= log.revision(); ++one)
        journal_.push_back({one, serial_of(log, one).value(), touched(one)});
}

/// Drops sessions from the journal that can no longer be undone; those that were are to be read
/// again. If more was undone than the journal has, the tree is to be made anew.
void committed_state::leave_undone_sessions() {
    if (!tree_) return;
    undo_log& log = *state_.memory().log();
    const auto is_there = [&](const followed_session& one) {
        return one.revision <= log.committed_revision() ||
               serial_of(log, one.revision) == one.serial;
    };
    while (!journal_.empty() &&
           (journal_.back().revision > log.revision() || !is_there(journal_.back()))) {
        const auto& ids = journal_.back().touched;
        stale_.insert(stale_.end(), ids.begin(), ids.end());
        journal_.pop_back();
    }
    while (!journal_.empty() && journal_.front().revision <= log.committed_revision()) {
        base_ = journal_.front().revision;
        journal_.pop_front();
    }
    if (journal_.empty() && base_ > log.revision()) tree_.reset();
}

void committed_state::note_revision() {
    leave_undone_sessions();
    if (!tree_) return;
    undo_log& log = *state_.memory().log();
    if (followed_revision() != log.revision()) {
        if (log.has_session())
            journal_.push_back({log.revision(), log.serial(), {}});
        else
            base_ = log.revision();
    }
    const recorded_root* const known = recorded();
    if (known && known->revision != log.revision())
        state_.modify(*known, [&](recorded_root& it) { it.revision = log.revision(); });
}

/// The session below takes over the serial of the squashed one.
void committed_state::squash(session& followed) {
    leave_undone_sessions();
    followed.squash();
    if (!tree_) return;
    undo_log& log = *state_.memory().log();
    followed_session merged{log.revision(), log.serial(), {}};
    bool is_followed = false;
    for (; !journal_.empty() && journal_.back().revision >= merged.revision; journal_.pop_back()) {
        auto& upper = merged.touched;
        auto& lower = journal_.back().touched;
        if (lower.size() > upper.size()) lower.swap(upper);
        upper.insert(upper.end(), lower.begin(), lower.end());
        is_followed = true;
    }
    if (is_followed) journal_.push_back(std::move(merged));
}

/// Objects that were handed over are unchanged in the tree; those removed from the archive are not
/// in memory, so looking there gives the right answer.
void committed_state::count_archived(std::vector<std::uint32_t>& ids,
                                     const archived_changes& archived) {
    std::erase_if(ids, [&](std::uint32_t id) {
        return std::ranges::binary_search(archived.handed_over, id);
    });
    ids.insert(ids.end(), archived.removed.begin(), archived.removed.end());
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::vector<committed_state::committed_object>
committed_state::touched(revision_number since) const {
    undo_log& log = *state_.memory().log();
    const auto begin = log.find_session(since);
    if (!begin)
        throw usage_error(state_.state() + ": state root: update(" + std::to_string(since) +
                          "): no session of this revision can be undone any more; call update() "
                          "before the session is committed, or call rebuild()");
    const std::vector<object_place> places = touched_objects(log, *begin);
    const auto is_touched = [&](std::uint32_t window) {
        const auto first = std::ranges::lower_bound(places, window, {}, &object_place::window);
        return first != places.end() && first->window == window;
    };
    std::vector<committed_object> all;
    all.reserve(places.size());
    for (const auto& one : sources_) {
        std::vector<std::uint32_t> ids;
        for (const object_place& place :
             std::ranges::equal_range(places, one->window, {}, &object_place::window))
            ids.push_back(place.id);
        if (std::ranges::any_of(one->bookkeeping, is_touched))
            count_archived(ids, one->archived(since));
        for (const std::uint32_t id : ids)
            all.push_back({one.get(), id});
    }
    return all;
}

std::shared_future<state_root::block_digests>
committed_state::send(const std::vector<committed_object>& touched) {
    const auto by_place = [](const committed_object& one) {
        return std::pair(one.of->number, one.id);
    };
    std::ranges::sort(stale_, {}, by_place);
    object_changes changes = tree_->empty_changes();
    auto before = stale_.begin();
    const auto add_stale_below = [&](std::pair<std::uint32_t, std::uint32_t> end) {
        for (; before != stale_.end() && by_place(*before) < end; ++before)
            if (before + 1 == stale_.end() || !(before[1] == *before))
                changes.add(before->of->number, before->id,
                            before->of->append_from_anywhere(before->id, changes.records));
    };
    for (const committed_object& one : touched) {
        add_stale_below(by_place(one));
        while (before != stale_.end() && *before == one)
            ++before;
        changes.add(one.of->number, one.id, one.of->append(one.id, changes.records));
    }
    add_stale_below({UINT32_MAX, UINT32_MAX});
    stale_.clear();
    try {
        return tree_->update(std::move(changes));
    } catch (...) {
        tree_.reset(); // it lacks these changes
        throw;
    }
}

std::shared_future<state_root::block_digests> committed_state::follow(revision_number revision) {
    leave_undone_sessions();
    const revision_number before = followed_revision();
    if (!tree_ || (before != revision - 1 && before != state_.revision()))
        throw usage_error(state_.state() + ": state root: update(" + std::to_string(revision) +
                          "): the tree belongs to " +
                          (tree_ ? "revision " + std::to_string(before) : "another revision") +
                          " or to other types; call catch_up() before the session starts");
    followed_session now{state_.revision(), state_.memory().log()->serial(), touched(revision)};
    auto done = send(now.touched);
    journal_.push_back(std::move(now));
    return done;
}

sha256_digest committed_state::update(revision_number revision) {
    const auto done = follow(revision);
    record();
    return done.get().writes;
}

} // namespace chainbase::archive

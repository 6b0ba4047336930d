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
           known->revision == state_.revision() && has_recorded_types() && is_all_recorded();
}

/// Whether the newest session that was followed is in the record; what was undone does not count.
bool committed_state::is_all_recorded() const {
    for (auto one = journal_.rbegin(); one != journal_.rend(); ++one)
        if (is_there(*one)) return one->is_recorded;
    return true;
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
    const state_tree& now = tree();
    if (!follows())
        throw usage_error(state_.state() + ": state root: record(): the tree belongs to revision " +
                          std::to_string(followed_revision()) +
                          "; call follow() for each session that changed something");
    write_record(now);
    for (followed_session& one : journal_)
        one.is_recorded = true;
}

/// In a session of its own, so that it happens as a whole.
void committed_state::record_anew() {
    session all = state_.start_session();
    write_record(settled());
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
    const bool was_current = is_current();
    if (!follows() || !was_current) make_tree();
    if (!was_current) record_anew();
}

void committed_state::rebuild() {
    auto made = std::make_unique<background_tree>(names(), threads_);
    add_all(*made);
    (void)made->settled();
    begin_journal();
    tree_ = std::move(made);
    record_anew();
}

std::unique_ptr<background_tree> committed_state::tree_of_kept_leaves() {
    try {
        if (auto kept = state_root::read_leaves(leaves_file(), root(), threads_)) {
            kept_root_ = root();
            return std::make_unique<background_tree>(*std::move(kept), threads_);
        }
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
    begin_journal();
    tree_ = std::move(made);
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
        if (!tree_ || !is_current() || !follows() || kept_root_ == root()) return;
        // They must not take the room of the checkpoint that closes the state.
        const std::uint64_t needed =
            state_root::bytes_of_leaf * objects() + state_.statistics().total;
        if (std::filesystem::space(state_.state()).available < needed) return;
        state_root::write_leaves(leaves_file(), tree());
        kept_root_ = root();
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

/// What sessions have touched that can be undone counts as touched by the newest; where that is
/// undone, by the one below.
void committed_state::begin_journal() {
    tree_.reset();
    stale_.clear();
    journal_.clear();
    undo_log& log = *state_.memory().log();
    base_ = log.committed_revision();
    for (revision_number one = base_ + 1; one <= log.revision(); ++one)
        journal_.push_back({one, serial_of(log, one).value(), {}, true});
    if (!journal_.empty()) journal_.back().touched = touched(base_ + 1);
}

bool committed_state::is_there(const followed_session& one) const {
    undo_log& log = *state_.memory().log();
    if (one.revision > log.revision()) return false;
    return one.revision <= log.committed_revision() || serial_of(log, one.revision) == one.serial;
}

/// Drops sessions from the journal that can no longer be undone. Those that were, or were squashed
/// without squash(), are to be read again, also when the session below is undone. If more was
/// undone than the journal has, or something else was made irreversible than what was recorded, the
/// tree is to be made anew.
void committed_state::leave_undone_sessions() {
    if (!tree_) return;
    if (tree_->has_failed()) return tree_.reset();
    undo_log& log = *state_.memory().log();
    for (; !journal_.empty() && !is_there(journal_.back()); journal_.pop_back()) {
        const auto& ids = journal_.back().touched;
        stale_.insert(stale_.end(), ids.begin(), ids.end());
        if (journal_.size() == 1) continue;
        auto& below = journal_[journal_.size() - 2].touched;
        below.insert(below.end(), ids.begin(), ids.end());
    }
    for (; !journal_.empty() && journal_.front().revision <= log.committed_revision();
         journal_.pop_front())
        base_ = journal_.front().revision;
    const recorded_root* const known = recorded();
    if ((journal_.empty() && base_ > log.revision()) || (known && known->revision < base_))
        tree_.reset();
}

void committed_state::note_revision() {
    leave_undone_sessions();
    if (!tree_) return;
    undo_log& log = *state_.memory().log();
    const bool is_recorded = journal_.empty() || journal_.back().is_recorded;
    if (followed_revision() != log.revision()) {
        if (log.has_session())
            journal_.push_back({log.revision(), log.serial(), {}, is_recorded});
        else
            base_ = log.revision();
    }
    const recorded_root* const known = recorded();
    if (is_recorded && known && known->revision != log.revision())
        state_.modify(*known, [&](recorded_root& it) { it.revision = log.revision(); });
}

/// A completed session takes over the serial of the one that is squashed into it.
void committed_state::squash(session& followed) {
    leave_undone_sessions();
    if (const recorded_root* const known = recorded();
        known && known->revision == state_.revision()) // it stays current
        state_.modify(*known, [](recorded_root& it) { --it.revision; });
    followed.squash();
    if (!tree_) return;
    undo_log& log = *state_.memory().log();
    try {
        followed_session merged{log.revision(), log.serial(), {}, true};
        bool is_followed = false;
        for (; !journal_.empty() && journal_.back().revision >= merged.revision;
             journal_.pop_back()) {
            followed_session& one = journal_.back();
            if (one.touched.size() > merged.touched.size()) one.touched.swap(merged.touched);
            merged.touched.insert(merged.touched.end(), one.touched.begin(), one.touched.end());
            merged.is_recorded = merged.is_recorded && one.is_recorded;
            is_followed = true;
        }
        if (is_followed) journal_.push_back(std::move(merged));
    } catch (...) {
        tree_.reset(); // the journal lacks what may be undone
        throw;
    }
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
        throw usage_error(state_.state() + ": state root: follow(" + std::to_string(since) +
                          "): no session of this revision can be undone any more; call follow() "
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
            all.push_back({one->number, id});
    }
    return all;
}

std::shared_future<state_root::block_digests>
committed_state::send(const std::vector<committed_object>& touched) {
    std::ranges::sort(stale_);
    stale_.erase(std::unique(stale_.begin(), stale_.end()), stale_.end());
    object_changes changes = tree_->empty_changes();
    auto next = stale_.begin();
    const auto add_stale = [&] {
        const source& of = *sources_[next->type];
        changes.add(next->type, next->id, of.append_from_anywhere(next->id, changes.records));
        ++next;
    };
    for (const committed_object& one : touched) {
        while (next != stale_.end() && *next < one)
            add_stale();
        if (next != stale_.end() && *next == one) ++next;
        changes.add(one.type, one.id, sources_[one.type]->append(one.id, changes.records));
    }
    while (next != stale_.end())
        add_stale();
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
        throw usage_error(state_.state() + ": state root: follow(" + std::to_string(revision) +
                          "): the tree belongs to " +
                          (tree_ ? "revision " + std::to_string(before) : "another revision") +
                          " or to other types; call catch_up() before the session starts");
    journal_.push_back(
        {state_.revision(), state_.memory().log()->serial(), touched(revision), false});
    try {
        return send(journal_.back().touched);
    } catch (...) {
        journal_.pop_back();
        throw;
    }
}

sha256_digest committed_state::update(revision_number revision) {
    const auto done = follow(revision);
    record();
    return done.get().writes;
}

} // namespace chainbase::archive

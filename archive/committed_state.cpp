#include <archive/committed_state.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/state_root/merkle_tree.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/thread_pool.hpp>
#include <undo/session_changes.hpp>

#include <algorithm>
#include <set>

namespace chainbase::archive {

namespace {

/// The number of objects that a thread hashes per task.
constexpr std::size_t objects_at_once = 32;
/// The number of leaves of a whole state that are made at once.
constexpr std::size_t leaves_at_once = 1'000'000;

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

committed_state::committed_state(database& state, unsigned threads) : state_(state), tree_(state) {
    if (threads != 0) pool_ = std::make_unique<thread_pool>(threads);
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
    number_types();
}

/// Numbers the types that the tree knows; others get a number in rebuild().
void committed_state::number_types() {
    const auto numbers = tree_.type_numbers();
    for (const auto& one : sources_)
        if (const auto known = numbers.find(one->name); known != numbers.end())
            one->number = known->second;
}

bool committed_state::has_types_of_tree() const {
    const auto names_a_source = [](const auto& type, const auto& one) {
        return type.first == one->name;
    };
    return tree_.is_of_this_format() &&
           std::ranges::equal(tree_.type_numbers(), sources_, names_a_source);
}

bool committed_state::is_current() const {
    return tree_.revision() == state_.revision() && has_types_of_tree();
}

void committed_state::require_tree_of(revision_number session) const {
    const bool is_before = tree_.revision() == session - 1;
    if ((is_before || tree_.revision() == state_.revision()) && has_types_of_tree()) return;
    throw usage_error(state_.state() + ": state root: update(" + std::to_string(session) +
                      "): the tree belongs to revision " + std::to_string(tree_.revision()) +
                      " or to other types; call catch_up() before the session starts");
}

void committed_state::catch_up() {
    if (!is_current()) rebuild();
}

std::set<std::string> committed_state::types() const {
    std::set<std::string> names;
    for (const auto& one : sources_)
        names.insert(one->name);
    return names;
}

void committed_state::rebuild() {
    session all = state_.start_session();
    const std::set<std::string> names = types();
    tree_.reset(names);
    number_types();
    for (const auto& one : sources_)
        add_all(*one);
    tree_.note_revision(state_.revision() - 1); // that after this session is squashed
    all.squash();
}

template <typename Visitor>
void committed_state::each_leaf(const source& from, Visitor&& visit) const {
    state_root::tree_hash hash;
    from.each([&](std::uint32_t id, const byte_buffer& content) {
        const sha256_digest key = hash.key(from.name, id);
        visit(state_root::leaf_change{key, hash.leaf(key, hash.content(content)), id, from.number,
                                      true});
    });
}

sha256_digest committed_state::recomputed() const {
    std::vector<state_root::whole_leaf> leaves;
    leaves.reserve(tree_.size());
    for (const auto& one : sources_)
        each_leaf(*one, [&](const state_root::leaf_change& leaf) {
            leaves.push_back({leaf.key, leaf.leaf});
        });
    return state_root::root_of(std::move(leaves));
}

void committed_state::forget() {
    session all = state_.start_session();
    tree_.reset({});
    all.squash();
    sources_.clear();
}

void committed_state::add_all(const source& from) {
    std::vector<state_root::leaf_change> leaves;
    each_leaf(from, [&](const state_root::leaf_change& leaf) {
        leaves.push_back(leaf);
        if (leaves.size() < leaves_at_once) return;
        tree_.update(std::move(leaves), pool_.get());
        leaves.clear();
    });
    tree_.update(std::move(leaves), pool_.get());
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

std::vector<state_root::leaf_change>
committed_state::leaves_of(const std::vector<committed_object>& objects) const {
    std::vector<state_root::leaf_change> leaves(objects.size());
    const auto hash_some = [&](std::size_t number) {
        state_root::tree_hash hash;
        byte_buffer content;
        const std::size_t end = std::min(objects.size(), (number + 1) * objects_at_once);
        for (std::size_t i = number * objects_at_once; i < end; ++i) {
            const committed_object& one = objects[i];
            content.clear();
            const sha256_digest key = hash.key(one.of->name, one.id);
            leaves[i] = {key, {}, one.id, one.of->number, one.of->append(one.id, content)};
            if (leaves[i].exists) leaves[i].leaf = hash.leaf(key, hash.content(content));
        }
    };
    const std::size_t parts = (objects.size() + objects_at_once - 1) / objects_at_once;
    if (pool_ && parts > 1)
        pool_->run(parts, hash_some);
    else
        for (std::size_t number = 0; number < parts; ++number)
            hash_some(number);
    return leaves;
}

sha256_digest committed_state::update(revision_number revision) {
    require_tree_of(revision);
    number_types();
    std::vector<state_root::leaf_change> leaves = leaves_of(touched(revision));
    sha256 written;
    for (const state_root::leaf_change& one : leaves) {
        written.add(one.key);
        written.add(one.leaf); // zeros for a removed object
    }
    tree_.update(std::move(leaves), pool_.get());
    return written.finish();
}

} // namespace chainbase::archive

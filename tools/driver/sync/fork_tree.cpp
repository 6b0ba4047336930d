#include <tools/driver/sync/fork_tree.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::driver {

fork_tree::fork_tree(const std::vector<block_place>& applied, std::size_t lag)
    : fork_tree(applied, lag, limits{}) {}

fork_tree::fork_tree(const std::vector<block_place>& applied, std::size_t lag, limits bounds)
    : bounds_(bounds), lag_(lag) {
    for (const block_place& one : applied) {
        head_ = &add(one, head_);
        head_->is_applied = true;
        if (root_ == nullptr) root_ = head_;
    }
    best_ = head_;
}

fork_tree::node& fork_tree::add(const block_place& place, node* parent) {
    auto made = std::make_unique<node>();
    node& one = *made;
    one.place = place;
    one.parent = parent;
    one.height = parent ? parent->height + 1 : 0;
    one.arrival = arrivals_++;
    nodes_.emplace(place.id, std::move(made));
    if (parent) parent->children.push_back(&one);
    return one;
}

void fork_tree::count_waiting(const node& one, bool in) noexcept {
    const std::size_t bytes = one.content ? one.content->memory() : 0;
    waiting_ += in ? 1 : -1;
    waiting_bytes_ += in ? bytes : -bytes;
}

// --- in ---

fork_tree::outcome fork_tree::may_follow(const incoming& block, node*& parent) const {
    if (bad_.contains(block.place.id) || bad_.contains(block.parent.id)) return outcome::bad;
    if (nodes_.contains(block.place.id)) return outcome::known;
    const auto found = nodes_.find(block.parent.id);
    if (found == nodes_.end())
        return block.parent.number <= root_->place.number ? outcome::below_root : outcome::unlinked;
    parent = found->second.get();
    if (parent->place.number != block.parent.number || block.place.number <= block.parent.number)
        return outcome::wrong_numbers;
    const std::size_t bytes = block.content ? block.content->memory() : 0;
    const bool is_next = parent == head_ && parent == best_;
    if (!is_next && (waiting_ >= bounds_.blocks || waiting_bytes_ + bytes > bounds_.bytes))
        return outcome::full;
    return outcome::added;
}

fork_tree::outcome fork_tree::insert(incoming block) {
    node* parent = nullptr;
    const outcome result = may_follow(block, parent);
    if (result == outcome::added) {
        if (!parent->children.empty()) ++forks_;
        node& one = add(block.place, parent);
        one.source = block.source;
        one.content = std::move(block.content);
        count_waiting(one, true);
        if (one.height > best_->height) best_ = &one;
        return result;
    }
    if (result == outcome::bad && bad_.contains(block.parent.id))
        remember_bad(block.place.id, bad_.at(block.parent.id));
    freed_.push_back(std::move(block.content));
    return result;
}

// --- the way ---

std::vector<fork_tree::node*> fork_tree::path_to_best() const {
    std::vector<node*> path;
    for (node* at = best_; !at->is_applied; at = at->parent)
        path.push_back(at);
    std::ranges::reverse(path);
    return path;
}

std::optional<fork_tree::way> fork_tree::to_best() const {
    if (best_ == head_) return std::nullopt;
    way result;
    const std::vector<node*> path = path_to_best();
    for (const node* one : path)
        result.apply.push_back(one->content.get());
    const node* common = path.empty() ? best_ : path.front()->parent;
    result.pops = head_->height - common->height;
    return result;
}

fork_tree::node* fork_tree::next_on_the_way() const {
    if (best_->parent == head_) return best_; // the usual case
    node* at = best_;
    while (at->parent != head_)
        at = at->parent;
    return at;
}

void fork_tree::applied() {
    head_ = next_on_the_way();
    head_->is_applied = true;
    count_waiting(*head_, false);
    if (head_->height - root_->height > lag_) raise_root();
}

bool fork_tree::popped() {
    node& taken_back = *head_;
    head_ = taken_back.parent;
    taken_back.is_applied = false;
    count_waiting(taken_back, true);
    if (taken_back.content) return true;
    remove(taken_back);
    choose_best();
    return false;
}

std::uint64_t fork_tree::reject(const std::string& reason) {
    node& first = *next_on_the_way();
    const std::uint64_t source = first.source;
    remove(first, [&](const node& one) { remember_bad(one.place.id, reason); });
    choose_best();
    return source;
}

void fork_tree::forget_from(std::uint64_t source) {
    std::vector<block_id> sent;
    for (const auto& [id, one] : nodes_)
        if (!one->is_applied && one->source == source) sent.push_back(id);
    for (const block_id& id : sent) // one may have been removed with its ancestor
        if (const auto found = nodes_.find(id); found != nodes_.end()) remove(*found->second);
    if (!sent.empty()) choose_best();
}

void fork_tree::forget_waiting() {
    std::vector<node*> tops;
    for (const auto& [id, one] : nodes_)
        if (!one->is_applied && one->parent->is_applied) tops.push_back(one.get());
    for (node* const top : tops)
        remove(*top);
    best_ = head_;
}

bool fork_tree::has_waiting_of_others(std::uint64_t source) const {
    return std::ranges::any_of(nodes_, [&](const auto& entry) {
        return !entry.second->is_applied && entry.second->source != source;
    });
}

// --- out ---

template <typename Look>
void fork_tree::remove(node& top, Look look) {
    if (top.parent) std::erase(top.parent->children, &top);
    std::vector<node*> left{&top};
    while (!left.empty()) {
        node& one = *left.back();
        left.pop_back();
        left.insert(left.end(), one.children.begin(), one.children.end());
        look(std::as_const(one));
        if (!one.is_applied) count_waiting(one, false);
        if (one.content) freed_.push_back(std::move(one.content));
        nodes_.erase(one.place.id);
    }
}

void fork_tree::remove(node& top) {
    remove(top, [](const node&) {});
}

/// Raises it as far as the lag allows; removes blocks that do not descend from the new root.
void fork_tree::raise_root() {
    node* next = head_;
    for (std::size_t i = 0; i < lag_; ++i)
        next = next->parent;
    while (root_ != next) {
        node* above = next;
        while (above->parent != root_)
            above = above->parent;
        node* const old = root_;
        std::erase(old->children, above);
        above->parent = nullptr;
        root_ = above;
        remove(*old);
    }
}

/// Only needed after a removal: insert() keeps it up to date.
void fork_tree::choose_best() {
    best_ = head_;
    for (const auto& [id, one] : nodes_)
        if (one->height > best_->height ||
            (one->height == best_->height && one->arrival < best_->arrival))
            best_ = one.get();
}

void fork_tree::remember_bad(const block_id& id, const std::string& reason) {
    if (!bad_.emplace(id, reason).second) return;
    bad_by_age_.push_back(id);
    if (bad_by_age_.size() <= bounds_.bad_blocks) return;
    bad_.erase(bad_by_age_.front());
    bad_by_age_.pop_front();
}

std::optional<std::string> fork_tree::bad(const block_id& id) const {
    const auto found = bad_.find(id);
    return found == bad_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::shared_ptr<const decoded_block>> fork_tree::take_freed() {
    return std::exchange(freed_, {});
}

} // namespace chainbase::driver

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/driver/root/chain_root.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

namespace chainbase::driver {

namespace {

const trace::site root_update("driver.root.update");

const std::set<std::string> all{"all"};

std::set<std::string> types_of(const state_root::merkle_tree& tree) {
    std::set<std::string> types;
    for (const auto& [name, number] : tree.type_numbers())
        types.insert(name);
    return types;
}

} // namespace

std::unique_ptr<chain_root> chain_root::open(database& state, const chain_model& model,
                                             const root_options& asked) {
    const bool is_wanted = asked.types && !asked.is_none();
    const bool was_there = state.has_type(root_setting::type_name);
    std::unique_ptr<chain_root> root;
    if (is_wanted || (was_there && !asked.is_none()))
        root.reset(new chain_root(state, asked.threads));
    if (!root || (!is_wanted && !root->setting())) {
        if (asked.kept)
            throw usage_error(state.state() +
                              ": --keep-roots: there is no root; give --state-root, too");
        return nullptr;
    }
    root->require_known_format();
    if (!is_wanted)
        root->commit_to(model, types_of(root->objects_.tree()));
    else
        root->commit_to(model, asked.types == all ? std::set<std::string>() : *asked.types);
    const root_setting* const known = root->setting();
    root->kept_ = asked.kept.value_or(known ? known->kept : root_setting::default_kept);
    return root;
}

void chain_root::turn_off(database& state) {
    if (!state.has_type(root_setting::type_name)) return;
    chain_root root(state, 0);
    if (!root.setting()) return;
    session one = state.start_session();
    root.objects_.forget();
    state.clear<block_root>();
    state.clear<root_setting>();
    one.squash();
}

chain_root::chain_root(database& state, unsigned threads)
    : state_(state), objects_(state, threads) {
    state.add_type<root_setting>(root_setting::type_name);
    state.add_type<block_root>(block_root::type_name);
}

void chain_root::commit_to(const chain_model& model, const std::set<std::string>& types) {
    objects_.restrict_to(types);
    model.commit_to(objects_);
    const std::set<std::string> found = objects_.types();
    for (const std::string& name : types)
        if (!found.contains(name))
            throw usage_error(fmt::format("{}: --state-root: the chain has no type \"{}\"; its "
                                          "types are {}",
                                          state_.state(), name,
                                          fmt::join(objects_.offered(), ", ")));
}

const root_setting* chain_root::setting() const {
    const auto all_of_them = state_.objects<root_setting>();
    return all_of_them.begin() == all_of_them.end() ? nullptr : &*all_of_them.begin();
}

/// A later version may keep other parts of its tree.
void chain_root::require_known_format() const {
    const std::uint32_t format = objects_.tree().nodes().head().format;
    if (format <= state_root::tree_head::current_format) return;
    throw format_error(
        fmt::format("{}: its state root has format {}, this version makes {}; use the version that "
                    "made it, or give --state-root none and then, in a second call, --state-root "
                    "all, which makes it anew and forgets the roots of earlier blocks",
                    state_.state(), format, state_root::tree_head::current_format));
}

/// All in one session: a kill leaves all of it or nothing, and popping the last block cannot undo
/// the setting alone.
void chain_root::catch_up(std::uint64_t head) {
    const root_setting* known = setting();
    const bool is_current = objects_.is_current();
    if (known && known->kept == kept_ && is_current) return;
    session all = state_.start_session();
    if (known)
        state_.modify(*known, [&](root_setting& it) { it.kept = kept_; });
    else
        state_.create<root_setting>([&](root_setting& it) { it.kept = kept_; });
    remove_old();
    if (!is_current) make_anew(head);
    all.squash();
    objects_.note_revision();
}

void chain_root::make_anew(std::uint64_t head) {
    forget_others();
    objects_.rebuild();
    if (head == 0) return; // a new state
    spdlog::info("state root: made anew from {} objects", objects());
    if (!of_block(head)) keep(head, {});
}

void chain_root::keep(std::uint64_t number, const sha256_digest& writes) {
    state_.create<block_root>([&](block_root& one) {
        one.number = number;
        one.root = objects_.root();
        one.writes = writes;
    });
    remove_old();
}

/// Removes block roots of a tree over other types or of another version.
void chain_root::forget_others() {
    const state_root::merkle_tree& tree = objects_.tree();
    if (tree.is_of_this_format() && types_of(tree) == objects_.types()) return;
    if (const auto count = state_.count<block_root>(); count != 0)
        spdlog::warn("state root: the roots of {} earlier blocks are dropped: they are of other "
                     "types, or of another version",
                     count);
    state_.clear<block_root>();
}

void chain_root::end_block(revision_number session, std::uint64_t number) {
    const trace::span timed(root_update);
    const auto begin = std::chrono::steady_clock::now();
    keep(number, objects_.update(session));
    spent_ += std::chrono::steady_clock::now() - begin;
}

void chain_root::remove_old() {
    const auto by_age = state_.view<block_root, by_number>();
    while (state_.count<block_root>() > kept_)
        state_.remove(*by_age.begin());
}

const block_root* chain_root::of_block(std::uint64_t number) const {
    return state_.find<block_root, by_number>(number);
}

void chain_root::verify() const {
    const sha256_digest anew = objects_.recomputed();
    if (anew == root()) return;
    throw damaged_error(state_.state() + ": the state root is " + hex(root()) + ", and " +
                        hex(anew) +
                        " when it is made anew from all objects; `chainbase-inspect root --verify` "
                        "names those that differ");
}

} // namespace chainbase::driver

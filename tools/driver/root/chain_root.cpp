#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/driver/root/chain_root.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

namespace chainbase::driver {

namespace {

const trace::site root_update("driver.root.update");
const trace::site root_record("driver.root.record");

const std::set<std::string> all{"all"};

/// The ended blocks of a step whose root may still be made.
constexpr std::size_t most_behind = 32;

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
    root->require_known_format(is_wanted);
    if (!is_wanted)
        root->commit_to(model, root->objects_.recorded_types());
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

/// What the root of another version commits to is not known here.
void chain_root::require_known_format(bool has_types) const {
    const std::uint32_t format = objects_.format();
    if (!setting() || format == state_root::current_format) return;
    if (format > state_root::current_format)
        throw format_error(fmt::format(
            "{}: its state root has format {}, this version makes {}; use the version that made "
            "it, or give --state-root none and then, in a second call, --state-root all, which "
            "makes it anew and forgets the roots of earlier blocks",
            state_.state(), format, state_root::current_format));
    if (!has_types)
        throw format_error(fmt::format(
            "{}: its state root is of an earlier version; give --state-root all, or the types that "
            "it is of, which makes it anew and forgets the roots of earlier blocks, or "
            "--state-root none. The memory of the former tree, about 70 bytes for each object, is "
            "free only if the version that made it turns it off first",
            state_.state()));
}

/// All in one session: a kill leaves all of it or nothing, and popping the last block cannot undo
/// the setting alone.
void chain_root::catch_up(std::uint64_t head) {
    const root_setting* known = setting();
    const bool is_current = objects_.is_current();
    if (is_current) objects_.catch_up();
    if (known && known->kept == kept_ && is_current) return;
    session all = state_.start_session();
    if (known)
        state_.modify(*known, [&](root_setting& it) { it.kept = kept_; });
    else
        state_.create<root_setting>([&](root_setting& it) { it.kept = kept_; });
    remove_old();
    if (!is_current) make_anew(head);
    objects_.squash(all);
}

void chain_root::make_anew(std::uint64_t head) {
    forget_others();
    objects_.catch_up();
    if (head == 0) return; // a new state
    spdlog::info("state root: made anew from {} objects", objects());
    if (!of_block(head)) keep(head, {objects_.root(), {}});
}

void chain_root::keep(std::uint64_t number, const state_root::block_digests& of) {
    state_.create<block_root>([&](block_root& one) {
        one.number = number;
        one.root = of.root;
        one.writes = of.writes;
    });
    remove_old();
}

void chain_root::keep_ended(std::size_t most_left) {
    for (; ended_.size() > most_left; ended_.pop_front())
        keep(ended_.front().number, ended_.front().digests.get());
}

/// Removes block roots over other types or of another version.
void chain_root::forget_others() {
    if (objects_.format() == state_root::current_format &&
        objects_.recorded_types() == objects_.types())
        return;
    if (const auto count = state_.count<block_root>(); count != 0)
        spdlog::warn("state root: the roots of {} earlier blocks are dropped: they are of other "
                     "types, or of another version",
                     count);
    state_.clear<block_root>();
}

/// Blocks that were ended before, and undone with their step, count no more.
void chain_root::end_block(revision_number session, std::uint64_t number) {
    const trace::span timed(root_update);
    const auto begin = std::chrono::steady_clock::now();
    while (!ended_.empty() && ended_.back().number >= number)
        ended_.pop_back();
    ended_.push_back({number, objects_.follow(session)});
    keep_ended(most_behind);
    spent_ += std::chrono::steady_clock::now() - begin;
}

void chain_root::record() {
    const trace::span timed(root_record);
    const auto begin = std::chrono::steady_clock::now();
    objects_.record();
    keep_ended(0);
    spent_ += std::chrono::steady_clock::now() - begin;
}

void chain_root::follow_copied(revision_number session, std::uint64_t number) {
    const trace::span timed(root_update);
    const sha256_digest own = objects_.follow(session).get().root;
    objects_.record();
    const block_root* const told = of_block(number);
    if (!told || told->root == own) return;
    throw damaged_error(fmt::format(
        "{}: after block {} the state root is {}, and {} in the state that it follows; nothing of "
        "that block was kept. `chainbase-inspect root --verify` of both tells which of them is "
        "damaged",
        state_.state(), number, hex(own), hex(told->root)));
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

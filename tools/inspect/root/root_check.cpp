#include <chainbase/state_root/leaves_file.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/root/root_check.hpp>
#include <tools/inspect/root/type_leaves.hpp>
#include <tools/inspect/rows/merged_rows.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <numeric>
#include <utility>

namespace chainbase::inspect {

void root_faults::add(root_fault one) {
    ++counts_[static_cast<std::size_t>(one.what)];
    std::vector<root_fault>& kept = named(one.what);
    if (limit_ == 0 || kept.size() < limit_) kept.push_back(std::move(one));
}

std::uint64_t root_faults::total() const noexcept {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

namespace {

using kind = root_fault::kind;
using state_root::committed_type;
using state_root::id_tree;
using state_root::no_digest;
using state_root::state_tree;

/// The tree of a type as the root commits to it.
struct known_tree {
    std::string name;
    unsigned height;
    sha256_digest root;

    [[nodiscard]] bool is(const id_tree& tree) const noexcept {
        return tree.height() == height && tree.root() == root;
    }
};

class root_check {
public:
    root_check(unchanging_state& state, const root_record& record, const archive::store* archive,
               unsigned threads, root_verification& to)
        : state_(state), record_(record), archive_(archive), threads_(threads), to_(to) {}

    /// If the record contradicts itself, the leaves say what the root commits to.
    void run() {
        const auto contradictions = record_.contradictions();
        for (const auto& [type, id, text] : contradictions)
            to_.faults.add({kind::record, type, id, text});
        std::vector<known_tree> types;
        if (const state_tree* const kept = contradictions.empty() ? nullptr : leaves())
            for (std::size_t number = 0; number < kept->types().size(); ++number)
                types.push_back({kept->types()[number], kept->objects(number).height(),
                                 kept->objects(number).root()});
        else
            for (const committed_type& one : record_.types)
                types.push_back({std::string(one.name.view()), one.height, one.root});
        for (const known_tree& one : types)
            check_type(one);
        name_objects();
    }

private:
    void check_type(const known_tree& known) {
        const type_leaves made = hashed(known.name);
        to_.objects += made.tree.leaves();
        to_.archived_objects += made.archived;
        const id_tree* kept = known.is(made.tree) ? &made.tree : leaves_of(known.name);
        add_unreadable(known.name, made, kept);
        if (kept)
            compare(known.name, *kept, made);
        else
            add_type(known.name, made);
    }

    [[nodiscard]] type_leaves hashed(const std::string& type) {
        bool is_there = false;
        state_.take_turn([&] { is_there = state_.source().has(type); });
        if (is_there) return type_leaves::of(state_, archive_, type, threads_);
        const committed_type* const named = record_.find(type);
        to_.faults.add({kind::record, committed_type::type_name,
                        named ? std::optional(named->id.value) : std::nullopt,
                        fmt::format("the root commits to objects of a type {}, which the state "
                                    "does not have",
                                    type)});
        return {};
    }

    /// Ids in memory or in the root are objects; a fault of other ids is reported only if there are
    /// none of these. Without leaves, archived ones may or may not be objects.
    void add_unreadable(const std::string& type, const type_leaves& made, const id_tree* kept) {
        bool is_added = false;
        const auto add = [&](const type_leaves::unreadable_object& one) {
            to_.faults.add({kind::unreadable, type, one.id, one.problem, one.is_archived});
            is_added = true;
        };
        for (const auto& one : made.unreadable) {
            if (one.is_archived && kept && kept->leaf(one.id) == no_digest) continue;
            add(one);
            if (one.is_archived && !kept) continue;
            ++to_.objects;
            to_.archived_objects += one.is_archived ? 1 : 0;
        }
        if (!made.unreadable.empty() && !is_added) add(made.unreadable.front());
    }

    void compare(const std::string& type, const id_tree& kept, const type_leaves& made) {
        id_tree::differences(kept, made.tree, [&](std::uint32_t id) {
            if (made.is_unreadable(id)) return;
            if (made.tree.leaf(id) == no_digest)
                to_.faults.add({kind::not_in_state, type, id, "in the root, not in the state"});
            else if (kept.leaf(id) == no_digest)
                to_.faults.add({kind::not_in_root, type, id, "in the state, not in the root"});
            else
                to_.faults.add(
                    {kind::other_content, type, id, "its content is not what the root commits to"});
        });
    }

    void add_type(const std::string& type, const type_leaves& made) {
        const std::string what =
            made.unreadable.empty()
                ? fmt::format("its objects are not those that the root commits to; the state has "
                              "{}, the root {}",
                              made.tree.leaves(), record_.find(type)->objects)
                : "it could not be compared with the root, since some of its objects cannot be "
                  "read";
        to_.faults.add({kind::type, type, std::nullopt,
                        what + fmt::format("; no {} tells which ones differ: compare with another "
                                           "copy of the state by `chainbase-driver bisect`, or "
                                           "with a checkpoint",
                                           state_root::leaves_file_name)});
    }

    /// The leaves of the root, if a file has them; read when they are first asked for.
    [[nodiscard]] const state_tree* leaves() {
        if (!std::exchange(are_leaves_read_, true)) {
            const auto file = state_.source().origin() / state_root::leaves_file_name;
            try {
                leaves_ = state_root::read_leaves(file, record_.recorded.root, threads_ - 1);
            } catch (const error& problem) {
                spdlog::warn("{}; objects are compared without it", problem.what());
            }
        }
        return leaves_ ? &*leaves_ : nullptr;
    }
    [[nodiscard]] const id_tree* leaves_of(const std::string& type) {
        const state_tree* const all = leaves();
        const auto number = all ? all->number_of(type) : std::nullopt;
        return number ? &all->objects(*number) : nullptr;
    }

    /// Adds to the kept faults what is known of their objects.
    void name_objects() {
        for (const kind what : {kind::other_content, kind::not_in_root})
            for (root_fault& one : to_.faults.named(what)) {
                state_.take_turn([&] {
                    one.is_archived = !may_be_in_memory(state_.source().of(one.type), *one.id);
                });
                one.row = row_of(one);
            }
        state_.take_turn([] {}); // confirms that these belong to the same moment
    }
    /// An object as `get` prints it; empty when unreadable.
    [[nodiscard]] std::string row_of(const root_fault& fault) {
        try {
            const auto found = object_row::find(state_.source(), archive_, fault.type, *fault.id);
            return found ? found->json : std::string();
        } catch (const error&) {
            return {};
        }
    }

    unchanging_state& state_;
    const root_record& record_;
    const archive::store* archive_;
    unsigned threads_;
    root_verification& to_;
    std::optional<state_tree> leaves_;
    bool are_leaves_read_ = false;
};

} // namespace

root_verification verify_root(unchanging_state& state, const root_record& record,
                              const archive::store* archive, unsigned threads,
                              std::uint64_t limit) {
    root_verification found{0, 0, root_faults(limit)};
    root_check(state, record, archive, threads, found).run();
    return found;
}

} // namespace chainbase::inspect

#include <chainbase/segment.hpp>
#include <chainbase/state_root/merkle_tree.hpp>
#include <chainbase/state_root/tree_update.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace chainbase::state_root {

void merkle_tree::update(std::vector<leaf_change> changes, helpers* helping) {
    if (!is_of_this_format())
        throw format_error(state_.memory().state().string() + ": the state root has format " +
                           std::to_string(nodes_.head().format) + ", this program makes " +
                           std::to_string(tree_head::current_format) + "; make the root anew");
    std::ranges::sort(changes, {}, &leaf_change::key);
    const std::int64_t revision = state_.revision();
    tree_update made(nodes_, changes, helping);
    session all = state_.start_session();
    nodes_.make_head();
    nodes_.reserve(made.needed());
    nodes_.apply([&] {
        made.write(nodes_);
        tree_head head = nodes_.head();
        head.revision = revision;
        nodes_.write_head(head);
    });
    all.squash();
}

void merkle_tree::begin_anew(const std::set<std::string>& types) {
    session all = state_.start_session();
    if (types.empty())
        nodes_.clear(); // there will be no tree for long
    else
        nodes_.let_all_go();
    nodes_.set_types(types);
    all.squash();
}

void merkle_tree::note_revision(std::int64_t revision) {
    nodes_.make_head();
    nodes_.apply([&] {
        tree_head head = nodes_.head();
        head.revision = revision;
        nodes_.write_head(head);
    });
}

} // namespace chainbase::state_root

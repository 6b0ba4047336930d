#include <pool_allocator/base/error.hpp>
#include <tools/inspect/root/type_leaves.hpp>
#include <tools/python/proofs.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

namespace chainbase::python {

using state_root::recorded_root;

std::optional<kept_root> kept_root::of(opened& in) {
    const auto now = in.now();
    std::optional<kept_root> found;
    now->begin();
    now->take_turn([&] {
        found.reset();
        inspect::row_source& source = now->source();
        if (!source.has(recorded_root::type_name) ||
            source.of(recorded_root::type_name).slots().live() == 0)
            return;
        found = kept_root{inspect::root_record::of(source), source.revision()};
    });
    return found;
}

prover::prover(std::shared_ptr<opened> block) : in_(block->now()) {
    const auto kept = kept_root::of(*block);
    if (!kept)
        throw usage_error(block->name() + " keeps no state root, against which an object could be "
                                          "proven; open it with a program that keeps one "
                                          "(chainbase-driver ... --state-root all)");
    if (kept->record.recorded.revision != kept->revision)
        throw usage_error(fmt::format("{}: its root is that of revision {}, and not of {}; open it "
                                      "with the program that keeps the root, which makes it anew",
                                      block->name(), kept->record.recorded.revision,
                                      kept->revision));
    root_ = kept->record.recorded.root;
    std::vector<std::string> types;
    for (const state_root::committed_type& one : kept->record.types)
        types.emplace_back(one.name.view());
    tree_.emplace(types);
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    for (const std::string& type : types) {
        const auto archive = in_->archive_of(type);
        const auto made = inspect::type_leaves::of(in_->still(), archive.get(), type, threads);
        std::vector<state_root::leaf_update> leaves;
        made.tree.each(
            [&](std::uint32_t id, const sha256_digest& leaf) { leaves.push_back({id, leaf}); });
        tree_->update(tree_->number_of(type).value(), leaves);
    }
    if (tree_->root() == root_) return;
    throw damaged_error(fmt::format("{}: its objects are not those that its root commits to; "
                                    "chainbase-inspect root --verify tells which",
                                    block->name()));
}

prover::proof prover::prove(const std::string& type, std::uint32_t id) const {
    const auto number = tree_->number_of(type);
    if (!number)
        throw usage_error(fmt::format("the root does not commit to objects of {}, but to those of "
                                      "{}",
                                      type, fmt::join(tree_->types(), ", ")));
    proof made{std::nullopt, tree_->prove(*number, id)};
    const auto archive = in_->archive_of(type);
    inspect::type_records records(in_->still(), type, archive.get(),
                                  inspect::type_records::places::both);
    if (id == UINT32_MAX) return made; // no object has it
    records.each(id, id + 1, [&](const inspect::type_records::seen& one) {
        made.record.emplace(one.record.begin(), one.record.end());
    });
    return made;
}

} // namespace chainbase::python

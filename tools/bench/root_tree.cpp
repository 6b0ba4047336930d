#include <chainbase/statistics.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/options_for_bench.hpp>
#include <tools/bench/root_tree.hpp>
#include <tools/bench/stopwatch.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace chainbase::bench {

namespace {

/// As many as committed_state::rebuild() adds at once.
constexpr std::uint32_t leaves_at_once = 1'000'000;

} // namespace

// --- versioned_objects ---

sha256_digest versioned_objects::content(std::uint32_t id) {
    const std::array<std::uint32_t, 2> record{id, versions_[id]};
    return hash_.content(std::as_bytes(std::span(record)));
}

state_root::leaf_change versioned_objects::leaf(std::uint32_t id, std::uint16_t number) {
    const sha256_digest key = hash_.key(type, id);
    return {key, hash_.leaf(key, content(id)), id, number, true};
}

std::vector<state_root::whole_leaf> versioned_objects::leaves() {
    std::vector<state_root::whole_leaf> all;
    all.reserve(count());
    for (std::uint32_t id = 0; id < count(); ++id) {
        const state_root::leaf_change one = leaf(id, 0);
        all.push_back({one.key, one.leaf});
    }
    return all;
}

// --- root_tree ---

root_tree::root_tree(const std::filesystem::path& state)
    : state_(state, options_for_bench()), tree_(state_) {
    const std::string type(versioned_objects::type);
    tree_.begin_anew({type});
    number_ = tree_.type_numbers().at(type);
}

double root_tree::build(versioned_objects& objects, state_root::helpers* helping) {
    double ns = 0;
    for (std::uint32_t begin = 0; begin < objects.count();) {
        throw_if_interrupted();
        const std::uint32_t end = begin + std::min(leaves_at_once, objects.count() - begin);
        std::vector<state_root::leaf_change> part;
        part.reserve(end - begin);
        for (; begin < end; ++begin)
            part.push_back(objects.leaf(begin, number_));
        ns += nanoseconds([&] { tree_.update(std::move(part), helping); });
    }
    return ns;
}

void root_tree::apply_block(std::vector<state_root::leaf_change> changes,
                            state_root::helpers* helping) {
    session block = state_.start_session();
    tree_.update(std::move(changes), helping);
    block.push();
    state_.commit(state_.revision());
}

std::uint64_t root_tree::held_bytes() const {
    std::uint64_t sum = 0;
    for (const type_statistics& type : segment_statistics::read(state_).types)
        if (type.name.starts_with("state_root.")) sum += type.total().total;
    return sum;
}

} // namespace chainbase::bench

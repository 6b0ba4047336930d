#include <tools/inspect/archive/handed_over.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

struct id_counts {
    std::uint64_t given;
    std::uint64_t live;
};

/// `counts_of` returns what is known of the ids of a type, or nothing when there is none.
template <typename CountsOf>
std::optional<std::uint64_t> count(const std::string& type, const CountsOf& counts_of) {
    const std::optional<id_counts> queue = counts_of(type + std::string(queue_suffix));
    if (!queue) return std::nullopt;
    const std::optional<id_counts> withdrawn = counts_of(type + ".withdrawn");
    const std::uint64_t others = queue->live + (withdrawn ? withdrawn->live : 0);
    return queue->given - std::min(queue->given, others);
}

} // namespace

std::optional<std::uint64_t> objects_handed_over(row_source& state, const std::string& type) {
    const auto types = state.types();
    return count(type, [&](const std::string& name) -> std::optional<id_counts> {
        if (std::ranges::find(types, name, &type_schema::name) == types.end()) return std::nullopt;
        const rows::type_rows of = state.of(name);
        return id_counts{of.slots().next_id(), of.slots().live()};
    });
}

std::map<std::string, std::uint64_t> objects_handed_over(row_source& state) {
    std::map<std::string, std::uint64_t> all;
    state.take_turn([&] {
        all.clear();
        for (const type_schema* one : state.types()) {
            if (!one->name.ends_with(queue_suffix)) continue;
            const std::string type = one->name.substr(0, one->name.size() - queue_suffix.size());
            all[type] = objects_handed_over(state, type).value_or(0);
        }
    });
    return all;
}

std::optional<std::uint64_t> objects_handed_over(const state_report& state,
                                                 const std::string& type) {
    return count(type, [&](const std::string& name) -> std::optional<id_counts> {
        const auto found = std::ranges::find(state.types, name, &type_report::name);
        if (found == state.types.end()) return std::nullopt;
        return id_counts{found->next_id, found->objects};
    });
}

} // namespace chainbase::inspect

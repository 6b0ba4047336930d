#pragma once

#include <chainbase/offline/snapshot_file/chunk_plan.hpp>
#include <chainbase/state_root/id_tree.hpp>

#include <tests/support/random_source.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Rows of a type, and what FORMAT.md says of them, written down as simply as possible.
namespace chainbase::test {

namespace snapshots = chainbase::snapshot_file;

struct sample_row {
    archive::byte_buffer record;
    bool is_archived = false;
    archive::byte_buffer keys{};
};
using sample_rows = std::map<std::uint32_t, sample_row>;

inline constexpr std::uint32_t highest_id = 0xffff'fffe;

inline archive::byte_buffer random_bytes(random_source& random, std::size_t count) {
    archive::byte_buffer bytes(count);
    for (std::byte& one : bytes)
        one = static_cast<std::byte>(random.below(256));
    return bytes;
}

inline sample_row random_row(random_source& random, std::uint32_t most) {
    sample_row row{random_bytes(random, random.below(most + 1)), random.one_in(3)};
    if (row.is_archived) row.keys = random_bytes(random, random.below(most + 1));
    return row;
}

/// Ids side by side, in clusters, or anywhere.
inline sample_rows random_rows(random_source& random, std::uint32_t most_rows,
                               std::uint32_t most_record, std::uint32_t end = highest_id) {
    sample_rows rows;
    const std::uint32_t count = random.below(most_rows + 1);
    const std::uint32_t gap = 1 + random.below(random.one_in(3) ? 1 : 1 << random.below(30));
    for (std::uint64_t id = random.one_in(2) ? 0 : random.below(end); rows.size() < count;
         id += 1 + random.below(gap)) {
        if (id > end || random.one_in(50)) id = random.below(end);
        rows.try_emplace(static_cast<std::uint32_t>(id), random_row(random, most_record));
        if (rows.size() > end / 2) break;
    }
    return rows;
}

inline snapshots::chunk_row view_of(std::uint32_t id, const sample_row& row) {
    return {id, row.record, row.is_archived, row.keys};
}

using row_iterator = sample_rows::const_iterator;

/// The rows of a node.
inline std::pair<row_iterator, row_iterator> rows_in(const sample_rows& rows, snapshots::node at) {
    const auto end =
        at.end() > highest_id ? rows.end() : rows.lower_bound(static_cast<std::uint32_t>(at.end()));
    return {rows.lower_bound(at.first), end};
}

inline snapshots::chunk_content content_in(const sample_rows& rows, snapshots::node at) {
    snapshots::chunk_content content;
    for (auto [one, end] = rows_in(rows, at); one != end; ++one)
        content.add(view_of(one->first, one->second));
    return content;
}

inline std::pair<snapshots::node, snapshots::node> halves(snapshots::node at) {
    const snapshots::node left{at.first, at.height - 1};
    return {left, {static_cast<std::uint32_t>(left.end()), left.height}};
}

/// By the definition of chainbase/state_root/FORMAT.md.
inline sha256_digest naive_root(const sample_rows& rows, snapshots::node at) {
    const auto [first, end] = rows_in(rows, at);
    if (first == end) return {};
    if (at.height == 0) return sha256().of(first->second.record);
    const auto [left, right] = halves(at);
    const sha256_digest a = naive_root(rows, left);
    const sha256_digest b = naive_root(rows, right);
    sha256 both;
    both.add(a);
    both.add(b);
    return both.finish();
}

/// "A node is a chunk if it has rows, its weight is at most 8 MiB or its height is 0, and it is the
/// root of its type's tree or the weight of the node above is more than 8 MiB."
inline void naive_cut(const sample_rows& rows, snapshots::node at, std::uint64_t most,
                      std::vector<snapshots::piece>& into) {
    const auto [first, end] = rows_in(rows, at);
    if (first == end) return;
    snapshots::chunk_content content = content_in(rows, at);
    if (content.bytes().size() <= most || at.height == 0) {
        into.push_back({at, std::move(content), naive_root(rows, at)});
        return;
    }
    const auto [left, right] = halves(at);
    naive_cut(rows, left, most, into);
    naive_cut(rows, right, most, into);
}

inline unsigned height_of(const sample_rows& rows) {
    if (rows.empty()) return 0;
    unsigned height = 4;
    while (std::uint64_t{rows.rbegin()->first} >> height != 0)
        height += 4;
    return height;
}

inline state_root::id_tree tree_of(const sample_rows& rows) {
    std::vector<state_root::leaf_update> leaves;
    for (const auto& [id, row] : rows)
        leaves.push_back({id, sha256().of(row.record)});
    state_root::id_tree tree;
    tree.update(leaves);
    return tree;
}

} // namespace chainbase::test

#include <chainbase/offline/snapshot_file/chunk_plan.hpp>
#include <chainbase/state_root/id_tree.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace chainbase::snapshot_file {

namespace {

constexpr const char* piece_name = "rows that become a chunk";

node above(node one) noexcept {
    const unsigned height = one.height + 1;
    return {static_cast<std::uint32_t>(std::uint64_t{one.first} >> height << height), height};
}

} // namespace

piece piece::of(node at, chunk_content content) {
    const sha256_digest root = root_of(content.bytes(), at, piece_name);
    return {at, std::move(content), root};
}

chunk_plan::chunk_plan(std::function<void(piece)> emit, std::uint64_t most)
    : emit_(std::move(emit)), most_(most) {}

void chunk_plan::add(piece next) {
    if (!next.at.is_valid() || next.at.first < next_id_)
        throw usage_error(fmt::format("rows from the id {} on, a node of height {}, cannot follow "
                                      "those below {}; pass pieces by rising ids",
                                      next.at.first, next.at.height, next_id_));
    if (next.content.objects() == 0) return;
    settle(next.at.first);
    next_id_ = next.at.end();
    const std::uint64_t bytes = next.content.bytes().size();
    if (bytes > most_) {
        add_heavy(std::move(next));
        return;
    }
    open_bytes_ += bytes;
    open_.push_back({next.at, next.root, bytes, {}});
    open_.back().parts.push_back(std::move(next.content));
    while (!open_.empty() && (open_bytes_ > most_ || is_settled(open_.front())))
        emit_(take_first());
}

/// What is above it is too heavy, too.
void chunk_plan::add_heavy(piece next) {
    while (!open_.empty())
        emit_(take_first());
    std::vector<chunk_row> rows;
    rows.reserve(next.content.objects());
    each_row(next.content.bytes(), piece_name, [&](const chunk_row& one) { rows.push_back(one); });
    cut(next.at, rows);
    emitted_ = next.at.end();
}

void chunk_plan::cut(node at, std::span<const chunk_row> rows) {
    if (rows.empty()) return;
    std::uint64_t bytes = 0;
    for (const chunk_row& one : rows)
        bytes += one.bytes();
    if (bytes > most_ && at.height > 0) {
        const node left{at.first, at.height - 1};
        const auto middle =
            std::ranges::lower_bound(rows, left.end(), {}, &chunk_row::id) - rows.begin();
        cut(left, rows.first(static_cast<std::size_t>(middle)));
        cut({static_cast<std::uint32_t>(left.end()), left.height},
            rows.subspan(static_cast<std::size_t>(middle)));
        return;
    }
    chunk_content content;
    content.reserve(bytes);
    for (const chunk_row& one : rows)
        content.add(one);
    emit_(piece::of(at, std::move(content)));
}

void chunk_plan::finish(unsigned height) {
    settle(std::uint64_t{1} << height);
    while (!open_.empty()) {
        piece first = take_first();
        const bool is_beyond = first.at.height > height; // the only piece
        emit_(is_beyond ? piece::of({0, height}, std::move(first.content)) : std::move(first));
    }
}

bool chunk_plan::is_settled(const open_node& one) const noexcept {
    return above(one.at).first < emitted_;
}

piece chunk_plan::take_first() {
    open_node first = std::move(open_.front());
    open_.erase(open_.begin());
    open_bytes_ -= first.bytes;
    emitted_ = first.at.end();
    chunk_content all = std::move(first.parts.front());
    if (first.parts.size() > 1) all.reserve(first.bytes);
    for (std::size_t i = 1; i < first.parts.size(); ++i)
        all.add(first.parts[i]);
    return {first.at, std::move(all), first.root};
}

/// Joins the last open node with those before it, as far as no row below `below` is to come.
void chunk_plan::settle(std::uint64_t below) {
    while (!open_.empty()) {
        const node up = above(open_.back().at);
        if (up.height > 32 || up.end() > below || up.first < emitted_) return;
        const bool is_right = open_.back().at.first != up.first;
        const bool has_left =
            is_right && open_.size() > 1 && open_[open_.size() - 2].at.first >= up.first;
        if (has_left) {
            join_last();
            continue;
        }
        open_node& only = open_.back();
        only.at = up;
        only.root = is_right ? state_root::digest_of_pair(state_root::no_digest, only.root)
                             : state_root::digest_of_pair(only.root, state_root::no_digest);
    }
}

/// The last two open nodes, which are side by side, become the one above.
void chunk_plan::join_last() {
    open_node right = std::move(open_.back());
    open_.pop_back();
    open_node& left = open_.back();
    left.at = above(left.at);
    left.root = state_root::digest_of_pair(left.root, right.root);
    left.bytes += right.bytes;
    std::ranges::move(right.parts, std::back_inserter(left.parts));
}

unsigned tree_height(std::uint32_t highest) noexcept {
    return std::max(4U, (static_cast<unsigned>(std::bit_width(highest)) + 3) / 4 * 4);
}

} // namespace chainbase::snapshot_file

#include <chainbase/checkpoint/page_table.hpp>

#include <algorithm>
#include <array>

namespace chainbase::checkpoint {

namespace {

struct entry {
    std::uint32_t slot;
    std::uint32_t zero;
    std::uint64_t sum;
};
static_assert(sizeof(entry) * page_table::pages_of_a_leaf == page_bytes);

using entries = std::array<entry, page_table::pages_of_a_leaf>;

} // namespace

page_table::page_table(const publication::file& from, const slot_file& slots)
    : pages_(from.bytes / page_bytes), leaves_(from.leaves), changed_(from.leaves.size()) {
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
        if (leaves_[leaf].slot == 0) continue;
        entries found;
        slots.read(leaves_[leaf].slot, leaves_[leaf].sum,
                   std::span<std::byte, page_bytes>(std::as_writable_bytes(std::span(found))));
        const std::size_t first = leaf * pages_of_a_leaf;
        const std::size_t count = std::min(pages_of_a_leaf, pages_.size() - first);
        for (std::size_t i = 0; i < count; ++i)
            pages_[first + i] = {found[i].slot, found[i].sum};
    }
}

void page_table::resize(std::uint64_t pages, std::vector<slot>& replaced) {
    const std::uint64_t leaves = (pages + pages_of_a_leaf - 1) / pages_of_a_leaf;
    for (std::uint64_t page = pages; page < pages_.size(); ++page)
        replaced.push_back(pages_[page].slot);
    for (std::uint64_t leaf = leaves; leaf < leaves_.size(); ++leaf)
        replaced.push_back(leaves_[leaf].slot);
    if (pages < pages_.size() && leaves > 0) changed_[leaves - 1] = true; // it has less
    pages_.resize(pages);
    leaves_.resize(leaves);
    changed_.resize(leaves);
}

void page_table::set(std::uint64_t page, placed_page to) noexcept {
    if (pages_[page] == to) return;
    pages_[page] = to;
    changed_[page / pages_of_a_leaf] = true;
}

std::uint64_t page_table::changed_leaves() const noexcept {
    return static_cast<std::uint64_t>(std::ranges::count(changed_, true));
}

void page_table::write_leaves(slot_file& to, std::vector<slot>& replaced) {
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
        if (!changed_[leaf]) continue;
        entries all{};
        const std::size_t first = leaf * pages_of_a_leaf;
        const std::size_t count = std::min(pages_of_a_leaf, pages_.size() - first);
        bool is_empty = true;
        for (std::size_t i = 0; i < count; ++i) {
            all[i] = {pages_[first + i].slot, 0, pages_[first + i].sum};
            is_empty = is_empty && all[i].slot == 0;
        }
        replaced.push_back(leaves_[leaf].slot);
        leaves_[leaf] = {};
        if (!is_empty) {
            const std::span<const std::byte, page_bytes> content(std::as_bytes(std::span(all)));
            leaves_[leaf] = {to.take(), to.sum_of(content)};
            to.write(leaves_[leaf].slot, content);
        }
        changed_[leaf] = false;
    }
}

} // namespace chainbase::checkpoint

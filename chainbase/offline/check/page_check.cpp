#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/offline/check/page_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::check {

namespace {

using checkpoint::page_bytes;

constexpr std::size_t pages_at_once = 256; // pages: a MiB

} // namespace

page_check::page_check(disk& on, const std::filesystem::path& state, const segment_header& header,
                       part_report& to)
    : to_(to), saved_(named_by(on, state, header)),
      slots_(on, state / "checkpoint/pages", saved_.state, disk::mode::read),
      of_zeros_(slots_.sum_of(checkpoint::page{})) {}

checkpoint::publication page_check::named_by(disk& on, const std::filesystem::path& state,
                                             const segment_header& header) {
    const checkpoint::published found(on, state / "checkpoint");
    for (const checkpoint::publication* one : {found.newest(), found.older()})
        if (one && one->generation == header.generation && one->state == header.identity)
            return *one;
    throw damaged_error(fmt::format("against the checkpoint that closing made: number {} is not "
                                    "there, or cannot be read",
                                    header.generation));
}

/// As a checkpoint says it: 0 of a page of zeros.
std::uint64_t page_check::sum_of(std::span<const std::byte, page_bytes> content) const {
    const std::uint64_t sum = slots_.sum_of(content);
    return sum == of_zeros_ ? 0 : sum;
}

std::vector<altered_bytes> page_check::compare(const window* file) {
    std::vector<altered_bytes> all;
    if (!file) return all;
    const auto saved =
        std::ranges::find(saved_.files, file->name(), &checkpoint::publication::file::name);
    if (saved == saved_.files.end() || saved->bytes != file->bytes()) {
        to_.add(*file, file->bytes(),
                fmt::format("has {} bytes, but had {} when it was closed (checkpoint {})",
                            file->bytes(), saved == saved_.files.end() ? 0 : saved->bytes,
                            saved_.generation));
        return all;
    }
    const checkpoint::page_table table(*saved, slots_);
    std::vector<std::byte> content(pages_at_once * page_bytes);
    for (std::uint64_t first = 0; first < table.pages(); first += pages_at_once) {
        const auto count = std::min<std::uint64_t>(pages_at_once, table.pages() - first);
        file->read(first * page_bytes, std::span(content).first(count * page_bytes));
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::span<const std::byte, page_bytes> now(content.data() + i * page_bytes,
                                                             page_bytes);
            const checkpoint::placed_page then = table.at(first + i);
            if (sum_of(now) != then.sum) all.push_back(compare_page(*file, first + i, now, then));
        }
    }
    pages_ += table.pages();
    return all;
}

/// Which bytes they are, as far as the checkpoint's own page can be read.
altered_bytes page_check::compare_page(const window& file, std::uint64_t page,
                                       std::span<const std::byte, page_bytes> now,
                                       const checkpoint::placed_page& then) {
    const std::uint64_t begin = page * page_bytes;
    checkpoint::page before{};
    try {
        if (then.slot != 0) slots_.read(then.slot, then.sum, before);
    } catch (const damaged_error&) {
        to_.add(file, begin,
                fmt::format("the page's sum is not what closing left (checkpoint {})",
                            saved_.generation));
        return {begin, begin + page_bytes - 1};
    }
    altered_bytes bytes{begin + page_bytes, begin};
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < page_bytes; ++i) {
        if (now[i] == before[i]) continue;
        bytes.first = std::min(bytes.first, begin + i);
        bytes.last = begin + i;
        ++count;
    }
    to_.add(file, bytes.first,
            fmt::format("{} byte(s) of the page are not what closing left (checkpoint {} has them)",
                        count, saved_.generation));
    return bytes;
}

} // namespace chainbase::check

#include <chainbase/checkpoint/redo_block.hpp>
#include <pool_allocator/error.hpp>
#include <undo/undo_log.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase::checkpoint {

redo_block::head redo_block::head::end_mark(std::uint64_t seed, std::uint64_t synced) noexcept {
    head mark{};
    mark.sequence = synced | UINT32_MAX; // behind every block of its run
    mark.synced = synced;
    mark.sum = XXH3_64bits_withSeed(&mark, offsetof(head, sum), seed);
    return mark;
}

bool redo_block::head::is_end_mark() const noexcept {
    return static_cast<std::uint32_t>(sequence) == UINT32_MAX;
}

bool redo_block::head::is_whole(std::uint64_t seed) const noexcept {
    return sum == XXH3_64bits_withSeed(this, offsetof(head, sum), seed);
}

std::uint64_t redo_block::head::body_bytes() const noexcept {
    return lengths * sizeof(length) + changes * sizeof(record_trailer) + content;
}

bool redo_block::head::fits(std::uint64_t bytes) const noexcept {
    return lengths <= bytes / sizeof(length) && changes <= bytes / sizeof(record_trailer) &&
           content <= bytes && body_bytes() <= bytes;
}

void redo_block::begin(std::uint64_t sequence, const undo_log& log) noexcept {
    sequence_ = sequence;
    revision_ = log.revision();
    committed_ = log.committed_revision();
    lengths_.clear();
    changes_.clear();
    content_.clear();
}

void redo_block::add(const std::byte* base, std::uint64_t offset, std::uint64_t bytes) {
    constexpr std::uint64_t word = 4; // of a record_trailer
    const std::uint64_t end = (offset + bytes + word - 1) / word * word;
    offset = offset / word * word;
    bytes = end - offset;
    const std::size_t at = content_.size();
    if (bytes > most_content - at)
        throw limit_error("a block changed more than " + std::to_string(most_content >> 20) +
                          " MiB");
    changes_.push_back({offset, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(at)});
    if (content_.capacity() < at + bytes) content_.reserve(std::max(2 * at, at + bytes));
    content_.resize(at + bytes, boost::container::default_init);
    std::memcpy(content_.data() + at, base + offset, bytes);
}

/// What was announced twice was copied twice, and is the same.
void redo_block::leave_each_byte_once() {
    std::ranges::sort(changes_, {}, &change::offset);
    std::uint64_t end = 0; // of what is there so far
    std::size_t kept = 0;
    for (change one : changes_) {
        if (one.offset < end) {
            const std::uint64_t known = end - one.offset;
            if (known >= one.bytes) continue;
            one.offset += known;
            one.at += static_cast<std::uint32_t>(known);
            one.bytes -= static_cast<std::uint32_t>(known);
        }
        end = one.offset + one.bytes;
        changes_[kept++] = one;
    }
    changes_.resize(kept);
}

/// Changes that lie side by side as one, as far as it can be told so.
std::vector<record_trailer> redo_block::runs() const {
    std::vector<record_trailer> all;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const auto flush = [&] {
        while (begin < end) {
            const std::uint64_t bytes =
                std::min<std::uint64_t>(end - begin, record_trailer::max_body);
            all.push_back(record_trailer::make(begin, bytes, record_kind::words));
            begin += bytes;
        }
    };
    for (const change& one : changes_) {
        if (one.offset != end) {
            flush();
            begin = one.offset;
        }
        end = one.offset + one.bytes;
    }
    flush();
    return all;
}

void redo_block::encode(std::uint64_t seed, std::uint64_t synced, std::vector<std::byte>& to) {
    leave_each_byte_once();
    const std::vector<record_trailer> told = runs();
    head h{sequence_, revision_, committed_, lengths_.size(), told.size(), 0, synced, 0, 0};
    for (const change& one : changes_)
        h.content += one.bytes;
    const std::size_t begin = to.size();
    to.resize(begin + sizeof h + h.body_bytes());
    std::byte* at = to.data() + begin + sizeof h;
    const auto append = [&at](const void* from, std::size_t bytes) {
        if (bytes != 0) std::memcpy(at, from, bytes);
        at += bytes;
    };
    append(lengths_.data(), lengths_.size() * sizeof(length));
    append(told.data(), told.size() * sizeof(record_trailer));
    for (const change& one : changes_)
        append(bytes_of(one), one.bytes);
    h.body_sum = XXH3_64bits(to.data() + begin + sizeof h, h.body_bytes());
    h.sum = XXH3_64bits_withSeed(&h, offsetof(head, sum), seed);
    std::memcpy(to.data() + begin, &h, sizeof h);
}

void redo_block::decode(const head& of, std::span<const std::byte> body) {
    if (of.content > most_content || XXH3_64bits(body.data(), body.size()) != of.body_sum)
        throw damaged_error("the checksum does not match");
    sequence_ = of.sequence;
    revision_ = of.revision;
    committed_ = of.committed;
    const auto lengths = body.first(of.lengths * sizeof(length));
    const auto changes = body.subspan(lengths.size(), of.changes * sizeof(record_trailer));
    lengths_.resize(of.lengths);
    std::ranges::copy(lengths, std::as_writable_bytes(std::span(lengths_)).begin());
    std::vector<record_trailer> told(of.changes);
    std::ranges::copy(changes, std::as_writable_bytes(std::span(told)).begin());
    changes_.clear();
    std::uint64_t at = 0;
    for (const record_trailer one : told) {
        if (one.kind() != record_kind::words || one.bytes() > of.content - at)
            throw damaged_error("a change of " + std::to_string(one.bytes()) +
                                " bytes is not in the block");
        changes_.push_back({one.offset(), static_cast<std::uint32_t>(one.bytes()),
                            static_cast<std::uint32_t>(at)});
        at += one.bytes();
    }
    const auto content = body.last(of.content);
    content_.assign(content.begin(), content.end());
}

} // namespace chainbase::checkpoint

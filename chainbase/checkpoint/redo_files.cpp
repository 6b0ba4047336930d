#include <chainbase/checkpoint/redo_files.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/undo_log.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase::checkpoint {

namespace fs = std::filesystem;

redo_block::head redo_block::head::end_mark(std::uint64_t seed, std::uint64_t synced) noexcept {
    head mark{};
    mark.sequence = synced | UINT32_MAX; // greater than every block of its run
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
    constexpr std::uint64_t word = 4; // the unit of a record_trailer
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

/// Bytes announced twice were copied twice, with the same content.
void redo_block::drop_duplicate_bytes() {
    std::ranges::sort(changes_, {}, &change::offset);
    std::uint64_t end = 0; // of the ranges so far
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

/// Merges adjacent changes, as far as one trailer can describe them.
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
    drop_duplicate_bytes();
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
                                " bytes does not fit the block");
        changes_.push_back({one.offset(), static_cast<std::uint32_t>(one.bytes()),
                            static_cast<std::uint32_t>(at)});
        at += one.bytes();
    }
    const auto content = body.last(of.content);
    content_.assign(content.begin(), content.end());
}

namespace {

constexpr char redo_magic[16] = "chainbase redo";
constexpr std::uint32_t redo_format = 2; // 1 had no redo_block::head::synced
constexpr std::string_view prefix = "redo.";

} // namespace

redo_header redo_header::make(const slot_file::identity& state, std::uint64_t first) noexcept {
    redo_header made{};
    std::memcpy(made.magic, redo_magic, sizeof made.magic);
    made.format = redo_format;
    made.state = state;
    made.first = first;
    made.sum = XXH3_64bits(&made, offsetof(redo_header, sum));
    return made;
}

std::string redo_header::difference(const slot_file::identity& of, std::uint64_t begin) const {
    if (std::memcmp(magic, redo_magic, sizeof magic) != 0) return "not a redo log";
    if (sum != XXH3_64bits(this, offsetof(redo_header, sum)))
        return "the header's checksum does not match";
    if (format != redo_format)
        return "format " + std::to_string(format) + ", this program reads " +
               std::to_string(redo_format);
    if (state != of) return "the redo log of another state";
    if (first != begin) return "begins with another block than its name says";
    return {};
}

fs::path redo_file(const fs::path& folder, std::uint64_t first) {
    return folder / fmt::format("{}{:016x}", prefix, first);
}

std::vector<std::uint64_t> redo_files(disk& on, const fs::path& folder) {
    std::vector<std::uint64_t> all;
    for (const std::string& name : on.names_in(folder)) {
        std::uint64_t first = 0;
        const char* end = name.data() + name.size();
        if (name.size() != prefix.size() + 16 || !name.starts_with(prefix)) continue;
        const auto [stop, problem] = std::from_chars(name.data() + prefix.size(), end, first, 16);
        const bool is_of_a_run = run_of(first) != 0 && run_of(first) != UINT32_MAX;
        if (problem == std::errc() && stop == end && is_of_a_run) all.push_back(first);
    }
    std::ranges::sort(all);
    return all;
}

void remove_redo_before(disk& on, const fs::path& folder, std::uint64_t needed) {
    for (const std::uint64_t first : redo_files(on, folder))
        if (first < needed) on.remove(redo_file(folder, first));
}

redo_reader::redo_reader(disk& on, fs::path folder, const slot_file::identity& state,
                         std::uint64_t first)
    : on_(on), folder_(std::move(folder)), state_(state), expected_(first),
      files_(redo_files(on, folder_)) {}

std::string redo_reader::place() const {
    return name_.string() + ": offset " + std::to_string(at_);
}

bool redo_reader::next(redo_block& into) {
    try {
        if (try_next(into)) return true;
        check_following_blocks();
    } catch (const io_error& e) {
        why_ = e.what();
        is_damaged_ = true;
    }
    return false;
}

bool redo_reader::try_next(redo_block& into) {
    if (!why_.empty()) return false;
    for (;;) {
        if (!file_ && !open_file()) return false;
        if (read_here(into)) {
            ++expected_;
            return true;
        }
        if (redo_file(folder_, expected_) == name_) return false; // that file has no blocks
        if (std::ranges::count(files_, expected_) == 0) return false;
        why_.clear(); // another file continues from there
        file_.reset();
    }
}

/// The first block of the next file of this run; 0 if there is none.
std::uint64_t redo_reader::next_file() const {
    const auto next = std::ranges::upper_bound(files_, expected_);
    return next != files_.end() && run_of(*next) == run_of(expected_) ? *next : 0;
}

/// After the last block found: checks whether a synced block is missing.
void redo_reader::check_following_blocks() {
    if (const std::uint64_t next = next_file(); next != 0) { // begun after a sync of all before
        is_damaged_ = true;
        if (why_.empty())
            why_ = redo_file(folder_, next).string() + " follows, but blocks before it are missing";
    } else if (is_known_synced()) {
        is_damaged_ = true;
        if (why_.empty()) why_ = place() + ": the block is missing, but later ones follow";
    }
}

/// Whether a later block in this file states that the expected one had been synced.
bool redo_reader::is_known_synced() const {
    if (!file_) return false;
    constexpr std::size_t step = sizeof(std::uint32_t);
    constexpr std::size_t batch = std::size_t{1} << 20;
    std::vector<std::byte> content(batch + sizeof(redo_block::head));
    for (std::uint64_t from = at_; from < file_->bytes(); from += batch) {
        const std::size_t bytes = file_->read(from, content);
        for (std::size_t at = 0; at + sizeof(redo_block::head) <= bytes && at < batch; at += step) {
            redo_block::head found{};
            std::memcpy(&found, content.data() + at, sizeof found);
            if (found.sequence > expected_ && found.synced >= expected_ &&
                run_of(found.sequence) == run_of(expected_) && found.is_whole(seed_))
                return true;
        }
    }
    return false;
}

/// Opens the file that begins with the expected block, if there is one.
bool redo_reader::open_file() {
    if (std::ranges::count(files_, expected_) == 0) return false;
    const std::uint64_t first = expected_;
    name_ = redo_file(folder_, first);
    at_ = 0;
    seed_ = redo_header::make(state_, first).sum;
    file_ = on_.open(name_, disk::mode::read);
    redo_header header{};
    if (file_->read(0, std::as_writable_bytes(std::span(&header, 1))) != sizeof header)
        why_ = place() + ": ends within its header";
    else if (const std::string wrong = header.difference(state_, first); !wrong.empty())
        why_ = place() + ": " + wrong;
    at_ = sizeof header;
    if (!why_.empty()) return false;
    return true;
}

/// Whether nothing was written there: all zeros, or an end mark.
bool redo_reader::is_end(const redo_block::head& found, std::size_t bytes) const noexcept {
    const auto all = std::as_bytes(std::span(&found, 1)).first(bytes);
    return std::ranges::all_of(all, [](std::byte one) { return one == std::byte{0}; });
}

bool redo_reader::read_here(redo_block& into) {
    redo_block::head found{};
    const std::size_t bytes = file_->read(at_, std::as_writable_bytes(std::span(&found, 1)));
    if (is_end(found, bytes)) return false;
    if (bytes == sizeof found && found.is_whole(seed_) && found.is_end_mark()) return false;
    const std::uint64_t left = file_->bytes() - std::min(file_->bytes(), at_ + bytes);
    if (bytes != sizeof found || !found.is_whole(seed_) || !found.fits(left)) {
        why_ = place() + ": the block there is cut or damaged";
        return false;
    }
    if (found.sequence != expected_) {
        why_ = place() + ": the block there is not the next one";
        return false;
    }
    body_.resize(found.body_bytes());
    try {
        if (file_->read(at_ + sizeof found, body_) != body_.size())
            throw damaged_error("the file ends within the block");
        into.decode(found, body_);
    } catch (const damaged_error& e) {
        why_ = place() + ": " + e.what();
        return false;
    }
    at_ += sizeof found + body_.size();
    return true;
}

} // namespace chainbase::checkpoint

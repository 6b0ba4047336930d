#include <chainbase/checkpoint/redo_files.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase::checkpoint {

namespace fs = std::filesystem;

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
        look_behind();
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
        if (redo_file(folder_, expected_) == name_) return false; // it holds none
        if (std::ranges::count(files_, expected_) == 0) return false;
        why_.clear(); // another file goes on from there
        file_.reset();
    }
}

/// Where the next file of this run begins; 0: there is none.
std::uint64_t redo_reader::next_file() const {
    const auto next = std::ranges::upper_bound(files_, expected_);
    return next != files_.end() && run_of(*next) == run_of(expected_) ? *next : 0;
}

/// After the last block that was found: was there another one?
void redo_reader::look_behind() {
    if (const std::uint64_t next = next_file(); next != 0) { // begun when all before was synced
        is_damaged_ = true;
        if (why_.empty())
            why_ = redo_file(folder_, next).string() + " goes on, but blocks before it are missing";
    } else if (is_vouched_for()) {
        is_damaged_ = true;
        if (why_.empty()) why_ = place() + ": no block, though others follow";
    }
}

/// By a block further on in this file, which tells that the expected one had been synced.
bool redo_reader::is_vouched_for() const {
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

/// The one that begins with the expected block, if there is one.
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

/// Nothing was written there, as far as one can see.
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
        why_ = place() + ": the block there is not whole";
        return false;
    }
    if (found.sequence != expected_) {
        why_ = place() + ": not the block that comes next";
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

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

constexpr char magic[16] = "chainbase redo";
constexpr std::uint32_t format = 1;
constexpr std::string_view prefix = "redo.";

} // namespace

redo_header redo_header::make(const slot_file::identity& state, std::uint64_t first) noexcept {
    redo_header made{};
    std::memcpy(made.magic, checkpoint::magic, sizeof made.magic);
    made.format = checkpoint::format;
    made.state = state;
    made.first = first;
    made.sum = XXH3_64bits(&made, offsetof(redo_header, sum));
    return made;
}

std::string redo_header::difference(const slot_file::identity& of, std::uint64_t begin) const {
    if (std::memcmp(magic, checkpoint::magic, sizeof magic) != 0) return "not a redo log";
    if (sum != XXH3_64bits(this, offsetof(redo_header, sum)))
        return "the header's checksum does not match";
    if (format != checkpoint::format)
        return "format " + std::to_string(format) + ", this program reads " +
               std::to_string(checkpoint::format);
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
        if (problem == std::errc() && stop == end) all.push_back(first);
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
    for (;;) {
        if (!file_ && !open_file()) return false;
        if (read_here(into)) {
            ++expected_;
            return true;
        }
        file_.reset();
        if (redo_file(folder_, expected_) == name_) return false; // it holds none
        if (std::ranges::count(files_, expected_) == 0) return false;
        why_.clear(); // another file goes on from there
    }
}

/// The one that begins with the expected block, if there is one.
bool redo_reader::open_file() {
    if (std::ranges::count(files_, expected_) == 0) return false;
    const std::uint64_t first = expected_;
    name_ = redo_file(folder_, first);
    at_ = 0;
    file_ = on_.open(name_, disk::mode::read);
    redo_header header{};
    if (file_->read(0, std::as_writable_bytes(std::span(&header, 1))) != sizeof header)
        why_ = place() + ": ends within its header";
    else if (const std::string wrong = header.difference(state_, first); !wrong.empty())
        why_ = place() + ": " + wrong;
    if (!why_.empty()) return false;
    seed_ = header.sum;
    at_ = sizeof header;
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

#include <chainbase/feed/feed_files.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace chainbase::feed {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t format = 2; // 1: without the next ids of types
constexpr std::string_view prefix = "entries.";

template <typename Header>
std::span<const std::byte> bytes_of(const Header& of) noexcept {
    return std::as_bytes(std::span(&of, 1));
}

template <typename Header>
bool read_whole(const disk_file& file, std::uint64_t at, Header& into) {
    return file.read(at, std::as_writable_bytes(std::span(&into, 1))) == sizeof into;
}

constexpr const char* begin_anew = "; move it away, and let its followers begin anew";

/// What `head` and cursors begin with.
struct small_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t reserved;
};
static_assert(sizeof(small_header) == 24);

template <std::size_t N>
void name(char (&magic)[N], std::string_view as) noexcept {
    std::ranges::fill(magic, '\0');
    std::ranges::copy(as, magic);
}

small_header header_of(std::string_view magic) noexcept {
    small_header made{};
    name(made.magic, magic);
    made.format = format;
    return made;
}

void require(const small_header& found, std::string_view magic, const fs::path& file) {
    const small_header wanted = header_of(magic);
    if (std::memcmp(found.magic, wanted.magic, sizeof found.magic) != 0)
        throw format_error(file.string() + ": no file of a feed" + begin_anew);
    if (found.format != format)
        throw format_error(file.string() + ": format " + std::to_string(found.format) +
                           ", and this version reads format " + std::to_string(format));
}

/// A number with its sum.
struct summed_end {
    feed_position end;
    std::uint64_t sum;

    [[nodiscard]] static summed_end make(feed_position end) noexcept {
        return {end, archive::hash_of(bytes_of(end))};
    }
    [[nodiscard]] bool is_whole() const noexcept { return sum == make(end).sum; }
};
struct head_page {
    small_header header;
    checkpoint::slot_file::identity state;
    summed_end end;
};
static_assert(sizeof(head_page) == 56);

/// One of the two copies of a cursor.
struct cursor_copy {
    small_header header;
    std::uint64_t count; ///< of changes
    feed_position at;
    std::uint64_t has_begun;
    revision_number revision;
    std::uint64_t sum;

    [[nodiscard]] std::uint64_t right_sum() const noexcept {
        return archive::hash_of(bytes_of(*this).first(offsetof(cursor_copy, sum)));
    }
};
static_assert(sizeof(cursor_copy) == 64);
constexpr std::uint64_t copy_distance = 4096;

constexpr std::string_view head_magic = "chainbase feed";
constexpr std::string_view cursor_magic = "chainbase cursor";

/// Of the body of a block.
struct change_words {
    static constexpr std::uint32_t of_archive = 1u << 31; ///< it went there, or came from there
    static constexpr std::uint32_t of_next = 1u << 30; ///< no change, but the next id of the type

    std::uint32_t type; ///< and perhaps one of the above
    std::uint32_t id;
    std::uint32_t before; ///< bytes
    std::uint32_t after;
};

fs::path cursor_file(const fs::path& folder, const std::string& name) {
    return folder / "cursors" / name;
}

void require_name(const std::string& name) {
    const bool is_name =
        !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
        });
    if (!is_name)
        throw usage_error("'" + name +
                          "' is no name of a cursor: 1 to 64 letters, digits, '_', '-'");
}

} // namespace

feed_file_header feed_file_header::make(const checkpoint::slot_file::identity& state,
                                        feed_position first) noexcept {
    feed_file_header made{};
    name(made.magic, "chainbase feeds");
    made.format = chainbase::feed::format;
    made.state = state;
    made.first = first;
    made.sum = archive::hash_of(bytes_of(made).first(offsetof(feed_file_header, sum)));
    return made;
}

std::uint64_t feed_record::sum_in(std::uint64_t seed, feed_position at) const noexcept {
    return archive::hash_of(bytes_of(*this).first(offsetof(feed_record, sum)), seed ^ at);
}

fs::path feed_folder(const fs::path& state) {
    return state / "feed";
}

fs::path entries_file(const fs::path& folder, feed_position first) {
    return folder / fmt::format("{}{:016x}", prefix, first);
}

std::vector<feed_position> entries_files(disk& on, const fs::path& folder) {
    std::vector<feed_position> found;
    for (const std::string& name : on.names_in(folder)) {
        if (!name.starts_with(prefix) || name.size() != prefix.size() + 16) continue;
        feed_position first = 0;
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data() + prefix.size(), end, first, 16).ptr == end)
            found.push_back(first);
    }
    std::ranges::sort(found);
    return found;
}

// --- head ---

feed_head::feed_head(disk& on, const fs::path& folder, const checkpoint::slot_file::identity& state)
    : name_(folder / "head"), state_(state) {
    if (!on.exists(name_)) { // it gets its name when it is whole
        const fs::path made = folder / "head.new";
        on.remove(made);
        const auto file = on.open(made, disk::mode::create);
        file->write(0, bytes_of(head_page{header_of(head_magic), state, summed_end::make(0)}));
        file->sync();
        on.rename(made, name_);
        on.sync_folder(folder);
    }
    file_ = on.open(name_, disk::mode::write);
    head_page found{};
    if (!read_whole(*file_, 0, found))
        throw format_error(name_.string() + ": no file of a feed" + begin_anew);
    require(found.header, head_magic, name_);
    if (found.state != state)
        throw usage_error(name_.string() + ": of another state; move the folder feed away, and let "
                                           "its followers begin anew");
}

feed_head::feed_head(disk& on, const fs::path& folder)
    : name_(folder / "head"), file_(on.open(name_, disk::mode::read)) {
    head_page found{};
    if (!read_whole(*file_, 0, found))
        throw format_error(name_.string() + ": no file of a feed" + begin_anew);
    require(found.header, head_magic, name_);
    state_ = found.state;
}

feed_position feed_head::end() const {
    for (int tries = 0; tries < 100; ++tries) { // it may be read in two parts
        summed_end found{};
        if (read_whole(*file_, offsetof(head_page, end), found) && found.is_whole())
            return found.end;
    }
    throw damaged_error(name_.string() + ": offset " + std::to_string(offsetof(head_page, end)) +
                        ": the end of the feed does not have its sum; start the node, which "
                        "writes it anew");
}

void feed_head::set_end(feed_position to) {
    file_->write(offsetof(head_page, end), bytes_of(summed_end::make(to)));
}

// --- records ---

bool feed_reader::open(feed_position at) {
    const std::vector<feed_position> all = entries_files(on_, folder_);
    const auto after = std::ranges::upper_bound(all, at);
    if (after == all.begin()) {
        if (all.empty()) return false;
        throw too_far_behind_error(folder_.string() + ": what followed byte " + std::to_string(at) +
                                   " was removed, since it took too much space (feed::writer); "
                                   "take a snapshot, and follow from there");
    }
    const feed_position first = *std::prev(after);
    file_ = on_.open(entries_file(folder_, first), disk::mode::read);
    first_ = first;
    feed_file_header found{};
    if (!read_whole(*file_, 0, found)) return false; // it is being made
    const feed_file_header wanted = feed_file_header::make(state_, first);
    const fs::path name = entries_file(folder_, first);
    if (std::memcmp(found.magic, wanted.magic, sizeof found.magic) != 0 ||
        found.format != wanted.format)
        throw format_error(name.string() + ": no file of a feed, or of another version's");
    if (std::memcmp(&found, &wanted, sizeof found) != 0)
        throw damaged_error(name.string() + ": offset 0: of another state, or altered");
    seed_ = found.sum;
    return true;
}

bool feed_reader::read(feed_position at, record& into) {
    if (!file_ || at < first_) {
        if (!open(at)) return file_.reset(), false;
    }
    for (int tries = 0;; ++tries) {
        const std::uint64_t within = std::max<std::uint64_t>(at - first_, sizeof(feed_file_header));
        const feed_position here = first_ + within;
        if (read_whole(*file_, within, into.head) &&
            into.head.sum == into.head.sum_in(seed_, here) && into.head.bytes >= sizeof into.head &&
            into.head.bytes <= feed_record::most_bytes) {
            into.body.resize(into.head.bytes - sizeof into.head);
            into.end = here + into.head.bytes;
            return file_->read(within + sizeof into.head, into.body) == into.body.size() &&
                   archive::hash_of(into.body) == into.head.body_sum;
        }
        if (tries != 0) return false;
        const feed_position was = first_; // the next file may begin here
        if (!open(at)) return file_.reset(), false;
        if (first_ == was) return false;
    }
}

std::string feed_reader::place(feed_position at) const {
    const std::vector<feed_position> all = entries_files(on_, folder_);
    const auto after = std::ranges::upper_bound(all, at);
    const feed_position first = after == all.begin() ? 0 : *std::prev(after);
    return entries_file(folder_, first).string() + ": offset " +
           std::to_string(std::max<std::uint64_t>(at - first, sizeof(feed_file_header)));
}

std::size_t words_of(const entry& block) noexcept {
    return block.changes.size() + block.next_ids.size();
}

void encode(const entry& block, std::vector<std::byte>& to) {
    const std::size_t begin = to.size();
    to.resize(begin + words_of(block) * sizeof(change_words));
    std::byte* at = to.data() + begin;
    const auto put = [&](const change_words& words) {
        std::memcpy(at, &words, sizeof words);
        at += sizeof words;
    };
    for (const object_change& each : block.changes) {
        const bool is_of_archive = each.what == object_change::kind::archived ||
                                   each.what == object_change::kind::unarchived;
        put({each.type | (is_of_archive ? change_words::of_archive : 0), each.id,
             static_cast<std::uint32_t>(each.after_at - each.before_at),
             static_cast<std::uint32_t>(each.end - each.after_at)});
    }
    for (const entry::next_id& each : block.next_ids)
        put({each.type | change_words::of_next, each.id, 0, 0});
    const auto content = std::as_bytes(std::span(block.content));
    to.insert(to.end(), content.begin(), content.end());
}

void decode(const feed_reader::record& from, entry& into) {
    const std::span<const std::byte> body = from.body;
    const std::uint64_t most = body.size() / sizeof(change_words);
    if (from.head.changes > most) throw damaged_error("more changes than it has room for");
    into.changes.clear();
    into.changes.reserve(from.head.changes);
    into.next_ids.clear();
    std::size_t at = 0;
    const std::size_t begin = from.head.changes * sizeof(change_words);
    for (std::size_t i = 0; i < from.head.changes; ++i) {
        change_words words{};
        std::memcpy(&words, body.data() + i * sizeof words, sizeof words);
        if ((words.type & change_words::of_next) != 0) {
            into.next_ids.push_back({words.type & ~change_words::of_next, words.id});
            continue;
        }
        using kind = object_change::kind;
        const bool is_of_archive = (words.type & change_words::of_archive) != 0;
        words.type &= ~change_words::of_archive;
        const auto what = words.before == 0  ? is_of_archive ? kind::unarchived : kind::created
                          : words.after == 0 ? is_of_archive ? kind::archived : kind::removed
                                             : kind::modified;
        into.changes.push_back(
            {words.type, words.id, what, at, at + words.before, at + words.before + words.after});
        at = into.changes.back().end;
    }
    if (at != body.size() - begin) throw damaged_error("objects of other lengths than it says");
    into.content.assign(body.begin() + static_cast<std::ptrdiff_t>(begin), body.end());
}

// --- cursors ---

std::vector<std::string> feed_cursor::names(disk& on, const fs::path& folder) {
    std::vector<std::string> found = on.names_in(folder / "cursors");
    std::ranges::sort(found);
    return found;
}

feed_cursor::feed_cursor(disk& on, const fs::path& folder, const std::string& name, disk::mode how,
                         feed_position at)
    : name_(cursor_file(folder, name)) {
    require_name(name);
    now_.at = at;
    if (how == disk::mode::create && !on.exists(name_)) {
        on.make_folder(folder / "cursors");
        file_ = on.open(name_, disk::mode::create);
        set(now_);
        on.sync_folder(folder / "cursors");
        on.sync_folder(folder);
        return;
    }
    file_ = on.open(name_, how == disk::mode::create ? disk::mode::write : how);
    if (how == disk::mode::create && file_->bytes() < copy_distance + sizeof(cursor_copy))
        set(now_); // its maker was killed
    else
        read();
}

void feed_cursor::read() {
    bool is_whole = false;
    for (std::uint64_t copy = 0; copy < 2; ++copy) {
        cursor_copy found{};
        if (!read_whole(*file_, copy * copy_distance, found) || found.sum != found.right_sum())
            continue;
        require(found.header, cursor_magic, name_);
        if (is_whole && found.count < count_) continue;
        is_whole = true;
        count_ = found.count;
        now_ = {found.at, found.has_begun != 0, found.revision};
    }
    if (!is_whole)
        throw damaged_error(name_.string() + ": offset 0: neither of its copies has its sum; "
                                             "remove it, and let its follower begin anew");
}

bool feed_cursor::exists(disk& on, const fs::path& folder, const std::string& name) {
    require_name(name);
    return on.exists(cursor_file(folder, name));
}

void feed_cursor::remove(disk& on, const fs::path& folder, const std::string& name) {
    require_name(name);
    on.remove(cursor_file(folder, name));
    on.sync_folder(folder / "cursors");
}

void feed_cursor::set(const state& to) {
    cursor_copy next{header_of(cursor_magic), count_ + 1,  to.at,
                     to.has_begun ? 1U : 0U,  to.revision, 0};
    next.sum = next.right_sum();
    file_->write(next.count % 2 * copy_distance, bytes_of(next));
    file_->sync();
    count_ = next.count;
    now_ = to;
}

} // namespace chainbase::feed

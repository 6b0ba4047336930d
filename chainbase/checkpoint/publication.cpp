#include <chainbase/checkpoint/publication.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/json.hpp>
#include <pool_allocator/base/unfinished_name.hpp>

#include <boost/algorithm/hex.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase::checkpoint {

namespace {

constexpr char publication_magic[16] = "chainbase state";
/// Format 1 has checkpoints of segments whose hashes have no seed.
constexpr std::uint32_t publication_format = 2;
constexpr std::size_t pages_of_a_leaf = 256;

struct publication_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t text_bytes;
    std::uint64_t leaves;
    std::uint64_t sum;
};
static_assert(sizeof(publication_header) == 40 && offsetof(publication_header, sum) == 32);

struct stored_leaf {
    std::uint32_t slot;
    std::uint32_t zero;
    std::uint64_t sum;
};
static_assert(sizeof(stored_leaf) == 16);

std::uint64_t sum_of_file(std::span<const std::byte> content) {
    XXH3_state_t* state = XXH3_createState();
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, content.data(), offsetof(publication_header, sum));
    XXH3_64bits_update(state, content.data() + sizeof(publication_header),
                       content.size() - sizeof(publication_header));
    const std::uint64_t sum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return sum;
}

std::uint64_t leaves_of(std::uint64_t bytes) noexcept {
    const std::uint64_t pages = bytes / page_bytes;
    return (pages + pages_of_a_leaf - 1) / pages_of_a_leaf;
}

std::string text_of(const publication& one) {
    const auto described = [](const publication::file& file) {
        return json_object()
            .add("name", file.name)
            .add("index", file.index)
            .add("bytes", file.bytes)
            .text();
    };
    std::string state;
    boost::algorithm::hex_lower(
        std::string(reinterpret_cast<const char*>(one.state.data()), one.state.size()),
        std::back_inserter(state));
    return json_object()
        .add("state", state)
        .add("generation", one.generation)
        .add("revision", one.revision)
        .add("committed", one.committed)
        .add("time", one.time)
        .add("redo", one.redo)
        .add("window_bytes", one.window_bytes)
        .add("windows", one.windows)
        .add("catalogue", one.catalogue)
        .add_json("files", json_array(one.files, described))
        .text();
}

template <typename T>
void read_number(const json_value& text, const char* name, T& into) {
    into = text.at(name).number<T>();
}

publication from_text(const json_value& text) {
    publication one;
    const std::string state = boost::algorithm::unhex(text.at("state").text());
    if (state.size() != one.state.size()) throw std::invalid_argument("an identity has 16 bytes");
    std::memcpy(one.state.data(), state.data(), state.size());
    read_number(text, "generation", one.generation);
    read_number(text, "revision", one.revision);
    read_number(text, "committed", one.committed);
    read_number(text, "time", one.time);
    if (text.has("redo")) read_number(text, "redo", one.redo);
    read_number(text, "window_bytes", one.window_bytes);
    read_number(text, "windows", one.windows);
    one.catalogue = text.at("catalogue").text();
    for (const json_value& file : text.at("files").elements()) {
        publication::file& added = one.files.emplace_back();
        added.name = file.at("name").text();
        read_number(file, "index", added.index);
        read_number(file, "bytes", added.bytes);
    }
    return one;
}

[[noreturn]] void damaged(const std::filesystem::path& file, std::size_t at,
                          const std::string& what) {
    throw damaged_error(file.string() + ": offset " + std::to_string(at) + ": " + what);
}

/// Checks that names stay within the folder and that all leaves are there.
void require_sound(const publication& one, std::uint64_t leaves,
                   const std::filesystem::path& from) {
    if (one.window_bytes == 0 || one.window_bytes % page_bytes != 0)
        damaged(from, sizeof(publication_header),
                "windows of " + std::to_string(one.window_bytes) + " bytes");
    std::uint64_t expected = 0;
    std::set<std::uint32_t> windows;
    for (const publication::file& file : one.files) {
        if (!windows.insert(file.index).second)
            damaged(from, sizeof(publication_header),
                    "window " + std::to_string(file.index) + " has two files");
        const bool is_plain = !file.name.empty() && file.name.front() != '.' &&
                              file.name.find('/') == std::string::npos &&
                              file.name.find('\0') == std::string::npos;
        if (!is_plain || file.bytes % page_bytes != 0 || file.bytes > one.window_bytes ||
            file.index >= one.windows)
            damaged(from, sizeof(publication_header),
                    "\"" + file.name + "\" is not a file of a segment");
        expected += leaves_of(file.bytes);
    }
    if (leaves != expected)
        damaged(from, 24,
                std::to_string(leaves) + " leaves are stated, but its files have " +
                    std::to_string(expected));
}

} // namespace

std::uint64_t publication::segment_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const file& one : files)
        bytes += one.bytes;
    return bytes;
}

std::vector<std::byte> publication::encode() const {
    const std::string text = text_of(*this);
    publication_header h{};
    std::memcpy(h.magic, publication_magic, sizeof publication_magic);
    h.format = publication_format;
    h.text_bytes = static_cast<std::uint32_t>(text.size());
    for (const file& one : files)
        h.leaves += one.leaves.size();
    std::vector<std::byte> content(sizeof h + text.size() + h.leaves * sizeof(stored_leaf));
    std::memcpy(content.data(), &h, sizeof h);
    std::memcpy(content.data() + sizeof h, text.data(), text.size());
    std::byte* to = content.data() + sizeof h + text.size();
    for (const file& one : files)
        for (const placed_page& leaf : one.leaves) {
            const stored_leaf stored{leaf.slot, 0, leaf.sum};
            std::memcpy(to, &stored, sizeof stored);
            to += sizeof stored;
        }
    h.sum = sum_of_file(content);
    std::memcpy(content.data(), &h, sizeof h);
    return content;
}

publication publication::decode(std::span<const std::byte> content,
                                const std::filesystem::path& from) {
    publication_header h{};
    if (content.size() < sizeof h) damaged(from, content.size(), "the file ends here");
    std::memcpy(&h, content.data(), sizeof h);
    if (std::memcmp(h.magic, publication_magic, sizeof publication_magic) != 0)
        damaged(from, 0, "not a published checkpoint");
    const std::size_t rest = content.size() - sizeof h;
    if (h.text_bytes > rest || h.leaves > (rest - h.text_bytes) / sizeof(stored_leaf))
        damaged(from, content.size(), "the file ends here");
    content = content.first(sizeof h + h.text_bytes + h.leaves * sizeof(stored_leaf));
    if (h.sum != sum_of_file(content)) damaged(from, 32, "the checksum does not match");
    if (h.format != publication_format)
        throw format_error(from.string() + ": format " + std::to_string(h.format) +
                           ", this program reads " + std::to_string(publication_format) +
                           "; open it with the program that wrote it, or replay");
    try {
        const auto* text = reinterpret_cast<const char*>(content.data()) + sizeof h;
        publication one = from_text(json_value::parse({text, h.text_bytes}));
        require_sound(one, h.leaves, from);
        std::size_t at = sizeof h + h.text_bytes;
        for (file& each : one.files)
            for (std::uint64_t i = leaves_of(each.bytes); i > 0; --i, at += sizeof(stored_leaf)) {
                stored_leaf leaf{};
                std::memcpy(&leaf, content.data() + at, sizeof leaf);
                each.leaves.push_back({leaf.slot, leaf.sum});
            }
        return one;
    } catch (const json_error& e) {
        damaged(from, sizeof h, e.what());
    } catch (const boost::algorithm::hex_decode_error&) {
        damaged(from, sizeof h, "an identity is 32 hexadecimal digits");
    } catch (const std::invalid_argument& e) {
        damaged(from, sizeof h, e.what());
    }
}

published::published(disk& on, std::filesystem::path folder) : on_(on), folder_(std::move(folder)) {
    for (int which : {0, 1}) {
        if (!on_.exists(file(which))) continue;
        const auto note = [&](const error& e) {
            why_ += (why_.empty() ? "" : "; ") + std::string(e.what());
        };
        try {
            content_[which] = publication::decode(content_of(which), file(which));
        } catch (const damaged_error& e) {
            note(e);
        } catch (const io_error& e) {
            note(e);
        }
    }
}

std::vector<std::byte> published::content_of(int which) const {
    constexpr std::uint64_t most = std::uint64_t{512} << 20; // of 2^32 pages
    const auto opened = on_.open(file(which), disk::mode::read);
    if (opened->bytes() > most)
        throw damaged_error(file(which).string() + ": " + std::to_string(opened->bytes()) +
                            " bytes, longer than any publication");
    std::vector<std::byte> content(opened->bytes());
    content.resize(opened->read(0, content));
    return content;
}

void published::confirm() {
    const int newest = newest_file();
    if (content_[newest]) { // the same bytes: a crash in between tears nothing
        const std::vector<std::byte> content = content_of(newest);
        const auto opened = on_.open(file(newest), disk::mode::write);
        opened->write(0, content);
        opened->sync();
    }
    for (int which : {0, 1})
        if (!content_[which]) on_.remove(file(which));
    on_.sync_folder(folder_);
}

void published::set_newest_aside() {
    const int newest = newest_file();
    on_.rename(file(newest), file(newest).string() + ".damaged");
    content_[newest].reset();
    on_.sync_folder(folder_);
}

int published::newest_file() const noexcept {
    if (!content_[0]) return 1;
    if (!content_[1]) return 0;
    return content_[1]->generation > content_[0]->generation ? 1 : 0;
}

const publication* published::newest() const noexcept {
    const auto& one = content_[newest_file()];
    return one ? &*one : nullptr;
}

const publication* published::older() const noexcept {
    const auto& one = content_[1 - newest_file()];
    return one ? &*one : nullptr;
}

void published::require_of(const slot_file::identity& state) const {
    const publication* const found = newest();
    if (!found || found->state == state) return;
    throw usage_error(folder_.string() + ": holds the checkpoint of another state; put the folder "
                                         "of this state in its place, or move it away");
}

void published::publish(publication next) {
    const int which = 1 - newest_file();
    const std::vector<std::byte> content = next.encode();
    const bool is_new = !on_.exists(file(which));
    const std::filesystem::path path = is_new ? unfinished_path(file(which)) : file(which);
    if (is_new) on_.remove(path);
    const auto opened = on_.open(path, is_new ? disk::mode::create : disk::mode::write);
    opened->reserve(0, content.size());
    content_[which].reset(); // whatever happens, its old content is gone
    opened->write(0, content);
    opened->sync();
    if (is_new) on_.rename(path, file(which));
    // Each time: a process that died may have created the names without syncing the folder.
    on_.sync_folder(folder_);
    content_[which] = std::move(next);
}

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

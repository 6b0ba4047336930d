#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/segment/log_witness.hpp>
#include <chainbase/segment/mapped_segment.hpp>
#include <pool_allocator/base/boot_id.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/btree.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;

// --- mapping ---

mapped_segment::~mapped_segment() {
    if (header_.at) munmap(header_.at, header_bytes);
}

void mapped_segment::map_header(const fs::path& folder) {
    folder_ = folder;
    const fs::path file = folder_ / "header";
    const file_descriptor opened =
        open_private(file, writable() ? file_use::write : file_use::read);
    struct stat status{};
    if (fstat(opened.number(), &status) != 0) throw_file_error(file, "examine");
    if (static_cast<std::size_t>(status.st_size) < header_bytes)
        throw damaged_error(file.string() + ": truncated to " + std::to_string(status.st_size) +
                            " of " + std::to_string(header_bytes) +
                            " bytes; restore it from a copy, or replay into a new folder");
    header_.file = file_identity::of(opened, file);
    const int access = writable() ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = mmap(nullptr, header_bytes, access, MAP_SHARED, opened.number(), 0);
    if (at == MAP_FAILED) throw_file_error(file, "map");
    header_.at = static_cast<segment_header*>(at);
}

void mapped_segment::map_windows() {
    catalogue_ = catalogue::read(folder_);
    addresses_ = reserve_addresses();
    log_file_ =
        std::make_unique<window>(window::open({addresses_.get(), undo_log::window_index},
                                              folder_ / "undo_log", undo_log::geometry, mode_));
    buffers_ = std::make_unique<size_classes>(*addresses_, folder_, mode_);
    for (const catalogue::entry& entry : catalogue_.entries())
        types_.push_back(map_type(entry, mode_));
}

std::unique_ptr<address_space> mapped_segment::reserve_addresses() {
    return std::make_unique<address_space>(header().window_bytes, header().windows);
}

/// Derived from the state's random identity, which only readers of its files know.
hash_seed mapped_segment::own_seed() const noexcept {
    hash_seed seed;
    static_assert(sizeof seed.words == sizeof header().identity);
    std::memcpy(seed.words, header().identity.data(), sizeof seed.words);
    return seed;
}

std::unique_ptr<type_windows> mapped_segment::map_type(const catalogue::entry& entry,
                                                       window::mode how) const {
    const std::uint64_t end = std::uint64_t{entry.first_window} + entry.schema.windows();
    if (entry.first_window < first_type_window || end > header().windows)
        throw damaged_error(catalogue::file_in(folder_).string() + ": type " + entry.schema.name +
                            ": first_window " + std::to_string(entry.first_window) +
                            " is not among the " + std::to_string(header().windows) +
                            " windows; restore the file from a copy, or replay into a new folder");
    auto type = std::make_unique<type_windows>();
    type->name = entry.schema.name;
    type->created = how == window::mode::create;
    std::uint32_t index = entry.first_window;
    const std::vector<std::string> files = entry.schema.files();
    const auto map = [&](const window::geometry& shape) {
        const window::place place{addresses_.get(), index};
        const fs::path file = folder_ / files.at(index++ - entry.first_window);
        if (how == window::mode::create)
            return std::make_unique<window>(window::create(place, file, shape));
        return std::make_unique<window>(window::open(place, file, shape, how));
    };
    type->objects = map({window_kind::objects, entry.schema.node_bytes, window_header::page_bytes});
    type->ids = map(id_table::geometry);
    for (std::uint32_t t = 0; t < entry.schema.tables; ++t) {
        type->tables.push_back(map(hash_table::geometry));
        hash_seed seed = own_seed();
        seed.words[0] ^= index; // tables inserted in one order must not share a hash order
        if (type->created) hash_table::keep_seed(*type->tables.back(), *addresses_, seed);
    }
    for (std::uint32_t t = 0; t < entry.schema.btrees(); ++t)
        type->btrees.push_back(map(btree::geometry));
    return type;
}

void mapped_segment::refresh_files(bool and_types) {
    if (and_types) {
        const catalogue now = catalogue::read(folder_);
        for (std::size_t t = types_.size(); t < now.entries().size(); ++t)
            types_.push_back(map_type(now.entries()[t], window::mode::read_only));
        catalogue_ = now;
    }
    each_window([](window& file) { file.refresh(); });
}

// --- what is mapped is whole ---

namespace {

// For a state that was not closed: everything that its root blocks count as used must lie in its
// files, since a store beyond a file's end kills the process. These checks throw damaged_error.

void require_length(const window& file, std::uint64_t used) {
    if (used <= file.bytes()) return;
    throw damaged_error(file.file() + ": truncated to " + std::to_string(file.bytes()) +
                        " of at least " + std::to_string(used) +
                        " bytes; restore the folder from a copy, or replay into a new one");
}

/// For objects, nodes and buffers; page runs count their pages in the same word.
void require_slots(const window& file) {
    const auto pool = rows::copy_at<pool_state>(file.root());
    const window_header& h = file.header();
    if (pool.high_water > 1) // slot 0 is never stored to
        require_length(file, h.first_slot + std::uint64_t{pool.high_water} * h.slot_bytes);
}

void require_log(const window& file) {
    const auto words = rows::copy_at<log_words>(file.root());
    require_length(file, window_header::page_bytes +
                             std::uint64_t{words.chunks.high_water} * undo_log::chunk_bytes);
    for (const log_position at : {words.tail, words.completed})
        if (at <= window_header::page_bytes || at > file.bytes())
            throw damaged_error(file.file() + ": offset 64: the log ends at " + std::to_string(at) +
                                ", outside its " + std::to_string(file.bytes()) +
                                " bytes; restore the folder from a copy, or replay into a new one");
}

void require_type(const type_windows& type) {
    require_slots(*type.objects);
    const auto root = rows::copy_at<detail::root_prefix>(type.objects->root());
    require_length(*type.ids, window_header::page_bytes + std::uint64_t{root.next_id} * 4);
    const std::byte* states = type.objects->root() + sizeof root;
    for (const auto& table : type.tables) {
        const auto state = rows::copy_at<hash_state>(states);
        const std::uint64_t area = hash_table::entry_bytes << std::min(state.log2_capacity, 32U);
        require_length(*table, 2 * area); // an area lies at its own length
        if (!hash_table::key_words(*table).is_whole())
            throw damaged_error(table->file() + ": offset " +
                                std::to_string(sizeof(window_header)) +
                                ": the seed of its hashes is altered; restore the folder from a "
                                "copy, or replay into a new one");
        states += sizeof state;
    }
    for (const auto& tree : type.btrees)
        require_slots(*tree);
}

} // namespace

std::uint32_t mapped_segment::roots_checksum() const {
    detail::roots_checksum sum;
    each_window([&](const window& file) { sum.add(file); });
    return sum.value();
}

/// For a closed state: checks that the root blocks are those written at close, and that no file was
/// truncated.
void mapped_segment::check_roots() const {
    if (!is_closed()) return check_lengths();
    if (header().roots == 0 || header().roots == roots_checksum()) return;
    std::atomic_thread_fence(std::memory_order_acquire); // the roots were read before
    if (!writable() && !is_closed()) return;             // a writer has opened it
    throw damaged_error(folder_.string() +
                        ": a root block or the length of a file differs from what closing left; "
                        "restore the folder from a copy, or replay into a new one");
}

/// For a state that was not closed: checks that its files have the bytes that their root blocks
/// count. Skipped beside a writer, where these words change and a reader does not store.
void mapped_segment::check_lengths() const {
    if (!writable()) return;
    require_log(*log_file_);
    buffers_->each_window([](const window& file) { require_slots(file); });
    for (const auto& type : types_)
        require_type(*type);
}

// --- the header ---

bool mapped_segment::is_closed() const noexcept {
    return std::atomic_ref(header_.at->clean).load(std::memory_order_acquire) != 0;
}

/// The boot first: a state that is open and has another one's number counts as lost. `generation`
/// stays: power may go after any store, and a state that is closed without one is refused.
void mapped_segment::mark_open() {
    const std::string boot = boot_id();
    if (detail::boot_of(header()) !=
        boot) { // else a reader would see an empty boot id for a moment
        std::memset(header_.at->boot, 0, sizeof header_.at->boot);
        std::memcpy(header_.at->boot, boot.data(), boot.size());
    }
    header_.at->file = header_.file;
    log_witness::forget(header_.file);
    std::atomic_ref(header_.at->clean).store(0, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_release); // what changes is stored after it
}

void mapped_segment::mark_closed(bool synced, std::uint64_t generation) {
    const std::uint32_t roots = roots_checksum();
    header_.at->synced = synced ? 1 : 0;
    header_.at->generation = generation;
    header_.at->roots = roots != 0 ? roots : 1; // 0 stands for "none yet"
    std::atomic_ref(header_.at->clean).store(1, std::memory_order_release);
    log_witness::close(header_.file);
}

void mapped_segment::unmark_closed() noexcept {
    log_witness::forget(header_.file);
    std::atomic_ref(header_.at->clean).store(0, std::memory_order_release);
}

void mapped_segment::sync_windows() {
    each_window([](window& file) { file.sync(); });
}

void mapped_segment::sync_header() {
    if (msync(header_.at, header_bytes, MS_SYNC) != 0) throw_file_error(folder_ / "header", "sync");
}

// --- types ---

namespace {

/// A barrier for memory that nothing refers to yet.
class unlogged_barrier final : public write_barrier {
public:
    explicit unlogged_barrier(const address_space& range) : write_barrier(range) {
        enter_operation();
        set_fresh(nullptr, SIZE_MAX);
    }
    ~unlogged_barrier() override { leave_operation(); }

private:
    void extend(std::size_t) override {}
};

/// A type's files are named after it.
void require_file_name(const std::string& type) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.' || c == ' ';
    };
    if (!type.empty() && type.front() != '.' && type.size() <= 200 &&
        std::all_of(type.begin(), type.end(), is_plain))
        return;
    throw usage_error("add_type(\"" + type +
                      "\"): files are called after a type; name it with 1 to "
                      "200 letters, digits and . _ -, the first one not a dot");
}

} // namespace

std::uint32_t mapped_segment::next_free_window() const noexcept {
    std::uint32_t next = first_type_window;
    for (const catalogue::entry& entry : catalogue_.entries())
        next =
            std::max(next, static_cast<std::uint32_t>(entry.first_window + entry.schema.windows()));
    return next;
}

type_windows& mapped_segment::find_or_create_type(const type_schema& schema) {
    if (const catalogue::entry* known = catalogue_.find(schema.name)) {
        const std::string difference = schema.difference(known->schema);
        if (!difference.empty())
            throw schema_error(state_.string() + ": type " + schema.name +
                               " was stored with another layout: " + difference +
                               "; use the program that wrote it, take it over with a migration "
                               "(open_options::migrate), or replay into a new folder");
        const auto at = known - catalogue_.entries().data();
        return *types_[static_cast<std::size_t>(at)];
    }
    if (!writable())
        throw usage_error(state_.string() + ": has no type " + schema.name +
                          ", and is open read-only");
    require_file_name(schema.name);
    const catalogue::entry added{schema, next_free_window()};
    if (added.first_window + schema.windows() > header().windows)
        throw limit_error(state_.string() + ": all " + std::to_string(header().windows) +
                          " windows are taken, type " + schema.name +
                          " needs more; create the state with more windows");
    catalogue_.add(added);
    try {
        types_.push_back(map_type(added, window::mode::create));
    } catch (...) {
        catalogue_.remove_last(); // both lists have it, or neither
        throw;
    }
    return *types_.back();
}

void mapped_segment::initialise_unlogged(void (*build)(void*), void* with) {
    const unlogged_barrier barrier(*addresses_);
    build(with);
}

void mapped_segment::write_catalogue() {
    catalogue before = catalogue_;
    before.remove_last();
    try {
        catalogue_.write(folder_);
    } catch (const std::exception&) {
        try { // the new list may be in place, though syncing failed, and the type will be dropped
            before.write(folder_);
        } catch (const std::exception&) { // the caller gets the first error
        }
        throw;
    }
}

void mapped_segment::drop_newest_type() noexcept {
    catalogue_.remove_last();
    types_.pop_back();
}

} // namespace chainbase

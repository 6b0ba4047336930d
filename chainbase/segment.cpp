#include <chainbase/checkpoint/service.hpp>
#include <chainbase/detail/file_lengths.hpp>
#include <chainbase/detail/segment_header.hpp>
#include <chainbase/doctor.hpp>
#include <chainbase/process_lock.hpp>
#include <chainbase/segment.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/hash_table.hpp>
#include <pool_allocator/id_table.hpp>
#include <pool_allocator/private_folder.hpp>
#include <pool_allocator/quoted.hpp>
#include <pool_allocator/trace.hpp>
#include <undo/log_check.hpp>

#include <boost/uuid/random_generator.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace chainbase {

namespace fs = std::filesystem;
using detail::boot_id;
using detail::boot_of;
using detail::fresh_header;
using detail::require_magic;
using detail::static_checksum;
using detail::write_header;

namespace {

const trace::site open_span("chainbase.open");
const trace::site recovering("chainbase.recover");
const trace::site closing("chainbase.close");

constexpr std::uint32_t first_type_window = size_classes::first_window + size_classes::window_count;

/// Whether nothing is in the way of a new state: no folder, an empty one, or what an interrupted
/// creation left.
bool is_free(const fs::path& state) {
    if (!fs::exists(state)) return true;
    if (!fs::is_directory(state)) return false;
    return std::all_of(fs::directory_iterator(state), fs::directory_iterator(), [](const auto& e) {
        const std::string name = e.path().filename();
        return name == "lock" || name == "readers" || name == "segment.new" ||
               name == "segment.json.new";
    });
}

/// As the page tracker counts them.
std::uint64_t first_page_of(const window& file) {
    return std::uint64_t{file.index()} * (file.limit() / page_tracker::page_bytes);
}

/// What was prepared and is not settled at the end of opening, is no use to anybody.
class discard_at_end {
public:
    discard_at_end(const fs::path& state, const std::optional<file_lock>& lock)
        : state_(state), lock_(lock) {}
    discard_at_end(const discard_at_end&) = delete;
    discard_at_end& operator=(const discard_at_end&) = delete;
    ~discard_at_end() {
        try {
            if (lock_) segment_place::discard_unsettled(state_);
        } catch (const std::exception&) { // the next opening tries it again
        }
    }

private:
    const fs::path& state_;
    const std::optional<file_lock>& lock_;
};

/// Its files are called after a type.
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

segment::segment(fs::path state, const open_options& options)
    : state_(std::move(state)), options_(options), place_(state_) {
    const trace::span timed(open_span);
    try {
        if (writable() && !fs::exists(folder())) check_options();
        const discard_at_end unsettled(state_, lock_);
        lock_and_find();
        if (writable())
            open_for_writing();
        else
            open_for_reading();
    } catch (const fs::filesystem_error& e) {
        errno = e.code().value();
        throw_file_error(e.path1().empty() ? state_ : e.path1(), "use");
    }
}

segment::~segment() {
    try {
        if (sync_failed_)
            abandon();
        else
            close();
    } catch (const std::exception& e) {
        spdlog::error("closing {}: {}; the state counts as not closed", state_.string(), e.what());
    }
}

/// All of it in the writer's turn, so that readers see what was rolled back or restored, or wait.
void segment::open_for_writing() {
    if (const fs::path file = folder() / "header"; fs::exists(file))
        require_magic(file, read_file(file)); // else nothing is put there
    if (options_.advise) give_advice();
    turns_ = std::make_unique<process_lock>(state_, process_lock::role::writer,
                                            options_.wait_for_writer);
    turns_->lock();
    restore_if_needed();
    if (!fs::exists(folder())) {
        turns_->replaced_segment();
        create_files();
    }
    try {
        attach();
        take_over();
    } catch (const damaged_error& e) {
        if (!has_checkpoint()) throw;
        throw damaged_error(std::string(e.what()) + "; or move " + folder().string() +
                            " away and open the state again, which restores its last checkpoint");
    }
    turns_->changed_lengths(); // what a dead writer did not come to tell
    turns_->added_type();
    end_writing();
}

/// Where nobody can write, nobody takes turns.
void segment::open_for_reading() {
    if (options_.allow_unclean) return attach();
    struct statvfs system{};
    if (statvfs(state_.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0) {
        if (!has_writer()) return attach();
        throw locked_error(state_.string() +
                           ": a writer has it open, and the file system is read-only here, so "
                           "reading cannot take turns with it; mount it writable, or read with "
                           "allow_unclean what may change meanwhile");
    }
    require_magic(folder() / "header", read_file(folder() / "header")); // else nothing is put there
    turns_ = std::make_unique<process_lock>(state_, process_lock::role::reader,
                                            options_.wait_for_writer);
    const std::uint32_t slot = turns_->lock_shared(); // ends with turns_, if it fails
    attach();
    seen_.segment = turns_->segments();
    seen_.lengths = turns_->lengths();
    seen_.types = turns_->types();
    turns_->unlock_shared(slot);
}

void segment::attach() {
    map_header();
    check_header();
    check_closed();
    catalogue_ = catalogue::read(folder());
    map_windows();
    check_roots();
}

disk& segment::checkpoint_disk() const noexcept {
    return options_.checkpoint_disk ? *options_.checkpoint_disk : disk::of_system();
}

/// Before much is done: what is advised may be why it fails.
void segment::give_advice() const noexcept {
    try {
        doctor::subject of{state_,
                           folder(),
                           false,
                           options_.window_bytes,
                           options_.windows,
                           options_.promise != durability::process};
        of.is_made = !fs::exists(folder()) || (has_checkpoint() && !why_restore().empty());
        if (of.is_made) {
            of.segment = memory_for_new();
            if (of.segment.empty()) of.segment = state_;
        } else if (const auto found = detail::header_in(folder())) {
            of.window_bytes = found->window_bytes;
            of.windows = found->windows;
        }
        doctor::tell(of);
    } catch (const std::exception&) { // nothing is said, and opening tells what is wrong
    }
}

struct segment::checkpoint_maker {
    checkpoint_maker(segment& of)
        : catalogue(of.catalogue_.text()), maker(of.checkpoint_disk(), of.checkpoint_folder(),
                                                 of.header().identity, of.addresses_->pages()),
          service(
              maker, [&of] { return captured(of); }, *of.log_, of.options_.checkpoints, before,
              redo_log_of(of)) {}

    std::unique_ptr<checkpoint::redo_log> redo_log_of(const segment& of) {
        if (of.options_.promise != durability::commit) return nullptr;
        checkpoint::redo_log::stand from;
        if (const checkpoint::publication* newest = maker.done().newest()) {
            from.revision = newest->revision;
            from.used = checkpoint::run_of(newest->redo);
            if (newest->generation == of.found_.generation) from.next = newest->redo;
        }
        if (const checkpoint::publication* older = maker.done().older()) {
            from.older = checkpoint::run_of(older->redo);
            from.used = std::max(from.used, from.older);
        }
        return std::make_unique<checkpoint::redo_log>(of.checkpoint_disk(), of.checkpoint_folder(),
                                                      of.header().identity, *of.addresses_,
                                                      *of.log_, before, from);
    }

    static checkpoint::checkpointer::source captured(const segment& of) {
        checkpoint::checkpointer::source now;
        of.each_window([&](const window& file) {
            if (&file != of.log_file_.get()) now.windows.push_back(&file);
        });
        now.log = of.log_.get();
        now.catalogue = of.checkpoints_->catalogue;
        now.window_bytes = of.header().window_bytes;
        now.windows_reserved = of.header().windows;
        return now;
    }

    /// Made beforehand: where memory is short a JSON value ends the process, and captures go on.
    std::string catalogue;
    checkpoint::prior_sync before;
    checkpoint::checkpointer maker;
    checkpoint::service service;
};

/// Nobody knows what another process changed, unless it closed the state with a checkpoint.
void segment::start_checkpoints() {
    if (options_.promise == durability::process) return;
    checkpoints_ = std::make_unique<checkpoint_maker>(*this);
    const checkpoint::publication* newest = checkpoints_->maker.done().newest();
    if (newest && newest->generation == found_.generation) return;
    each_window([&](const window& file) {
        addresses_->pages().suspect(first_page_of(file), file.bytes() / page_tracker::page_bytes);
    });
}

/// Since it was opened.
bool segment::has_changed() const {
    if (log_->revision() != found_.revision || log_->committed_revision() != found_.committed)
        return true;
    const checkpoint::history made = checkpoints();
    if (made.made + made.failed != 0) return true;
    if (made.redo && made.redo->blocks + made.redo->failed != 0) return true; // also of none now
    bool is_written = false;
    each_window([&](const window& file) {
        if (&file == log_file_.get()) return;
        is_written =
            is_written || addresses_->pages().has_written(first_page_of(file),
                                                          file.bytes() / page_tracker::page_bytes);
    });
    return is_written;
}

void segment::require_checkpoints() const {
    if (checkpoints_) return;
    throw usage_error(state_.string() + ": has no checkpoints, since it is open " +
                      (writable() ? "with durability::process" : "read-only"));
}

checkpoint::outcome segment::make_checkpoint() {
    undo_log::require_no_operation();
    require_checkpoints();
    return checkpoints_->service.now();
}

void segment::wait_until_durable() {
    undo_log::require_no_operation();
    require_checkpoints();
    checkpoints_->service.wait_until_durable();
}

void segment::sync_before_checkpoints(std::function<void()> call) {
    if (checkpoints_) checkpoints_->before.set(std::move(call));
}

checkpoint::history segment::checkpoints() const {
    return checkpoints_ ? checkpoints_->service.so_far() : checkpoint::history();
}

/// Of a state to be created: before anything is.
void segment::check_options() const {
    if (options_.window_bytes == 0 || options_.window_bytes % address_space::alignment != 0)
        throw usage_error(state_.string() + ": window_bytes must be a multiple of " +
                          std::to_string(address_space::alignment) + ", not " +
                          std::to_string(options_.window_bytes));
    if (options_.windows < first_type_window || options_.windows > UINT32_MAX)
        throw usage_error(state_.string() + ": windows must be at least " +
                          std::to_string(first_type_window) + " and some for each type, not " +
                          std::to_string(options_.windows));
}

/// Nothing in it is believed before it is known to be ours.
void segment::check_state_folder() const {
    std::optional<gid_t> wanted;
    if (!options_.readers_group.empty() && writable())
        wanted = group_called(options_.readers_group);
    if (!fs::exists(fs::symlink_status(state_))) return;
    const private_folder found(state_, writable());
    if (fs::exists(fs::symlink_status(folder()))) found.require_same_owner({folder(), writable()});
    if (fs::exists(fs::symlink_status(checkpoint_folder()))) {
        const private_folder copies(checkpoint_folder(), writable());
        found.require_same_owner(copies);
        for (const auto& entry : fs::directory_iterator(checkpoint_folder())) // opened much later
            (void)copies.open(entry.path().filename().string(), file_use::read);
    }
    if (!wanted || found.readers() == wanted) return;
    const std::string all = quoted(state_);
    const fs::path slots = state_ / "readers"; // which members write
    // Who changes segment.json unties what is in memory.
    const std::string in_memory =
        place_.is_in_memory() ? "; close it properly before, since its last checkpoint is restored "
                                "then, and remove " +
                                    place_.home().string() + " afterwards"
                              : "";
    throw access_error(
        state_.string() + ": was not made for the group " + options_.readers_group +
        "; open it without naming one, or let that group in while no process uses the state: `" +
        fmt::format("chgrp -R {} -- {} && chmod -R g=rX -- {}", *wanted, all, all) +
        (fs::exists(slots) ? " && chmod g=rw -- " + quoted(slots) : "") + "`" + in_memory);
}

void segment::make_state_folder() const {
    const fs::path parent = (fs::absolute(state_) / "").parent_path().parent_path();
    make_folders(parent);
    std::optional<gid_t> readers;
    if (!options_.readers_group.empty()) readers = group_called(options_.readers_group);
    const bool is_new = !fs::exists(state_);
    private_folder::make(state_, readers);
    if (is_new) sync_folder(parent);
}

/// The lock first. A folder that is not ours is refused before anything is put into it.
void segment::lock_and_find() {
    const fs::path lock = state_ / "lock";
    if (!writable()) {
        if (!place_.why_foreign().empty())
            throw unclean_error(state_.string() + ": " + place_.why_foreign() +
                                ". Open the state for writing once, which restores its last "
                                "checkpoint, then read it");
        if (fs::exists(folder() / "header")) return check_state_folder();
        if (has_checkpoint() && !fs::exists(folder()))
            throw unclean_error(state_.string() + ": its segment is not there. Open the state for "
                                                  "writing once, which restores its last "
                                                  "checkpoint, then read it");
        throw format_error(state_.string() + ": no chainbase state is there; check the path");
    }
    const bool is_foreign = !place_.why_foreign().empty();
    const bool known =
        is_foreign ? has_checkpoint()
                   : fs::exists(folder() / "header") || (has_checkpoint() && !fs::exists(folder()));
    if (!known && place_.is_in_memory() && (is_foreign || !fs::exists(folder())))
        throw unclean_error(
            state_.string() + ": " +
            (is_foreign ? place_.why_foreign() : folder().string() + " is not there any more") +
            ", and the state has no checkpoint. Nothing was changed. Choose: (1) replay the block "
            "log into a new folder; (2) remove " +
            (state_ / "segment.json").string() + ", to begin anew in this one");
    if (!known && !is_free(state_)) {
        if (fs::exists(lock) && fs::exists(folder()))
            throw damaged_error(
                (folder() / "header").string() +
                ": missing; restore it from a copy, or, if there is a checkpoint to "
                "go back to, move the segment's folder away");
        throw format_error(state_.string() + ": the folder is not empty and holds no chainbase "
                                             "state; name another folder");
    }
    check_state_folder();
    if (known && !fs::exists(lock) && fs::exists(folder() / "header")) {
        require_magic(folder() / "header", read_file(folder() / "header"));
        throw damaged_error(lock.string() + ": missing; create an empty file of this name if no "
                                            "other process has the state open");
    }
    make_state_folder();
    lock_.emplace(lock, !fs::exists(folder() / "header"));
    place_ = segment_place(state_); // another writer may have moved it meanwhile
    segment_place::discard_unsettled(state_);
    if (!place_.why_foreign().empty()) return;
    place_.confirm();
    require_promise(place_);
}

/// Makes an empty, closed segment under another name and renames it when it is complete.
void segment::create_files() {
    segment_place next = segment_place::prepare(state_, memory_for_new());
    require_promise(next);
    const fs::path fresh = next.home() / "segment.new";
    fs::remove_all(fresh);
    private_folder::make_within(fresh);
    try {
        put_in_place(std::move(next), fill_folder(fresh));
    } catch (...) {
        std::error_code ignored; // what failed is reported
        fs::remove_all(fresh, ignored);
        throw;
    }
}

/// Returns the identity of the new state.
std::array<std::byte, 16> segment::fill_folder(const fs::path& fresh) {
    catalogue_.write(fresh);
    {
        const address_space addresses(options_.window_bytes, options_.windows);
        window file = window::create({&addresses, undo_log::window_index}, fresh / "undo_log",
                                     undo_log::geometry);
        const undo_log log(addresses, file, true);
        size_classes buffers(addresses, fresh, window::mode::create);
        if (options_.sync) buffers.sync();
        if (options_.sync) file.sync();
    }
    segment_header header =
        fresh_header(options_.window_bytes, static_cast<std::uint32_t>(options_.windows));
    const boost::uuids::uuid identity = boost::uuids::random_generator()();
    std::memcpy(header.identity.data(), identity.data, identity.size());
    header.clean = 1;
    header.synced = 1;
    write_header(fresh, header);
    opened_.how = opening::way::created;
    return header.identity;
}

/// What changes while it looks is looked at the next time.
void segment::refresh() {
    if (writable()) return;
    const std::uint64_t types = turns_ ? turns_->types() : 0;
    const std::uint64_t lengths = turns_ ? turns_->lengths() : 0;
    if (!turns_ || types != seen_.types) {
        const catalogue now = catalogue::read(folder());
        for (std::size_t t = types_.size(); t < now.entries().size(); ++t)
            types_.push_back(map_type(now.entries()[t], window::mode::read_only));
        catalogue_ = now;
    }
    each_window([](window& file) { file.refresh(); });
    seen_.types = types;
    seen_.lengths = lengths;
}

// --- turns with other processes ---

bool segment::begin_writing() {
    if (!writable() || !turns_ || turns_->is_locked()) return false;
    turns_->lock();
    return true;
}

/// Of what was closed or abandoned within, the turn is over, or its end is not ours to tell.
void segment::end_writing() noexcept {
    if (!turns_ || !turns_->is_locked()) return;
    if (addresses_->length_changes() != lengths_told_) turns_->changed_lengths();
    lengths_told_ = addresses_->length_changes();
    turns_->unlock();
}

std::uint32_t segment::begin_reading() {
    if (!turns_) return 0;
    const std::uint32_t slot = turns_->lock_shared();
    if (turns_->segments() == seen_.segment) return slot;
    turns_->unlock_shared(slot);
    throw replaced_error(state_.string() +
                         ": what this reader has mapped is not the state any more: it was restored "
                         "from a checkpoint, or made anew; open it again");
}

void segment::end_reading(std::uint32_t slot) noexcept {
    if (turns_) turns_->unlock_shared(slot);
}

bool segment::is_outdated() const noexcept {
    return turns_ && (turns_->lengths() != seen_.lengths || turns_->types() != seen_.types);
}

segment::mapped_header::~mapped_header() {
    if (at) munmap(at, segment::header_bytes);
}

void segment::map_header() {
    const fs::path file = folder() / "header";
    const file_descriptor opened =
        open_private(file, writable() ? file_use::write : file_use::read);
    struct stat status{};
    if (fstat(opened.number(), &status) != 0) throw_file_error(file, "examine");
    if (static_cast<std::size_t>(status.st_size) < header_bytes)
        throw damaged_error(file.string() + ": truncated to " + std::to_string(status.st_size) +
                            " of " + std::to_string(header_bytes) +
                            " bytes; restore it from a copy, or replay into a new folder");
    const int access = writable() ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = mmap(nullptr, header_bytes, access, MAP_SHARED, opened.number(), 0);
    if (at == MAP_FAILED) throw_file_error(file, "map");
    header_.at = static_cast<segment_header*>(at);
}

void segment::check_header() const {
    const std::string file = (folder() / "header").string();
    require_magic(file, {header().magic, sizeof header().magic});
    if (header().checksum != static_checksum(header()))
        throw damaged_error(file + ": offset 16: the checksum does not match; restore it from a "
                                   "copy, or replay into a new folder");
    if (header().format != segment_header::current_format)
        throw format_error(file + ": format " + std::to_string(header().format) +
                           ", this program reads " +
                           std::to_string(segment_header::current_format) +
                           "; open it with the program that wrote it, or replay");
    place_.require_identity(header().identity);
    if (header().clean > 1)
        throw damaged_error(file + ": offset 36: neither closed nor open; restore it from a copy, "
                                   "or replay into a new folder");
}

void segment::check_closed() const {
    const bool is_of_another_boot = boot_of(header()) != boot_id();
    if (is_closed() && (header().synced == 1 || !is_of_another_boot)) return;
    if (is_closed() && header().generation == 0)
        throw unclean_error(
            state_.string() +
            ": was closed without waiting for storage (open_options::sync), and the machine "
            "restarted since, so nobody knows whether it is whole. Nothing was changed. Choose: "
            "(1) "
            "replay the block log into a new folder; (2) remove " +
            folder().string() + ", to go back to its last checkpoint if it has one");
    if (is_of_another_boot && has_checkpoint()) // only reading: else it was restored
        throw unclean_error(state_.string() +
                            ": the machine restarted since it was written. Open the state for "
                            "writing once, which restores its last checkpoint, then read it");
    if (is_of_another_boot)
        throw unclean_error(
            state_.string() +
            ": the machine restarted while this state was open, so its pages may be of different "
            "times, and it has no checkpoint. Nothing was changed. Choose: (1) put a copy of the "
            "folder in its place; (2) move it away and replay the block log into a new folder; (3) "
            "keep it to examine it, its archive is still valid");
    if (!writable() && !options_.allow_unclean && !has_writer() && !is_closed())
        throw unclean_error(state_.string() +
                            ": the last writer died. Open the state for writing once, which rolls "
                            "it back to the last completed block, then read it");
}

void segment::map_windows() {
    const window::mode how = writable() ? window::mode::read_write : window::mode::read_only;
    addresses_ = std::make_unique<address_space>(header().window_bytes, header().windows);
    log_file_ =
        std::make_unique<window>(window::open({addresses_.get(), undo_log::window_index},
                                              folder() / "undo_log", undo_log::geometry, how));
    buffers_ = std::make_unique<size_classes>(*addresses_, folder(), how);
    for (const catalogue::entry& entry : catalogue_.entries())
        types_.push_back(map_type(entry, how));
}

std::unique_ptr<type_windows> segment::map_type(const catalogue::entry& entry,
                                                window::mode how) const {
    const std::uint64_t end = std::uint64_t{entry.first_window} + 2 + entry.schema.tables;
    if (entry.first_window < first_type_window || end > addresses_->windows())
        throw damaged_error(catalogue::file_in(folder()).string() + ": type " + entry.schema.name +
                            ": first_window " + std::to_string(entry.first_window) +
                            " is not among the " + std::to_string(addresses_->windows()) +
                            " windows; restore the file from a copy, or replay into a new folder");
    auto type = std::make_unique<type_windows>();
    type->name = entry.schema.name;
    type->created = how == window::mode::create;
    std::uint32_t index = entry.first_window;
    const auto map = [&](const std::string& suffix, const window::geometry& shape) {
        const window::place place{addresses_.get(), index++};
        const fs::path file = folder() / (entry.schema.name + suffix);
        if (how == window::mode::create)
            return std::make_unique<window>(window::create(place, file, shape));
        return std::make_unique<window>(window::open(place, file, shape, how));
    };
    type->objects =
        map(".objects", {window_kind::objects, entry.schema.node_bytes, window_header::page_bytes});
    type->ids = map(".ids", id_table::geometry);
    for (std::uint32_t t = 0; t < entry.schema.tables; ++t)
        type->tables.push_back(map(fmt::format(".{}.hash", t), hash_table::geometry));
    return type;
}

template <typename Visitor>
void segment::each_window(Visitor&& visit) const {
    visit(*log_file_);
    buffers_->each_window(visit);
    for (const auto& type : types_) {
        visit(*type->objects);
        visit(*type->ids);
        for (const auto& table : type->tables)
            visit(*table);
    }
}

std::uint32_t segment::roots_checksum() const {
    detail::roots_checksum sum;
    each_window([&](const window& file) { sum.add(file); });
    return sum.value();
}

/// Of a state that was closed: the words everything hangs on are the ones that were written then,
/// and no file lost its end.
void segment::check_roots() const {
    if (!is_closed()) return check_lengths();
    if (header().roots == 0 || header().roots == roots_checksum()) return;
    if (!writable() && !is_closed()) return; // a writer opened it meanwhile
    throw damaged_error(folder().string() +
                        ": a root block or the length of a file is not what closing left; restore "
                        "the folder from a copy, or replay into a new one");
}

/// Of a state that was not closed: its files hold what their root blocks say. Beside a writer these
/// words change, and a reader does not store.
void segment::check_lengths() const {
    if (!writable()) return;
    detail::require_log(*log_file_);
    buffers_->each_window([](const window& file) { detail::require_slots(file); });
    for (const auto& type : types_)
        detail::require_type(*type);
}

void segment::take_over() {
    log_check(*addresses_, *log_file_).require_sound(); // while nothing has changed yet
    found_.closed = is_closed();
    found_.synced = header().synced == 1;
    found_.generation = found_.closed ? header().generation : 0;
    mark_open();
    try {
        lock_->announce();
        const trace::span timed(recovering); // finds nothing to do after a proper close
        log_ = std::make_unique<undo_log>(*addresses_, *log_file_, false);
        buffers_->attach(*log_);
        start_checkpoints();
    } catch (...) {
        log_.reset();
        if (found_.closed) mark_closed(found_.synced, found_.generation);
        throw;
    }
    const recovery& found = log_->recovered();
    opened_.revision = log_->revision();
    found_.revision = log_->revision();
    found_.committed = log_->committed_revision();
    if (opened_.how == opening::way::attached && !found_.closed)
        opened_.how = opening::way::rolled_back;
    if (found.operation || found.sessions != 0)
        spdlog::info("{}: the last writer stopped in the middle; rolled back {} unfinished "
                     "session(s), now at revision {}",
                     state_.string(), found.sessions, log_->revision());
}

bool segment::is_closed() const noexcept {
    return std::atomic_ref(header_.at->clean).load(std::memory_order_acquire) != 0;
}

/// The boot first: a state that is open and has another one's number counts as lost.
void segment::mark_open() {
    const std::string boot = boot_id();
    if (boot_of(header()) != boot) { // else a reader would see none for a moment
        std::memset(header_.at->boot, 0, sizeof header_.at->boot);
        std::memcpy(header_.at->boot, boot.data(), boot.size());
    }
    header_.at->generation = 0;
    std::atomic_ref(header_.at->clean).store(0, std::memory_order_release);
    if (options_.sync || found_.synced) sync_header(); // else nobody believes it after a crash
}

void segment::mark_closed(bool synced, std::uint64_t generation) {
    const std::uint32_t roots = roots_checksum();
    header_.at->synced = synced ? 1 : 0;
    header_.at->generation = generation;
    header_.at->roots = roots != 0 ? roots : 1; // 0 stands for "none yet"
    const std::atomic_ref clean(header_.at->clean);
    clean.store(1, std::memory_order_release);
    try {
        if (options_.sync) sync_header();
    } catch (...) {
        clean.store(0, std::memory_order_release); // what is not on storage is not closed
        throw;
    }
}

void segment::sync_windows() {
    sync_failed_ = true; // unless all of it goes well
    each_window([](window& file) { file.sync(); });
    sync_failed_ = false;
}

void segment::sync_header() {
    sync_failed_ = true;
    if (msync(header_.at, header_bytes, MS_SYNC) != 0)
        throw_file_error(folder() / "header", "sync");
    sync_failed_ = false;
}

void segment::close() {
    if (!log_) return;
    const trace::span timed(closing);
    if (sync_failed_)
        throw io_error(state_.string() + ": storage refused what closing brought there, and a "
                                         "second attempt would not tell; the state counts as not "
                                         "closed, the next opening goes on from what is there");
    const bool began = log_->open_sessions() != 0 && begin_writing();
    while (log_->open_sessions() != 0)
        log_->undo();
    if (began) end_writing();
    if (found_.closed && !has_changed()) { // also who only finds that it is another program's
        checkpoints_.reset();
        mark_closed(found_.synced, found_.generation);
    } else if (checkpoints_) {
        const std::uint64_t generation = checkpoints_->service.now().generation;
        checkpoints_.reset();
        mark_closed(false, generation);
    } else {
        if (options_.sync) sync_windows();
        mark_closed(options_.sync, 0);
    }
    leave_log();
    end_writing();
    turns_.reset(); // before another writer can come
    lock_.reset();
}

/// Within its turn it leaves that to the next writer, as a kill would.
void segment::abandon() noexcept {
    checkpoints_.reset();
    leave_log();
    if (writable()) turns_.reset();
    lock_.reset();
}

void segment::leave_log() noexcept {
    if (!log_) return;
    log_->leave_sessions();
    left_log_ = std::move(log_);
}

// --- types ---

std::uint32_t segment::next_free_window() const noexcept {
    std::uint32_t next = first_type_window;
    for (const catalogue::entry& entry : catalogue_.entries())
        next = std::max(next, entry.first_window + 2 + entry.schema.tables);
    return next;
}

type_windows& segment::open_type(const type_schema& schema) {
    if (!catalogue_.find(schema.name) && is_outdated()) refresh();
    if (const catalogue::entry* known = catalogue_.find(schema.name)) {
        const std::string difference = schema.difference(known->schema);
        if (!difference.empty())
            throw schema_error(state_.string() + ": type " + schema.name +
                               " was stored with another layout: " + difference +
                               "; use the program that wrote it, or replay into a new folder");
        const auto at = known - catalogue_.entries().data();
        return *types_[static_cast<std::size_t>(at)];
    }
    if (!writable())
        throw usage_error(state_.string() + ": has no type " + schema.name +
                          ", and is open read-only");
    require_file_name(schema.name);
    catalogue::entry added{schema, next_free_window()};
    if (added.first_window + 2 + schema.tables > addresses_->windows())
        throw limit_error(state_.string() + ": all " + std::to_string(addresses_->windows()) +
                          " windows are taken, type " + schema.name +
                          " needs more; create the state with more windows");
    types_.push_back(map_type(added, window::mode::create));
    catalogue_.add(std::move(added));
    return *types_.back();
}

void segment::publish_type(type_windows& type) {
    if (!type.created) return;
    std::string text = catalogue_.text();
    catalogue_.write(folder());
    if (checkpoints_) checkpoints_->catalogue = std::move(text);
    type.created = false;
    turns_->added_type();
}

void segment::withdraw_type(const type_windows& type) noexcept {
    if (!type.created) return;
    catalogue_.remove_last();
    types_.pop_back();
}

} // namespace chainbase

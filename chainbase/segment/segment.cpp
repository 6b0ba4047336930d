#include <chainbase/doctor.hpp>
#include <chainbase/folder.hpp>
#include <chainbase/lock/process_lock.hpp>
#include <chainbase/segment/log_witness.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_parts.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>
#include <pool_allocator/trace.hpp>
#include <undo/log_check.hpp>

#include <boost/uuid/random_generator.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;
using detail::boot_id;
using detail::boot_of;
using detail::fresh_header;
using detail::write_header;

namespace {

const trace::site open_span("chainbase.open");
const trace::site recovering("chainbase.recover");
const trace::site closing("chainbase.close");

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

/// Of a restored state, which was read as a whole anyway, all that can be undone. What is refused
/// then counts as lost again: who opens it next would look only at what recovery needs.
void require_sound(log_check log, bool is_restored, segment_header& of_state) {
    log.require_sound();
    if (!is_restored) return;
    try {
        (void)log.require_all_records();
    } catch (const damaged_error&) {
        std::memset(of_state.boot, 0, sizeof of_state.boot);
        throw;
    }
}

} // namespace

segment::segment(fs::path state, const open_options& options)
    : state_(std::move(state)), options_(options), place_(state_),
      before_(std::make_shared<checkpoint::prior_sync>()) {
    const trace::span timed(open_span);
    try {
        if (writable() && !fs::exists(folder())) check_options();
        const discard_at_end unsettled(state_, lock_);
        if (writable()) {
            open_for_writing(lock_and_plan());
        } else {
            find_for_reading();
            open_for_reading();
        }
    } catch (const fs::filesystem_error& e) {
        errno = e.code().value();
        throw_file_error(e.path1().empty() ? state_ : e.path1(), "use");
    }
}

segment::~segment() {
    if (!origin_.is_here()) {
        leave_behind(std::move(checkpoints_)); // its threads are not here
        return;
    }
    try {
        if (sync_failed_)
            abandon();
        else
            close();
    } catch (const std::exception& e) {
        spdlog::error("closing {}: {}; the state counts as not closed", state_.c_str(), e.what());
    }
}

/// All of it in the writer's turn, so that readers see what was rolled back or restored, or wait.
void segment::open_for_writing(const opening_plan& plan) {
    if (options_.advise) give_advice(plan);
    turns_ = std::make_unique<process_lock>(state_, process_lock::role::writer,
                                            options_.wait_for_writer);
    turns_->lock();
    remove_tree(state_ / "segment.old"); // a restore that was killed left it
    if (plan.does == opening_way::restore) restore(plan.why);
    if (plan.does == opening_way::create) {
        turns_->replaced_segment();
        create_files();
    }
    try {
        attach();
        take_over();
    } catch (const damaged_error& e) {
        if (!has_checkpoint(checkpoint_disk(), checkpoint_folder())) throw;
        throw damaged_error(e.what() + or_restore(folder()));
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
    opening_facts found = facts();
    found.has_lock = true;
    found.use(header(), header_.mark);
    require_usable(found);
    place_.require_identity(header().identity);
    catalogue_ = catalogue::read(folder());
    map_windows();
    check_roots();
}

disk& segment::checkpoint_disk() const noexcept {
    return options_.checkpoint_disk ? *options_.checkpoint_disk : disk::of_system();
}

/// Before much is done: what is advised may be why it fails.
void segment::give_advice(const opening_plan& plan) const noexcept {
    try {
        doctor::subject of{state_,
                           folder(),
                           false,
                           options_.window_bytes,
                           options_.windows,
                           options_.promise != durability::process};
        of.is_made = plan.does == opening_way::create || plan.does == opening_way::restore;
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

/// Makes an empty, closed segment under another name and renames it when it is complete.
void segment::create_files() {
    segment_place next = segment_place::prepare(state_, memory_for_new());
    require_promise(next);
    const fs::path fresh = next.home() / "segment.new";
    remove_tree(fresh);
    private_folder::make_within(fresh);
    try {
        put_in_place(std::move(next), fill_folder(fresh));
    } catch (...) {
        try_to_remove_tree(fresh); // what failed is reported
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
    header_.mark = file_identity::of(opened, file);
    const int access = writable() ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = mmap(nullptr, header_bytes, access, MAP_SHARED, opened.number(), 0);
    if (at == MAP_FAILED) throw_file_error(file, "map");
    header_.at = static_cast<segment_header*>(at);
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

void segment::take_over() {
    const bool is_restored = opened_.how == opening::way::restored;
    require_sound({*addresses_, *log_file_}, is_restored, *header_.at); // nothing changed yet
    found_.closed = is_closed();
    found_.synced = header().synced == 1;
    found_.generation = found_.closed ? header().generation : 0;
    mark_open();
    try {
        lock_->announce();
        const trace::span timed(recovering); // finds nothing to do after a proper close
        log_ = std::make_unique<undo_log>(*addresses_, *log_file_, false);
        log_witness::remember(*log_, header_.mark);
        buffers_->attach(*log_);
        if (!found_.closed && opened_.how == opening::way::attached) sync_what_the_dead_left();
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

/// The boot first: a state that is open and has another one's number counts as lost. `generation`
/// stays: power may go after any store, and a state that is closed without one is refused.
void segment::mark_open() {
    const std::string boot = boot_id();
    if (boot_of(header()) != boot) { // else a reader would see none for a moment
        std::memset(header_.at->boot, 0, sizeof header_.at->boot);
        std::memcpy(header_.at->boot, boot.data(), boot.size());
    }
    header_.at->mark = header_.mark;
    log_witness::forget(header_.mark);
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
    log_witness::forget(header_.mark);
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
    require_here();
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
        if (options_.sync) {
            before_->call();
            sync_windows();
        }
        mark_closed(options_.sync, 0);
    }
    before_->end();
    leave_log();
    place_.renew(); // what was copied while it was open is not the state any more
    end_writing();
    turns_.reset(); // before another writer can come
    lock_.reset();
}

/// Within its turn it leaves that to the next writer, as a kill would.
void segment::abandon() noexcept {
    if (!origin_.is_here()) return;
    checkpoints_.reset();
    before_->end();
    leave_log();
    if (writable()) turns_.reset();
    lock_.reset();
}

void segment::leave_log() noexcept {
    if (!log_) return;
    log_->leave_sessions();
    left_log_ = std::move(log_);
}

} // namespace chainbase

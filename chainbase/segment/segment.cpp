#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/segment/log_witness.hpp>
#include <chainbase/segment/segment.hpp>
#include <chainbase/segment/segment_checkpoints.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <undo/log_check.hpp>

#include <spdlog/spdlog.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

const trace::site open_span("chainbase.open");
const trace::site recovering("chainbase.recover");
const trace::site closing("chainbase.close");

/// For a restored state, which was read completely anyway, checks everything that can be undone. If
/// it is refused, the segment counts as lost again, since the next opening would check only what
/// recovery needs.
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

// --- opening ---

segment::segment(fs::path state, const open_options& options)
    : mapped_segment(state, options.mode == open_mode::read_write ? window::mode::read_write
                                                                  : window::mode::read_only),
      options_(options), opening_(std::move(state), options_),
      before_(std::make_shared<checkpoint::prior_sync>()) {
    const trace::span timed(open_span);
    try {
        if (writable())
            open_for_writing();
        else
            open_for_reading();
    } catch (const fs::filesystem_error& e) {
        errno = e.code().value();
        throw_file_error(e.path1().empty() ? this->state() : e.path1(), "use");
    }
}

segment::~segment() {
    if (!origin_.is_here()) {
        leak(std::move(checkpoints_)); // its threads do not exist in a fork
        return;
    }
    try {
        if (sync_failed_)
            abandon();
        else
            close();
    } catch (const std::exception& e) {
        spdlog::error("closing {}: {}; the state counts as not closed", state().c_str(), e.what());
    }
}

/// All of it within the writer's turn, so that readers wait, and then see the state rolled back or
/// restored.
void segment::open_for_writing() {
    const std::unique_ptr<state_opening, void (*)(state_opening*)> unsettled(
        &opening_, [](state_opening* of) { of->discard_unsettled(); });
    const opening_plan plan = opening_.lock_and_plan();
    if (plan.does == opening_way::create) fit_windows();
    if (options_.advise) opening_.give_advice(plan);
    turns_ = std::make_unique<process_lock>(state(), process_lock::role::writer,
                                            options_.wait_for_writer);
    turns_->lock();
    opening_.carry_out(plan, *turns_);
    try {
        attach();
        take_over();
    } catch (const damaged_error& e) {
        if (!has_checkpoint(opening_.checkpoint_disk(), opening_.checkpoint_folder())) throw;
        throw damaged_error(e.what() + or_restore(folder()));
    }
    turns_->changed_lengths(); // what a dead writer did not announce
    turns_->added_type();
    end_writing();
}

/// For a new state, unless the caller chose a size.
void segment::fit_windows() {
    std::size_t& bytes = options_.window_bytes;
    if (bytes != open_options::default_window_bytes) return;
    bytes = address_space::window_that_fits(bytes, options_.windows);
    if (bytes == open_options::default_window_bytes) return;
    spdlog::warn("{}: this process may not have many addresses, so no file of the new state can "
                 "grow beyond {} MiB; chainbase-inspect resize changes that",
                 state().string(), bytes >> 20);
}

/// On a read-only file system nobody takes turns.
void segment::open_for_reading() {
    opening_.find_for_reading();
    if (options_.allow_unclean) return attach();
    struct statvfs system{};
    if (statvfs(state().c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0) {
        if (!has_writer()) return attach();
        throw locked_error(state().string() +
                           ": a writer has it open, and the file system is read-only here, so "
                           "readers cannot take turns with it; mount it writable, or read with "
                           "allow_unclean, although the state may change meanwhile");
    }
    turns_ = std::make_unique<process_lock>(state(), process_lock::role::reader,
                                            options_.wait_for_writer);
    const std::uint32_t slot = turns_->lock_shared(); // ends with turns_, if it fails
    attach();
    seen_.segment = turns_->segments();
    seen_.lengths = turns_->lengths();
    seen_.types = turns_->types();
    turns_->unlock_shared(slot);
}

void segment::attach() {
    map_header(folder());
    opening_facts found = opening_.facts();
    found.has_lock = true;
    found.use(header(), header_file());
    opening_.require_usable(found, [this] { return is_closed(); });
    opening_.place().require_identity(header().identity);
    if (options_.window_bytes != open_options::default_window_bytes &&
        options_.window_bytes != header().window_bytes)
        spdlog::warn("{}: window_bytes {} is ignored: the state was made with {}; change it with "
                     "chainbase-inspect resize",
                     state().string(), options_.window_bytes, header().window_bytes);
    map_windows();
    check_roots();
}

void segment::take_over() {
    const bool is_restored = opened().how == opening::way::restored;
    require_sound({addresses(), log_file()}, is_restored, own_header()); // nothing changed yet
    if (options_.durability != durability::process)
        checkpoint::published(opening_.checkpoint_disk(), opening_.checkpoint_folder())
            .require_of(header().identity);
    found_.closed = is_closed();
    found_.synced = header().synced == 1;
    found_.generation = found_.closed ? header().generation : 0;
    mark_open();
    if (options_.sync || found_.synced) sync(&segment::sync_header); // else it does not count later
    try {
        opening_.lock().announce();
        recover();
    } catch (...) {
        log_.reset();
        if (found_.closed) set_closed(found_.synced, found_.generation);
        throw;
    }
    make_up_for_checkpoint();
}

void segment::recover() {
    const trace::span timed(recovering); // does nothing after a proper close
    opening& result = opening_.result();
    log_ = std::make_unique<undo_log>(addresses(), own_log_file(), false);
    log_witness::remember(*log_, header_file());
    log_->keep_for(&turns_->snapshots(), options_.snapshot_log_bytes / undo_log::chunk_bytes);
    buffers().attach(*log_);
    if (!found_.closed && result.how == opening::way::attached) sync_after_dead_writer();
    start_checkpoints();
    const recovery& found = log_->recovered();
    result.revision = log_->revision();
    found_.revision = log_->revision();
    found_.committed = log_->committed_revision();
    if (result.how == opening::way::attached && !found_.closed)
        result.how = opening::way::rolled_back;
    if (found.operation || found.sessions != 0)
        spdlog::info("{}: the last writer stopped in the middle; rolled back {} unfinished "
                     "session(s), now at revision {}",
                     state().string(), found.sessions, log_->revision());
}

// --- turns with other processes ---

bool segment::begin_writing() {
    if (!writable() || !turns_ || turns_->is_locked()) return false;
    turns_->lock();
    return true;
}

/// If the state was closed or abandoned within the turn, there is nothing to end.
void segment::end_writing() noexcept {
    if (!turns_ || !turns_->is_locked()) return;
    if (addresses().length_changes() != lengths_told_) turns_->changed_lengths();
    lengths_told_ = addresses().length_changes();
    turns_->unlock();
}

std::uint32_t segment::begin_reading() {
    if (!turns_) return 0;
    const std::uint32_t slot = turns_->lock_shared();
    if (turns_->segments() == seen_.segment) return slot;
    turns_->unlock_shared(slot);
    throw replaced_error(state().string() +
                         ": this reader maps a segment that was replaced: the state was restored "
                         "from a checkpoint or made anew; open it again");
}

void segment::end_reading(std::uint32_t slot) noexcept {
    if (turns_) turns_->unlock_shared(slot);
}

bool segment::is_outdated() const noexcept {
    return turns_ && (turns_->lengths() != seen_.lengths || turns_->types() != seen_.types);
}

void segment::refresh() {
    if (writable()) return;
    // What changes while it reads is read the next time.
    const std::uint64_t types = turns_ ? turns_->types() : 0;
    const std::uint64_t lengths = turns_ ? turns_->lengths() : 0;
    refresh_files(!turns_ || types != seen_.types);
    seen_.types = types;
    seen_.lengths = lengths;
}

// --- types ---

type_windows& segment::open_type(const type_schema& schema) {
    require_here();
    if (!types().find(schema.name) && is_outdated()) refresh();
    return find_or_create_type(schema);
}

void segment::publish_type(type_windows& type) {
    if (!type.created) return;
    std::string text = types().text();
    write_catalogue();
    if (checkpoints_) checkpoints_->set_catalogue(std::move(text));
    type.created = false;
    turns_->added_type();
}

void segment::withdraw_type(const type_windows& type) noexcept {
    if (type.created) drop_newest_type();
}

// --- checkpoints ---

void segment::start_checkpoints() {
    if (options_.durability == durability::process) return;
    checkpoints_ = std::make_unique<segment_checkpoints>(
        segment_checkpoints::source{*this, *log_, options_, opening_.checkpoint_disk(),
                                    opening_.checkpoint_folder(), *before_, found_.generation});
}

/// A state that was closed without a checkpoint (a loaded one, or one of durability::process) is on
/// storage as long as nobody opens it; now only a checkpoint keeps it through a loss of power.
void segment::make_up_for_checkpoint() {
    const bool is_new = opened().how == opening::way::created;
    if (!checkpoints_ || !found_.closed || is_new) return;
    if (found_.generation != 0 && checkpoints_->has_newest_of(found_.generation)) return;
    spdlog::info("{}: was closed without a checkpoint; making one", state().string());
    try {
        opening_.checkpoint_disk().sync_file_system(state()); // rows of the archive
        (void)checkpoints_->now();
    } catch (const std::exception& e) { // tried again after the interval
        spdlog::error(
            "{}: the checkpoint failed: {}; until one succeeds, a loss of power loses the "
            "state",
            state().string(), e.what());
    }
}

/// Whether anything changed since the state was opened.
bool segment::has_changed() const {
    if (log_->revision() != found_.revision || log_->committed_revision() != found_.committed)
        return true;
    return (checkpoints_ && checkpoints_->have_changed()) || has_written_pages(*this);
}

bool segment::is_in_checkpoint() const {
    require_here();
    return checkpoints_ && found_.closed && found_.generation != 0 && !has_changed();
}

void segment::require_checkpoints() const {
    require_here();
    if (checkpoints_) return;
    throw usage_error(state().string() + ": has no checkpoints, since it is open " +
                      (writable() ? "with durability::process" : "read-only"));
}

checkpoint::outcome segment::make_checkpoint() {
    undo_log::require_no_operation();
    require_checkpoints();
    return checkpoints_->now();
}

void segment::wait_until_durable() {
    undo_log::require_no_operation();
    require_checkpoints();
    checkpoints_->wait_until_durable();
}

std::shared_ptr<void> segment::sync_before_checkpoints(std::function<void()> call,
                                                       const void* owner) {
    if (!log_ || !origin_.is_here()) return nullptr;
    if (checkpoints_) checkpoints_->wait_until_idle();
    return call ? before_->add(std::move(call), owner) : nullptr;
}

/// A dead writer's archive rows may be only in the kernel's memory, and a checkpoint may be made
/// before the archive is opened, or without opening it.
void segment::sync_after_dead_writer() {
    dead_writer_sync_ = before_->add([this, is_done = false]() mutable {
        if (!is_done) opening_.checkpoint_disk().sync_file_system(state());
        is_done = true;
    });
}

checkpoint::history segment::checkpoints() const {
    require_here();
    return checkpoints_ ? checkpoints_->so_far() : checkpoint::history();
}

// --- closing ---

void segment::sync(void (mapped_segment::*what)()) {
    sync_failed_ = true; // reset when all of it succeeds
    (this->*what)();
    sync_failed_ = false;
}

void segment::set_closed(bool synced, std::uint64_t generation) {
    mark_closed(synced, generation);
    if (!options_.sync) return;
    try {
        sync(&segment::sync_header);
    } catch (...) {
        unmark_closed(); // since it is not on storage
        throw;
    }
}

void segment::close() {
    if (!log_) return;
    require_here();
    const trace::span timed(closing);
    if (sync_failed_)
        throw io_error(state().string() + ": storage refused the writes of closing, and a second "
                                          "attempt would not report it; the state counts as not "
                                          "closed, and the next opening goes on from what is on "
                                          "storage");
    const bool began = log_->open_sessions() != 0 && begin_writing();
    while (log_->open_sessions() != 0)
        log_->undo();
    if (began) end_writing();
    if (found_.closed && !has_changed()) { // also when it only turned out to be another program's
        checkpoints_.reset();
        set_closed(found_.synced, found_.generation);
    } else if (checkpoints_) {
        const std::uint64_t generation = checkpoints_->now().generation;
        checkpoints_.reset();
        set_closed(false, generation);
    } else {
        if (options_.sync) {
            before_->call();
            sync(&segment::sync_windows);
        }
        set_closed(options_.sync, 0);
    }
    before_->end();
    leave_log();
    opening_.place().renew(); // copies made while it was open no longer have the segment
    end_writing();
    turns_.reset(); // before another writer can come
    opening_.unlock();
}

/// Within its turn it leaves the rest to the next writer, as a kill would.
void segment::abandon() noexcept {
    if (!origin_.is_here()) return;
    checkpoints_.reset();
    before_->end();
    leave_log();
    if (writable()) turns_.reset();
    opening_.unlock();
}

void segment::leave_log() noexcept {
    if (!log_) return;
    log_->leave_sessions();
    log_->keep_for(nullptr, 0);
    closed_log_ = std::move(log_);
}

} // namespace chainbase

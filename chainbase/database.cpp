#include <chainbase/database.hpp>
#include <chainbase/segment/segment.hpp>
#include <chainbase/state_migration.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <undo/undo_log.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace chainbase {

void detail::require_room(std::size_t found, std::size_t keys) {
    if (found >= keys) return;
    throw usage_error("find_many: " + std::to_string(keys) + " keys, and room for " +
                      std::to_string(found) + " objects");
}

namespace {

const trace::site compacting("chainbase.compact");

} // namespace

namespace {

/// Of a state that has the types of the program, or has been brought to them.
std::unique_ptr<segment> open_segment(const std::string& state, const open_options& options) {
    auto opened = std::make_unique<segment>(state, options);
    if (!options.migrate || !opened->writable() || !options.migrate->is_needed(opened->types()))
        return opened;
    opened->close();
    opened.reset();
    options.migrate->run(state, options);
    return std::make_unique<segment>(state, options);
}

} // namespace

database::database(const std::string& state, const open_options& options)
    : lock_(std::make_unique<state_lock>()), segment_(open_segment(state, options)),
      is_writer_(segment_->writable()), checks_locks_(options.check_locks), log_(segment_->log()) {}

database::database(database&& other) noexcept
    : lock_(std::move(other.lock_)), segment_(std::move(other.segment_)),
      is_writer_(other.is_writer_), checks_locks_(other.checks_locks_),
      is_closed_(std::exchange(other.is_closed_, true)), log_(std::exchange(other.log_, nullptr)),
      indexes_(std::exchange(other.indexes_, {})) {}

database& database::operator=(database&& other) noexcept {
    database taken(std::move(other));
    std::swap(lock_, taken.lock_);
    std::swap(segment_, taken.segment_);
    std::swap(is_writer_, taken.is_writer_);
    std::swap(checks_locks_, taken.checks_locks_);
    std::swap(is_closed_, taken.is_closed_);
    std::swap(log_, taken.log_);
    std::swap(indexes_, taken.indexes_);
    return *this; // `taken` closes the former state
}

database::~database() = default;

const opening& database::opened() const {
    return own().opened();
}

const std::string& database::state() const {
    return own().state().native();
}

std::string database::segment_folder() const {
    return own().folder().string();
}

bool database::is_writable() const {
    return own().writable();
}

checkpoint::history database::checkpoints() const {
    return own().checkpoints();
}

std::shared_ptr<void> database::sync_before_checkpoints(std::function<void()> call,
                                                        const void* owner) {
    return memory().sync_before_checkpoints(std::move(call), owner);
}

checkpoint::outcome database::make_checkpoint() {
    if (is_closed_) throw_closed();
    return segment_->make_checkpoint();
}

void database::wait_until_durable() {
    if (is_closed_) throw_closed();
    segment_->wait_until_durable();
}

void database::close() {
    if (!log_) return;
    segment_->require_here();
    if (log_->open_sessions() != 0)
        throw usage_error(segment_->state().string() +
                          ": close: " + std::to_string(log_->open_sessions()) +
                          " sessions are still open; push, squash or undo them first");
    log_ = nullptr;
    is_closed_ = true;
    indexes_.clear();
    segment_->close();
}

void database::abandon() noexcept {
    log_ = nullptr;
    is_closed_ = true;
    indexes_.clear();
    if (segment_) segment_->abandon();
}

// --- types ---

void database::require_new(std::size_t number, const std::string& name) const {
    undo_log::require_no_operation();
    if (is_closed_) throw_closed();
    if (number < indexes_.size() && indexes_[number])
        throw usage_error("add_type(\"" + name + "\"): this type is registered as \"" +
                          indexes_[number]->type_name() + "\" already");
    for (const auto& index : indexes_)
        if (index && index->type_name() == name)
            throw usage_error("add_type(\"" + name + "\"): another type has this name");
}

database::new_type::new_type(database& in, std::size_t number, const type_schema& schema)
    : in_((in.require_new(number, schema.name), in)), number_(number), turn_(*in.segment_) {
    if (in_.indexes_.size() <= number) in_.indexes_.resize(number + 1);
    windows_ = &in_.segment_->open_type(schema);
}

database::new_type::~new_type() {
    if (windows_) in_.segment_->withdraw_type(*windows_);
}

void database::new_type::enter(std::unique_ptr<index_base> index) {
    in_.segment_->publish_type(*windows_);
    in_.indexes_[number_] = std::move(index);
    windows_ = nullptr;
}

bool database::holds_lock(bool to_write) const noexcept {
    const auto held = lock_ ? lock_->held_by_this_thread() : std::nullopt;
    return held && (*held == lock_kind::write || !to_write);
}

void database::throw_unregistered(std::string (*type)()) const {
    if (is_closed_) throw_closed();
    throw usage_error(segment_->state().string() + ": the type " + type() +
                      " was not registered; call add_type for it first");
}

void database::throw_without_log() const {
    if (is_closed_) throw_closed();
    throw usage_error(segment_->state().string() +
                      ": this call needs the state to be open for writing; it is open read-only");
}

void database::throw_closed() const {
    throw usage_error((segment_ ? segment_->state().string() + ": the state" : "the database") +
                      " was closed, abandoned or moved from; open it again");
}

void database::throw_without_lock(bool to_write) const {
    throw usage_error(segment_->state().string() + ": check_locks: a call that " +
                      (to_write ? "changes objects" : "reads objects") + " without " +
                      (to_write ? "with_write_lock" : "with_read_lock or with_write_lock"));
}

bool database::has_type(const std::string& name) const {
    return own().types().find(name) != nullptr;
}

std::vector<type_statistics> database::types() const {
    return statistics().types;
}

segment_statistics database::statistics() const {
    if (is_closed_) throw_closed();
    return segment_statistics::of_writer(own());
}

log_position database::session_mark_of(revision_number revision) const {
    if (const auto begin = log().find_session(revision)) return *begin;
    throw usage_error("changes(" + std::to_string(revision) +
                      "): no session of this revision can be undone any more");
}

revision_number database::revision() const {
    return log_ ? log_->revision() : undo_log_view(own().log_file()).revision();
}

revision_number database::committed_revision() const {
    return log_ ? log_->committed_revision() : undo_log_view(own().log_file()).committed_revision();
}

void database::require_session(const char* call) const {
    undo_log::require_no_operation();
    log().require_here();
    if (!log().has_session())
        throw usage_error(segment_->state().string() + ": " + call +
                          ": no session can be undone, the state is at revision " +
                          std::to_string(log().revision()) + "; start_session comes first");
}

void database::undo() {
    require_session("undo");
    log().undo();
}

void database::squash() {
    require_session("squash");
    log().squash();
}

void database::undo_all() {
    undo_log::require_no_operation();
    log().require_here();
    while (log().has_session())
        log().undo();
}

void database::compact() {
    own().require_here();
    if (log().has_session())
        throw usage_error("compact: " + std::to_string(log().sessions()) +
                          " sessions can still be undone; commit or undo them first");
    const trace::span timed(compacting);
    const write_turn turn(*segment_);
    for (const auto& index : indexes_)
        if (index) index->compact();
    {
        operation change(log(), 0);
        segment_->buffers().prepare_trim();
        change.complete();
    }
    segment_->buffers().trim();
    log().trim();
}

} // namespace chainbase

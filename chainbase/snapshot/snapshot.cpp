#include <chainbase/locks/process_lock.hpp>
#include <chainbase/segment/segment.hpp>
#include <chainbase/snapshot/guarded_read.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

const trace::site renewal("snapshot.renew");
const trace::counter snapshots_taken("snapshot.taken");

constexpr unsigned most_tries = 10;

} // namespace

// --- the segment ---

std::unique_ptr<snapshot_segment>
snapshot_segment::take(const fs::path& state, const open_options& options, lost_page what) {
    for (unsigned tries = 1;; ++tries) {
        try {
            return std::make_unique<snapshot_segment>(state, options, what);
        } catch (const too_old_error&) { // a rollback of its block, while it was mapped
            if (tries == most_tries) throw;
        }
    }
}

snapshot_segment::snapshot_segment(fs::path state, const open_options& options, lost_page what)
    : mapped_segment(state, window::mode::read_only), options_(options) {
    options_.mode = open_mode::read_only;
    const state_opening opening(state, options_);
    opening.find_for_reading();
    const fs::path folder = opening.place().folder();
    images_.emplace((folder / "undo_log").string());
    try {
        slot_.emplace(state / "readers");
        replacements_ = slot_->replacements();
        types_added_ = slot_->types_added();
    } catch (const error& e) { // such as on a read-only file system
        spdlog::debug("{}: a snapshot that is not announced: {}", state.string(), e.what());
    }
    begin();
    snapshots_taken.add();
    map_header(folder);
    map();
    pages_->lost_pages_are_zeros(what == lost_page::is_zeros);
    if (!images_->is_at((folder / "undo_log").string()))
        throw replaced_error(state.string() + ": the segment was replaced while a snapshot of it "
                                              "was taken; take it again");
    opening.place().require_identity(header().identity);
}

/// Until it is announced the writer does not keep the log for it.
void snapshot_segment::begin() {
    constexpr unsigned most_begins = 100;
    for (unsigned tries = 1;; ++tries) {
        images_->begin();
        taken_ = std::chrono::steady_clock::now();
        announce();
        try {
            return images_->require_usable();
        } catch (const too_old_error&) {
            if (tries == most_begins) throw;
            std::this_thread::sleep_for(std::chrono::microseconds(10 * tries));
        }
    }
}

void snapshot_segment::announce() {
    if (slot_) slot_->announce({images_->from().time, images_->from().epoch});
}

bool snapshot_segment::renew(std::uint64_t most_bytes) {
    const trace::span timed(renewal);
    if (slot_ && slot_->replacements() != replacements_) return false;
    try {
        if (pages_->page_bytes() > most_bytes) pages_->give_back();
        if (!move_on()) begin_again();
    } catch (...) {
        pages_->give_back(); // some may be of another block
        throw;
    }
    if (!images_->is_at((segment_folder() / "undo_log").string())) return false;
    const std::uint64_t added = slot_ ? slot_->types_added() : 0;
    if ((!slot_ || added != types_added_) &&
        catalogue::read(segment_folder()).entries().size() != types().entries().size())
        return false;
    types_added_ = added;
    refresh_files(/*and_types=*/false);
    return has_room();
}

bool snapshot_segment::has_room() const {
    bool has = true;
    each_window([&](const window& file) { has = has && file.bytes() <= file.limit(); });
    return has;
}

/// From block to block by the records between. Once these are read, only the log of the new one is
/// needed. Returns false where that is not possible, or where reading the records costs more than
/// copying all pages does.
bool snapshot_segment::move_on() {
    if (images_->unread_bytes() > pages_->page_bytes()) return false;
    try {
        const auto now = std::chrono::steady_clock::now();
        pages_->move_on();
        announce();
        pages_->copy_again(/*all=*/false);
        taken_ = now;
        return true;
    } catch (const too_old_error&) {
        return false;
    } catch (const busy_error&) { // it writes and rolls back faster than this can read
        return false;
    }
}

void snapshot_segment::begin_again() {
    for (unsigned tries = 1;; ++tries) {
        try {
            begin();
            return pages_->copy_again(/*all=*/true);
        } catch (const too_old_error&) { // a rollback of its block meanwhile
            if (tries == most_tries) throw;
        }
    }
}

/// A page that was lost meanwhile looks like damage.
void snapshot_segment::map() {
    try {
        map_windows();
    } catch (const error&) {
        if (pages_) pages_->require_usable();
        throw;
    }
    pages_->require_usable();
}

/// Closer together than in the writer's process, so that one may have many snapshots: windows that
/// hold twice the longest file, and no more of them than there are.
std::unique_ptr<address_space> snapshot_segment::reserve_addresses() {
    constexpr std::uint64_t least = std::uint64_t{64} << 20;
    std::uint64_t longest = 0;
    for (const std::string& name : names_in(segment_folder())) {
        std::error_code is_gone;
        const std::uint64_t bytes = fs::file_size(segment_folder() / name, is_gone);
        if (!is_gone) longest = std::max(longest, bytes);
    }
    const std::uint64_t each =
        std::min(std::max(least, std::bit_ceil(2 * longest)), header().window_bytes);
    auto range =
        std::make_unique<address_space>(each, std::min(next_free_window(), header().windows));
    pages_.emplace(*range, *images_, header().window_bytes);
    range->take_pages_from(*pages_);
    return range;
}

const type_windows* snapshot_segment::find_type(const std::string& name) const noexcept {
    const auto found = std::find_if(windows().begin(), windows().end(),
                                    [&](const auto& type) { return type->name == name; });
    return found == windows().end() ? nullptr : found->get();
}

// --- snapshot ---

snapshot::snapshot(const database& of) : segment_(snapshot_segment::take(of.state())) {
    types_.resize(of.indexes_.size());
    for (std::size_t number = 0; number < types_.size(); ++number) {
        const index_base* const index = of.indexes_[number].get();
        const type_windows* const windows =
            index ? segment_->find_type(index->type_name()) : nullptr;
        if (!windows) continue;
        types_[number] = std::make_unique<type>(windows, index->maker_of_readers());
    }
}

snapshot::snapshot(const std::string& state, const open_options& options)
    : segment_(snapshot_segment::take(state, options)) {}

snapshot::snapshot(snapshot&&) noexcept = default;
snapshot& snapshot::operator=(snapshot&& other) noexcept {
    snapshot taken(std::move(other));
    std::swap(types_, taken.types_);
    std::swap(segment_, taken.segment_);
    return *this;
}
/// A fork does not have the memory: what is at its addresses is something else.
snapshot::~snapshot() {
    if (!segment_ || segment_->pages().is_here()) return;
    for (std::unique_ptr<type>& one : types_)
        leak(std::move(one));
    leak(std::move(segment_));
}

void snapshot::renew(std::uint64_t most_bytes) {
    for (std::unique_ptr<type>& one : types_)
        if (one) one = std::make_unique<type>(one->windows, one->make);
    if (segment_->renew(most_bytes)) return;
    auto newer = snapshot_segment::take(segment_->state(), segment_->options());
    for (std::unique_ptr<type>& one : types_) {
        if (one) one->windows = newer->find_type(one->windows->name);
        if (one && !one->windows) one.reset();
    }
    segment_ = std::move(newer);
}

void snapshot::enter(std::size_t number, const type_schema& schema, index_base::maker make) {
    if (number < types_.size() && types_[number])
        throw usage_error("add_type(\"" + schema.name + "\"): this type is registered as \"" +
                          types_[number]->windows->name + "\" already");
    auto added = std::make_unique<type>(&segment_->find_type(schema), make);
    if (types_.size() <= number) types_.resize(number + 1);
    types_[number] = std::move(added);
}

const index_base& snapshot::index_of(std::size_t number, std::string (*name)()) const {
    if (number >= types_.size() || !types_[number])
        throw usage_error(state() + ": the type " + name() +
                          " is not registered in this snapshot; call add_type for it first");
    type& found = *types_[number];
    std::call_once(found.made, [&] {
        found.windows->each([](const window& file) { // what making the index reads
            detail::guarded([&] { detail::touch(file.base(), window_header::page_bytes); });
        });
        found.index = found.make(*found.windows);
    });
    return *found.index;
}

bool snapshot::has_type(const std::string& name) const noexcept {
    return segment_->find_type(name) != nullptr;
}

revision_number snapshot::revision() const noexcept {
    return segment_->block().revision;
}

const std::string& snapshot::state() const noexcept {
    return segment_->state().native();
}

std::chrono::nanoseconds snapshot::age() const noexcept {
    return std::chrono::steady_clock::now() - segment_->taken();
}

bool snapshot::is_too_old() const {
    try {
        segment_->pages().require_usable();
        return false;
    } catch (const too_old_error&) {
        return true;
    }
}

bool snapshot::is_newest() const {
    return segment_->is_newest();
}

snapshot_costs snapshot::costs() const {
    const snapshot_pages& pages = segment_->pages();
    return {pages.pages(), pages.retries(), pages.bytes()};
}

} // namespace chainbase

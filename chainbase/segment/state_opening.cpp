#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <chainbase/segment/doctor.hpp>
#include <chainbase/segment/mapped_segment.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <pool_allocator/base/boot_id.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <boost/uuid/random_generator.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;
using detail::fresh_header;
using detail::is_set_aside;
using detail::write_header;

namespace {

constexpr const char* in_state_folder = "none"; ///< as a memory folder
constexpr const char* stays_there = "it was there before";

/// What is in the state folder under the segment's name, while that is in memory, is not known.
void set_aside(const fs::path& unknown) {
    if (!fs::exists(unknown)) return;
    fs::path aside = unknown.string() + ".beside";
    for (int n = 2; !rename_new(unknown, aside); ++n)
        aside = unknown.string() + ".beside." + std::to_string(n);
    spdlog::warn("{}: is not the segment of this state, which was in memory; it is now {}; remove "
                 "it when it is not needed any more",
                 unknown.string(), aside.string());
}

/// Requires the writer's lock.
void put_back_former(const fs::path& state, const segment_place& place) {
    if (!is_set_aside(place)) return;
    const fs::path former = detail::former_segment(place);
    private_folder(state, /*writing=*/true).require_same_owner({former, /*writing=*/true});
    disk::of_system().rename(former, place.folder());
    sync_folder(place.home());
}

constexpr const char* superseded_name = "superseded";

void require_not_superseded(const fs::path& state) {
    const auto by = superseded_by(state);
    if (!by) return;
    throw locked_error(fmt::format(
        "{}: {} took the place of this state, so it is not written any more; go on with that one, "
        "or, if that is given up, remove this file",
        (state / superseded_name).string(), *by));
}

} // namespace

state_opening::state_opening(fs::path state, const open_options& options)
    : state_(std::move(state)), options_(options), place_(state_) {}

disk& state_opening::checkpoint_disk() const noexcept {
    return options_.checkpoint_disk ? *options_.checkpoint_disk : disk::of_system();
}

void state_opening::discard_unsettled() const noexcept {
    try {
        if (lock_) segment_place::discard_unsettled(state_);
    } catch (const std::exception&) { // the next opening retries
    }
}

void state_opening::carry_out(const opening_plan& plan, process_lock& turns) {
    remove_tree(state_ / "segment.old"); // a restore that was killed left them
    remove_tree(state_ / "segment.new");
    if (plan.does == opening_way::restore) {
        const bool stays = options_.memory_folder.empty() && !place_.is_in_memory();
        restore(plan.why, stays ? target{{}, stays_there} : place_for_new(), turns);
    }
    if (plan.does == opening_way::attach && moves_to_) move(*moves_to_, turns);
    if (plan.does == opening_way::create) {
        turns.replaced_segment();
        create_files();
    }
}

/// Checks the options for a new state, before creating anything.
void state_opening::check_options() const {
    if (options_.window_bytes == 0 || options_.window_bytes % address_space::alignment != 0)
        throw usage_error(state_.string() + ": window_bytes must be a multiple of " +
                          std::to_string(address_space::alignment) + ", not " +
                          std::to_string(options_.window_bytes));
    if (options_.windows < mapped_segment::first_type_window || options_.windows > UINT32_MAX)
        throw usage_error(state_.string() + ": windows must be at least " +
                          std::to_string(mapped_segment::first_type_window) +
                          " and some for each type, not " + std::to_string(options_.windows));
}

/// Checks the owner and modes of the folder before trusting its content.
void state_opening::check_state_folder() const {
    std::optional<gid_t> wanted;
    if (!options_.readers_group.empty() && writable())
        wanted = group_called(options_.readers_group);
    if (!fs::exists(fs::symlink_status(state_))) return;
    const private_folder found(state_, writable());
    if (fs::exists(fs::symlink_status(folder()))) found.require_same_owner({folder(), writable()});
    if (fs::exists(fs::symlink_status(checkpoint_folder()))) {
        const private_folder copies(checkpoint_folder(), writable());
        found.require_same_owner(copies);
        for (const std::string& name : names_in(checkpoint_folder())) // opened much later
            (void)copies.open(name, file_use::read);
    }
    if (!wanted || found.readers() == wanted) return;
    const std::string all =
        quoted(state_) + (place_.is_in_memory() ? " " + quoted(place_.home()) : "");
    const fs::path slots = state_ / "readers"; // members of the group write to it
    throw access_error(
        state_.string() + ": was not made for the group " + options_.readers_group +
        "; open it without naming one, or let that group in while no process uses the state: `" +
        fmt::format("chgrp -R {} -- {} && chmod -R g=rX -- {}", *wanted, all, all) +
        (fs::exists(slots) ? " && chmod g=rw -- " + quoted(slots) : "") + "`");
}

void state_opening::make_state_folder() const {
    const fs::path parent = (fs::absolute(state_) / "").parent_path().parent_path();
    make_folders(parent);
    std::optional<gid_t> readers;
    if (!options_.readers_group.empty()) readers = group_called(options_.readers_group);
    const bool is_new = !fs::exists(state_);
    private_folder::make(state_, readers);
    if (is_new) sync_folder(parent);
}

opening_facts state_opening::facts() const {
    return opening_facts::read(state_, place_, checkpoint_disk(), writable());
}

/// Throws unless the segment can be mapped as it is: closed, or written by a live writer.
void state_opening::require_usable(const opening_facts& found,
                                   const std::function<bool()>& is_closed) const {
    constexpr const char* then = "Open the state for writing once, which ";
    const opening_plan plan = opening_plan::of(found);
    if (plan.does == opening_way::create || plan.code == opening_plan::no_state)
        throw no_state_at(state_);
    const bool is_in_between = // a writer is taking it over at this moment
        plan.condition == segment_condition::copied_while_open && !writable() && has_writer();
    if (is_in_between) return;
    if (plan.does == opening_way::refuse) plan.refuse();
    if (plan.does == opening_way::restore)
        throw unclean_error(state_.string() + ": " + plan.why + ". " + then +
                            "restores its last checkpoint, then read it");
    if (!found.former.empty())
        throw unclean_error(state_.string() + ": its segment is set aside as " +
                            found.former.string() +
                            ", because the process that replaced it was killed. " + then +
                            "puts it back, then read it");
    const bool is_left = plan.does == opening_way::roll_back && !writable();
    if (!is_left || options_.allow_unclean || has_writer()) return;
    if (is_closed && is_closed()) return; // meanwhile
    throw unclean_error(state_.string() + ": the last writer died. " + then +
                        "rolls it back to the last completed block, then read it");
}

void state_opening::find_for_reading() const {
    const auto look = [&] {
        opening_facts found = facts();
        found.has_lock = true; // only a writer needs the lock file
        require_usable(found);
    };
    try {
        look();
    } catch (const io_error&) {
        look(); // the segment was replaced at that moment
    }
    check_state_folder();
}

/// Refuses a foreign folder before writing to it; everything else is checked under the lock.
opening_plan state_opening::lock_and_plan() {
    using way = opening_way;
    if (!fs::exists(folder())) check_options();
    const opening_facts before = facts();
    const opening_plan foreseen = opening_plan::of(before);
    const bool has_header = fs::exists(folder() / "header");
    if (foreseen.does == way::refuse && (!before.has_lock || !has_header)) foreseen.refuse();
    check_state_folder();
    make_state_folder();
    lock_.emplace(state_ / "lock", !has_header);
    require_not_superseded(state_);
    place_ = segment_place(state_); // another writer may have moved it
    segment_place::discard_unsettled(state_);
    if (place_.why_foreign().empty()) {
        put_back_former(state_, place_);
        place_.confirm();
        place_.renew();
    }
    opening_plan plan = opening_plan::of(facts());
    if (plan.does == way::refuse) plan.refuse();
    if (plan.does == way::attach) moves_to_ = better_place();
    const bool stays = (plan.does == way::attach && !moves_to_) || plan.does == way::roll_back;
    if (stays) require_persistent(place_);
    return plan;
}

/// Early, since opening may fail for the very reason that the advice names.
void state_opening::give_advice(const opening_plan& plan) const noexcept {
    try {
        doctor::subject of{state_,
                           folder(),
                           false,
                           options_.window_bytes,
                           options_.windows,
                           options_.durability != durability::process};
        of.expected_bytes = options_.expected_bytes;
        of.is_made = plan.does == opening_way::create || plan.does == opening_way::restore ||
                     moves_to_.has_value();
        if (of.is_made) {
            of.segment = (moves_to_ ? *moves_to_ : place_for_new()).memory;
            if (of.segment.empty()) of.segment = state_;
        } else if (const auto found = detail::header_in(folder())) {
            of.window_bytes = found->window_bytes;
            of.windows = found->windows;
        }
        doctor::tell(of);
    } catch (const std::exception&) { // no advice; opening reports the error
    }
}

/// Makes an empty, closed segment under another name and renames it when it is complete.
void state_opening::create_files() {
    const target to = place_for_new();
    segment_place next = segment_place::prepare(state_, to.memory);
    require_persistent(next);
    const fs::path fresh = next.home() / "segment.new";
    remove_tree(fresh);
    private_folder::make_within(fresh);
    try {
        put_in_place(std::move(next), fill_folder(fresh));
        log_place(to.why);
    } catch (...) {
        try_to_remove_tree(fresh); // what failed is reported
        throw;
    }
}

/// Returns the identity of the new state.
std::array<std::byte, 16> state_opening::fill_folder(const fs::path& fresh) {
    catalogue().write(fresh);
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
    std::memcpy(header.identity.data(), identity.begin(), identity.size());
    header.clean = 1;
    header.synced = 1;
    write_header(fresh, header);
    result_.how = opening::way::created;
    return header.identity;
}

namespace {

/// The log's words for readers are those of the checkpoint, and its records may be newer. Nobody
/// begins a snapshot until a writer has published a block's end again.
void forget_block_end(const fs::path& fresh) {
    constexpr std::uint64_t at = sizeof(window_header) + sizeof(log_words) +
                                 offsetof(snapshot_words, end) + offsetof(block_end, position);
    const log_position none = 0;
    const fs::path file = fresh / "undo_log";
    write_at(open_private(file, file_use::write), file, at, std::as_bytes(std::span(&none, 1)));
}

} // namespace

/// Requires that the checkpoint is of that generation, if one is given.
void state_opening::restore(const std::string& why, const target& to, process_lock& turns,
                            std::optional<std::uint64_t> generation) {
    result_.why = why;
    spdlog::info("{}: {}; restoring the last checkpoint", state_.string(), result_.why);
    segment_place next = segment_place::prepare(state_, to.memory);
    require_persistent(next);
    const fs::path fresh = next.home() / "segment.new";
    const checkpoint::restored done =
        checkpoint::restore(checkpoint_disk(), checkpoint_folder(), fresh, options_.restoring);
    segment_header header = fresh_header(done.from.window_bytes, done.from.windows);
    require_same_identity(done.from.state, fresh);
    header.identity = done.from.state;
    const std::string boot = boot_id();
    std::memcpy(header.boot, boot.data(), boot.size());
    write_header(fresh, header);
    forget_block_end(fresh);
    if (!done.unusable.empty()) { // before a new checkpoint can build upon it
        checkpoint_disk().rename(done.unusable, done.unusable.string() + ".damaged");
        checkpoint_disk().sync_folder(checkpoint_folder());
    }
    if (generation && done.from.generation != *generation)
        throw damaged_error(checkpoint_folder().string() +
                            ": the newest checkpoint is damaged: " + done.damage);
    turns.replaced_segment(); // readers of the previous segment must notice
    put_in_place(std::move(next), done.from.state);
    log_place(to.why);
    result_.how = opening::way::restored;
    result_.generation = done.from.generation;
    result_.blocks = done.blocks;
    if (!done.end_of_blocks.empty()) {
        result_.why += "; blocks after revision " + std::to_string(done.revision) +
                       (done.lost_blocks ? " are lost, though they had been synced: "
                                         : " are not restored: ") +
                       done.end_of_blocks;
        if (done.lost_blocks)
            spdlog::error("{}: the redo log is damaged: blocks after revision {} are lost, though "
                          "they had been synced; replay them ({})",
                          state_.string(), done.revision, done.end_of_blocks);
        else
            spdlog::info("{}: the redo log ends within a block, which had not been synced ({})",
                         state_.string(), done.end_of_blocks);
    }
    if (!done.damage.empty()) {
        result_.why +=
            "; another checkpoint, which may have been newer, is damaged: " + done.damage;
        spdlog::warn("{}: a checkpoint, which may have been the newest, is damaged: {}",
                     state_.string(), done.damage);
    }
    spdlog::info("{}: restored checkpoint {} of revision {} and {} blocks after it, {} MiB in "
                 "{:.1f} s",
                 state_.string(), done.from.generation, done.from.revision, done.blocks,
                 done.bytes >> 20, done.seconds);
}

/// Requires that the existing segment, if its header can be read, and the checkpoint have the same
/// identity.
void state_opening::require_same_identity(const std::array<std::byte, 16>& of_checkpoint,
                                          const fs::path& fresh) const {
    if (!place_.why_foreign().empty() || !fs::exists(folder() / "header")) return;
    const auto found = detail::header_in(folder());
    if (!found || found->identity == of_checkpoint) return;
    remove_tree(fresh);
    throw usage_error(checkpoint_folder().string() +
                      ": holds the checkpoint of another state than " + folder().string() +
                      "; put the folder of this state in its place, or move it away");
}

/// In the folder that was asked for, else where it was, else in memory if it fits.
state_opening::target state_opening::place_for_new() const {
    const std::string& asked = options_.memory_folder;
    if (asked == in_state_folder) return {{}, "memory_folder is none"};
    if (!asked.empty()) return {asked, "memory_folder names it"};
    if (options_.durability == durability::process) return {{}, doctor::without_checkpoints};
    if (place_.is_in_memory() && fs::is_directory(place_.home().parent_path())) {
        const fs::path before = place_.home().parent_path();
        return place_.is_lost_with_the_machine() ? place_that_fits(before)
                                                 : target{before, stays_there};
    }
    const doctor::preference preferred = doctor::preferred_place(state_);
    if (!preferred.why_not.empty()) return {{}, preferred.why_not};
    return place_that_fits(preferred.memory);
}

state_opening::target state_opening::place_that_fits(const fs::path& memory) const {
    try {
        if (::access(memory.c_str(), W_OK | X_OK) != 0)
            return {{}, memory.string() + " cannot be written: " + std::strerror(errno)};
        doctor::subject of{state_, memory};
        of.is_made = true;
        of.expected_bytes = options_.expected_bytes;
        const std::string against = doctor::why_not_in_memory(doctor::facts_of(of));
        if (against.empty()) return {memory, "there is room"};
        return {{}, against};
    } catch (const fs::filesystem_error& e) {
        return {{}, e.what()};
    }
}

/// Where a closed segment should be instead: where it was asked for, or, if nobody said where and
/// the memory has no more room for it, in the state folder.
std::optional<state_opening::target> state_opening::better_place() const {
    if (!place_.why_foreign().empty()) return std::nullopt;
    const fs::path now = place_.is_in_memory() ? place_.home().parent_path() : fs::path();
    if (const std::string& asked = options_.memory_folder; !asked.empty()) {
        std::error_code missing;
        const fs::path wanted =
            asked == in_state_folder ? fs::path() : fs::weakly_canonical(asked, missing);
        if (missing || wanted == now) return std::nullopt;
        return target{wanted, "it was asked for"};
    }
    if (!place_.is_in_memory() || !place_.is_lost_with_the_machine()) return std::nullopt;
    try {
        const std::string against = doctor::why_not_in_memory(doctor::facts_of({state_, folder()}));
        if (!against.empty()) return target{{}, against};
    } catch (const fs::filesystem_error&) { // it stays, and opening reports what is wrong
    }
    return std::nullopt;
}

/// Moves a closed segment by restoring the checkpoint of its closing. Whatever is in the way, it
/// stays where it is, whole.
void state_opening::move(const target& to, process_lock& turns) {
    const fs::path from = place_.home();
    const fs::path name = to.memory.empty() ? state_ : to.memory;
    const std::string why =
        fmt::format("its segment moves from {} to {}: {}", from.string(), name.string(), to.why);
    const opening before = result_;
    try {
        const auto header = detail::header_in(folder());
        const checkpoint::published all(checkpoint_disk(), checkpoint_folder());
        const bool is_there = header && header->generation != 0 && all.newest() &&
                              all.newest()->generation == header->generation;
        if (!is_there)
            throw usage_error("there is no checkpoint of its last closing, which makes one");
        restore(why, {to.memory, {}}, turns, header->generation);
    } catch (const error& e) {
        if (place_.home() != from || segment_place(state_).home() != from) throw; // it has moved
        result_ = before;
        segment_place::discard_unsettled(state_);
        try_to_remove_tree(state_ / "segment.new");
        require_persistent(place_, e.what());
        spdlog::warn("{}: {}; it stays where it is: {}", state_.string(), why, e.what());
    }
}

void state_opening::log_place(const std::string& why) const {
    if (why.empty()) return;
    spdlog::info("{}: its segment is in {}: {}", state_.string(),
                 place_.is_in_memory() ? place_.home().string() : "the state folder", why);
    if (!place_.is_in_memory()) return;
    std::uint64_t bytes = 0;
    for (const segment_place::orphan& one : segment_place::orphans(place_.home().parent_path()))
        bytes += one.bytes;
    if (bytes != 0)
        spdlog::warn("{}: beside it are {} MiB of segments that no state has: chainbase-inspect "
                     "doctor {} names them",
                     state_.string(), bytes >> 20, quoted(state_));
}

/// `why_not_moved`: why it could not move to where it would be.
void state_opening::require_persistent(const segment_place& place,
                                       const std::string& why_not_moved) const {
    if (!place.is_in_memory() || options_.durability != durability::process ||
        !place.is_lost_with_the_machine())
        return;
    throw usage_error(state_.string() + ": a segment in " + place.home().parent_path().string() +
                      " is lost when the machine stops, even after it was closed" +
                      (why_not_moved.empty() ? "" : ", and it cannot move: " + why_not_moved) +
                      "; the memory folder \"none\" moves it to the disk when it was closed with "
                      "checkpoints (durability::checkpoint)");
}

/// Makes the complete segment in `next` the state's. The previous one is removed only after the new
/// one is in its place; a foreign one stays.
void state_opening::put_in_place(segment_place next, const std::array<std::byte, 16>& identity) {
    const fs::path old = next.home() / "segment.old";
    remove_tree(old);
    if (place_.is_in_memory() && !next.is_in_memory()) set_aside(next.folder());
    if (fs::exists(next.folder())) disk::of_system().rename(next.folder(), old);
    next.settle(identity);
    remove_tree(old);
    const segment_place before = std::exchange(place_, std::move(next));
    segment_place::discard_unsettled(state_); // what it replaced
    if (before.home() == place_.home()) return;
    if (!before.why_foreign().empty())
        spdlog::warn("{}: {}; it was left as it is; remove it when it is not needed any more",
                     state_.string(), before.why_foreign());
    else
        remove_tree(before.is_in_memory() ? before.home() : before.folder());
}

void supersede(const fs::path& state, const std::string& by) {
    replace_file(state / superseded_name, by + "\n");
}

std::optional<std::string> superseded_by(const fs::path& state) {
    if (!fs::exists(state / superseded_name)) return std::nullopt;
    std::string by = read_file(state / superseded_name);
    while (!by.empty() && by.back() == '\n')
        by.pop_back();
    return by;
}

} // namespace chainbase

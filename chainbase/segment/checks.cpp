#include <chainbase/folder.hpp>
#include <chainbase/lock/process_lock.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_parts.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/private_folder.hpp>
#include <undo/undo_log.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

/// The part of class segment that looks at what is there, before anything of it is used.
namespace chainbase {

namespace fs = std::filesystem;
using detail::first_type_window;
using detail::is_set_aside;

namespace {

/// Requires the writer's lock.
void put_back_former(const fs::path& state, const segment_place& place) {
    if (!is_set_aside(place)) return;
    const fs::path former = detail::former_segment(place);
    private_folder(state, /*writing=*/true).require_same_owner({former, /*writing=*/true});
    fs::rename(former, place.folder());
    sync_folder(place.home());
}

// Of a state that was not closed: what its root blocks count as used must be in its files, since a
// store beyond a file's end kills. What requires that throws damaged_error.

void require_length(const window& file, std::uint64_t used) {
    if (used <= file.bytes()) return;
    throw damaged_error(file.file() + ": truncated to " + std::to_string(file.bytes()) +
                        " of at least " + std::to_string(used) +
                        " bytes; restore the folder from a copy, or replay into a new one");
}

/// Of objects and buffers; page runs count their pages in the same word.
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
}

} // namespace

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
        for (const std::string& name : names_in(checkpoint_folder())) // opened much later
            (void)copies.open(name, file_use::read);
    }
    if (!wanted || found.readers() == wanted) return;
    const std::string all =
        quoted(state_) + (place_.is_in_memory() ? " " + quoted(place_.home()) : "");
    const fs::path slots = state_ / "readers"; // which members write
    throw access_error(
        state_.string() + ": was not made for the group " + options_.readers_group +
        "; open it without naming one, or let that group in while no process uses the state: `" +
        fmt::format("chgrp -R {} -- {} && chmod -R g=rX -- {}", *wanted, all, all) +
        (fs::exists(slots) ? " && chmod g=rw -- " + quoted(slots) : "") + "`");
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

opening_facts segment::facts() const {
    return opening_facts::read(state_, place_, checkpoint_disk(), writable());
}

/// That the segment can be mapped as it is; one whose writer died, beside another one or rolled
/// back.
void segment::require_usable(const opening_facts& found) const {
    constexpr const char* then = "Open the state for writing once, which ";
    const opening_plan plan = opening_plan::of(found);
    if (plan.does == opening_way::create || plan.code == opening_plan::no_state)
        throw format_error(state_.string() + ": no chainbase state is there; check the path");
    const bool is_in_between = // its writer takes it over at this moment
        plan.condition == segment_condition::copied_while_open && !writable() && has_writer();
    if (is_in_between) return;
    if (plan.does == opening_way::refuse) plan.refuse();
    if (plan.does == opening_way::restore)
        throw unclean_error(state_.string() + ": " + plan.why + ". " + then +
                            "restores its last checkpoint, then read it");
    if (!found.former.empty())
        throw unclean_error(state_.string() + ": its segment is set aside as " +
                            found.former.string() + ", since who replaced it was killed. " + then +
                            "puts it back, then read it");
    const bool is_left = plan.does == opening_way::roll_back && !writable();
    if (!is_left || options_.allow_unclean || has_writer()) return;
    if (header_.at && is_closed()) return; // meanwhile
    throw unclean_error(state_.string() + ": the last writer died. " + then +
                        "rolls it back to the last completed block, then read it");
}

void segment::find_for_reading() const {
    const auto look = [&] {
        opening_facts found = facts();
        found.has_lock = true; // only a writer needs it
        require_usable(found);
    };
    try {
        look();
    } catch (const io_error&) {
        look(); // another segment took this one's place at that moment
    }
    check_state_folder();
}

/// A folder that is not ours is refused before anything is put into it; all else is judged under
/// the lock.
opening_plan segment::lock_and_plan() {
    using way = opening_way;
    const opening_facts before = facts();
    const opening_plan foreseen = opening_plan::of(before);
    const bool has_header = fs::exists(folder() / "header");
    if (foreseen.does == way::refuse && (!before.has_lock || !has_header)) foreseen.refuse();
    check_state_folder();
    make_state_folder();
    lock_.emplace(state_ / "lock", !has_header);
    place_ = segment_place(state_); // another writer may have moved it meanwhile
    segment_place::discard_unsettled(state_);
    if (place_.why_foreign().empty()) {
        put_back_former(state_, place_);
        place_.confirm();
        place_.renew();
        require_promise(place_);
    }
    opening_plan plan = opening_plan::of(facts());
    if (plan.does == way::refuse) plan.refuse();
    return plan;
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
    require_log(*log_file_);
    buffers_->each_window([](const window& file) { require_slots(file); });
    for (const auto& type : types_)
        require_type(*type);
}

} // namespace chainbase

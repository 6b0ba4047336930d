#include <chainbase/locks/process_lock.hpp>
#include <chainbase/locks/reader_file.hpp>
#include <chainbase/offline/check/checkpoint_check.hpp>
#include <chainbase/offline/check/mapped_state.hpp>
#include <chainbase/offline/check/report.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/ofd_lock.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/btree.hpp>
#include <pool_allocator/disk_pages.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <undo/log_check.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

/// The files of a state as the file system has them, before they are read.
namespace chainbase::check {

/// Whether opening would use the file called `name` in the report. If it is not a regular file,
/// that is a finding; if its owner or mode is wrong, it is refused. A missing file is left to the
/// caller.
[[nodiscard]] bool check_file(const std::filesystem::path& file, const std::string& name,
                              part_report& to, group_access group = group_access::read);

namespace fs = std::filesystem;

namespace {

void check_readers(const fs::path& state, part_report& to) {
    const fs::path file = state / "readers";
    if (!fs::exists(fs::symlink_status(file))) return;
    if (!check_file(file, "readers", to, group_access::write)) return;
    try {
        if (!reader_file::is_unfinished(file)) (void)reader_file(file, reader_file::mode::look);
    } catch (const damaged_error& e) {
        to.add(located(state, "readers", e.what()));
    } catch (const format_error& e) {
        to.add(located(state, "readers", e.what()));
    }
}

void check_folder(const fs::path& state, const std::string& name, part_report& to) {
    const fs::path folder = state / name;
    if (!fs::exists(fs::symlink_status(folder))) return;
    if (!fs::is_directory(fs::symlink_status(folder)))
        return to.add({name, {}, "is not a folder; put the folder of the state in its place"});
    try {
        const private_folder copies(folder, /*writing=*/false);
        private_folder(state, /*writing=*/false).require_same_owner(copies);
    } catch (const access_error& e) {
        to.refused.emplace_back(e.what());
        return;
    }
    for (const std::string& one : names_in(folder))
        (void)check_file(folder / one, name + "/" + one, to);
}

} // namespace

bool check_file(const fs::path& file, const std::string& name, part_report& to,
                group_access group) {
    const fs::file_status found = fs::symlink_status(file);
    if (!fs::exists(found)) return true;
    if (!fs::is_regular_file(found)) {
        to.add({name,
                {},
                std::string(fs::is_symlink(found) ? "a symbolic link" : "not a file") +
                    ", which opening refuses; put the file of the state in its place"});
        return false;
    }
    try {
        (void)private_folder(file.parent_path(), /*writing=*/false)
            .open(file.filename().string(), file_use::read, group);
        return true;
    } catch (const access_error& e) {
        to.refused.emplace_back(e.what());
    } catch (const io_error& e) { // this user may not read it
        to.refused.emplace_back(e.what());
    }
    return false;
}

/// Checks the other files that opening checks: `readers`, and those in `checkpoint`.
static void check_files_beside(const fs::path& state, part_report& to) {
    check_readers(state, to);
    check_folder(state, "checkpoint", to);
}

void check_files(const fs::path& state, const fs::path& segment, part_report& to) {
    (void)check_file(state / "lock", "lock", to);
    check_files_beside(state, to);
    if (segment.empty() || !fs::exists(segment)) return;
    for (const std::string& name : names_in(segment))
        (void)check_file(segment / name, "segment/" + name, to);
}

namespace {

/// Whether the name leads to a file of the segment's folder.
bool is_plain(const std::string& name) {
    return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
           name.find('\0') == std::string::npos;
}

/// Entries of which every state has some.
constexpr const char* names_of_a_state[] = {"lock", "segment", "segment.json", "checkpoint"};

} // namespace

mapped_state::mapped_state(fs::path state, part_report& to) : state_(std::move(state)) {
    {
        part_report& header = to.enter("header");
        const stopwatch timed(header);
        if (!find_segment(header) || !read_header(header)) return;
        open_windows(header);
        check_roots(header);
    }
    const bool has_sums = plan_.condition == segment_condition::closed && header_.generation != 0;
    if (has_sums) read_all();
    check_log(to.enter("undo_log"));
    if (has_sums) check_pages(to.enter("pages"));
}

/// Returns whether there is a segment to check.
bool mapped_state::find_segment(part_report& to) {
    const bool is_any = std::any_of(
        std::begin(names_of_a_state), std::end(names_of_a_state),
        [&](const char* name) { return fs::exists(fs::symlink_status(state_ / name)); });
    if (!is_any) throw no_state_at(state_);
    (void)private_folder(state_, /*writing=*/false); // else its content cannot be trusted
    keep_writers_out(to);
    const bool is_readable = find_place(to);
    check_files_beside(state_, to);
    if (plan_.code == "not_on_storage")
        to.add({"segment/header", offsetof(segment_header, synced), plan_.message});
    return is_readable && !is_lost(plan_.condition);
}

/// Finds where the segment is and what opening does about it. Returns whether its header could be
/// read.
bool mapped_state::find_place(part_report& to) {
    try {
        const segment_place place(state_);
        home_ = place.home();
        const fs::path header = place.folder() / "header";
        if (place.why_foreign().empty() && !check_file(header, "segment/header", to)) return false;
        facts_ = opening_facts::read(state_, place, disk::of_system(), /*writing=*/false);
    } catch (const damaged_error& e) {
        to.add(located(state_, "segment.json", e.what()));
        return false;
    }
    const bool has_lock = std::exchange(facts_.has_lock, true); // a finding of its own
    plan_ = opening_plan::of(facts_);
    const bool is_none = plan_.code == opening_plan::no_state ||
                         (facts_.header_is == opening_facts::header_file::missing && !has_lock);
    if (plan_.does == opening_way::create || (is_none && !is_lost(plan_.condition)))
        throw no_state_at(state_);
    if (!has_lock && plan_.condition != segment_condition::segment_lost)
        to.add({"lock", {}, "missing; an empty file of this name is needed to open the state"});
    if (facts_.former.empty()) return true;
    to.add({"segment",
            {},
            "is set aside as " + facts_.former.string() +
                ", because the process that replaced it was killed; open the state for writing "
                "once, which puts it back"});
    plan_ = {};
    return false;
}

/// A shared lock, which needs no write permission: it excludes writers only.
void mapped_state::keep_writers_out(part_report& to) {
    const fs::path file = state_ / "lock";
    if (!fs::exists(fs::symlink_status(file))) return;
    const bool is_usable = check_file(file, "lock", to);
    lock_.emplace(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    if (lock_->number() < 0 && is_usable) throw_file_error(file, "open");
    if (!is_usable || ofd_lock::take(lock_->number(), ofd_lock::kind::shared)) return;
    if (!ofd_lock::is_taken()) throw_file_error(file, "lock");
    std::string holder = read_file(file);
    while (!holder.empty() && holder.back() == '\n')
        holder.pop_back();
    throw locked_error(state_.string() + ": process " + holder +
                       " has it open for writing, and a changing state cannot be checked; stop "
                       "that process first, or check the checkpoints (--checkpoint)");
}

/// Returns whether the rest can be read, and would be by opening.
bool mapped_state::read_header(part_report& to) {
    const auto damaged = [&](std::uint64_t offset, const std::string& what) {
        to.add({"segment/header", offset, what});
        to.not_checked.emplace_back("everything else: the size of the windows is not known");
        return false;
    };
    using header_file = opening_facts::header_file;
    if (facts_.header_is == header_file::missing) {
        to.add({"segment/header",
                {},
                "missing; restore it from a copy, or, if there is a checkpoint to go back to, move "
                "the segment's folder away"});
        return false;
    }
    if (facts_.header_bytes < segment::header_bytes)
        return damaged(facts_.header_bytes, "truncated to less than a page");
    if (facts_.header_is != header_file::whole)
        return damaged(0, "the magic or the checksum is wrong");
    header_ = *facts_.header;
    if (header_.format != segment_header::current_format) plan_.refuse();
    if (header_.clean > 1)
        to.add({"segment/header", offsetof(segment_header, clean), "neither closed nor open"});
    return true;
}

void mapped_state::open_windows(part_report& to) {
    addresses_ = std::make_unique<address_space>(header_.window_bytes, header_.windows);
    is_taken_.assign(addresses_->windows(), false);
    const auto refuse = [&](const error& why) {
        to.add(located(home_, "segment/catalogue.json", why.what()));
        is_complete_ = false;
    };
    try {
        const fs::path folder = home_ / "segment";
        if (check_file(catalogue::file_in(folder), "segment/catalogue.json", to)) {
            catalogue_ = catalogue::read(folder);
            knows_types_ = true;
        } else {
            is_complete_ = false;
        }
    } catch (const damaged_error& e) {
        refuse(e);
    } catch (const io_error& e) {
        refuse(e);
    }
    log_file_ = open_window(undo_log::window_index, "undo_log", undo_log::geometry, to);
    for (std::size_t c = 0; c < size_classes::class_count; ++c)
        buffers_[c] = open_window(static_cast<std::uint32_t>(size_classes::first_window + c),
                                  fmt::format("buffers.{}", size_classes::bytes_of_class(c)),
                                  size_classes::geometry(c), to);
    buffers_.back() = open_window(size_classes::first_window + size_classes::class_count,
                                  "buffers.runs", page_runs::geometry, to);
    for (const catalogue::entry& entry : catalogue_.entries())
        open_type(entry, to);
}

void mapped_state::open_type(const catalogue::entry& entry, part_report& to) {
    const type_schema& schema = entry.schema;
    const std::vector<std::string> files = schema.files();
    type opened{&schema, nullptr, nullptr, {}};
    std::uint32_t number = 0;
    const auto open = [&](const window::geometry& shape) {
        const std::uint32_t index = entry.first_window + number;
        return open_window(index, files[number++], shape, to);
    };
    opened.objects = open({window_kind::objects, schema.node_bytes, window_header::page_bytes});
    opened.ids = open(id_table::geometry);
    while (number < files.size() - schema.btrees())
        opened.tables.push_back(open(hash_table::geometry));
    while (number < files.size())
        opened.btrees.push_back(open(btree::geometry));
    types_.push_back(std::move(opened));
}

/// Each place is used once: mapping another file there would unmap the first one.
std::unique_ptr<window> mapped_state::open_window(std::uint32_t index, const std::string& name,
                                                  const window::geometry& shape, part_report& to) {
    const auto refuse = [&](const std::string& file, const std::string& what) {
        to.add(located(home_, file, what));
        is_complete_ = false;
        return nullptr;
    };
    if (!is_plain(name))
        return refuse("segment/catalogue.json", "\"" + name + "\" is not a plain file name");
    if (index >= is_taken_.size() || is_taken_[index])
        return refuse("segment/catalogue.json",
                      fmt::format("{}: window {} is taken or not among the {}", name, index,
                                  is_taken_.size()));
    const fs::path file = home_ / "segment" / name;
    if (!check_file(file, "segment/" + name, to)) {
        is_complete_ = false;
        return nullptr;
    }
    try {
        auto opened = std::make_unique<window>(
            window::open({addresses_.get(), index}, file, shape, window::mode::private_copy));
        is_taken_[index] = true;
        if (opened->bytes() <= opened->limit()) return opened;
        return refuse("segment/" + name, "longer than its window");
    } catch (const error& e) {
        return refuse("segment/" + name, e.what());
    }
}

template <typename Visitor>
void mapped_state::each_window(Visitor&& visit) const {
    visit(*log_file_);
    for (const auto& file : buffers_)
        visit(*file);
    for (const type& each : types_) {
        visit(*each.objects);
        visit(*each.ids);
        for (const auto& table : each.tables)
            visit(*table);
        for (const auto& tree : each.btrees)
            visit(*tree);
    }
}

void mapped_state::read_all() const noexcept {
    if (is_mapped() && is_complete_)
        each_window([](const window& file) { disk_pages::read_all(file.base()); });
}

void mapped_state::check_roots(part_report& to) const {
    to.count("types", types_.size());
    if (!is_complete_ || header_.clean != 1 || header_.roots == 0) return;
    detail::roots_checksum found;
    each_window([&](const window& file) { found.add(file); });
    if (found.value() != header_.roots)
        to.add({"segment/header", offsetof(segment_header, roots),
                "a root block or the length of a file differs from what closing left"});
}

/// Of a closed state: against the checkpoint that closing made. Only the log's differ, of which it
/// has what can be undone.
void mapped_state::check_pages(part_report& to) {
    const stopwatch timed(to);
    try {
        page_check pages(disk::of_system(), state_, header_, to);
        for (const auto& file : buffers_)
            (void)pages.compare(file.get());
        for (type& each : types_) {
            each.altered = pages.compare(each.objects.get());
            (void)pages.compare(each.ids.get());
            for (const auto& table : each.tables)
                (void)pages.compare(table.get());
            for (const auto& tree : each.btrees)
                (void)pages.compare(tree.get());
        }
        to.count("pages", pages.pages());
    } catch (const error& e) {
        to.not_checked.emplace_back(e.what());
    }
}

/// Rolls back as opening does, in the private copy.
void mapped_state::check_log(part_report& to) {
    const stopwatch timed(to);
    if (!is_complete_) {
        to.not_checked.emplace_back("a file that the log may write to is missing; unfinished "
                                    "changes were not rolled back");
        return;
    }
    try {
        log_check(*addresses_, *log_file_).require_sound();
        const undo_log rolled_back(*addresses_, *log_file_, false);
        log_check whole(*addresses_, *log_file_);
        log_ = {true,
                rolled_back.revision(),
                rolled_back.committed_revision(),
                rolled_back.sessions(),
                rolled_back.recovered().operation,
                rolled_back.recovered().sessions};
        to.count("sessions", log_.sessions);
        to.count("bytes", rolled_back.bytes_in_use());
        whole.require_sound();
        to.count("records", whole.require_all_records());
    } catch (const damaged_error& e) {
        to.add({part_report::file_of(*log_file_), {}, e.what()});
    }
}

} // namespace chainbase::check

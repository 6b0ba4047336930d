#include <chainbase/check/state_files.hpp>
#include <chainbase/reader_file.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace chainbase::check {

namespace fs = std::filesystem;

namespace {

/// One that a kill left in the making holds zeros, and is finished by who comes next.
bool is_unfinished(const fs::path& readers) {
    const file_descriptor opened = open_private(readers, file_use::read, group_access::write);
    char begin[sizeof(reader_header)] = {};
    if (::pread(opened.number(), begin, sizeof begin, 0) < 0) throw_file_error(readers, "read");
    return std::all_of(std::begin(begin), std::end(begin), [](char c) { return c == 0; });
}

void check_readers(const fs::path& state, part_report& to) {
    const fs::path file = state / "readers";
    if (!fs::exists(fs::symlink_status(file))) return;
    if (!check_file(file, "readers", to, group_access::write)) return;
    try {
        if (!is_unfinished(file)) (void)reader_file(file, reader_file::mode::look);
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
        return to.add({name, {}, "is no folder; put the state's own in its place"});
    try {
        const private_folder copies(folder, /*writing=*/false);
        private_folder(state, /*writing=*/false).require_same_owner(copies);
    } catch (const access_error& e) {
        to.refused.emplace_back(e.what());
        return;
    }
    for (const auto& entry : fs::directory_iterator(folder))
        (void)check_file(entry.path(), name + "/" + entry.path().filename().string(), to);
}

} // namespace

bool check_file(const fs::path& file, const std::string& name, part_report& to,
                group_access group) {
    const fs::file_status found = fs::symlink_status(file);
    if (!fs::exists(found)) return true;
    if (!fs::is_regular_file(found)) {
        to.add({name,
                {},
                std::string(fs::is_symlink(found) ? "a symbolic link" : "no file") +
                    ", which opening refuses; put the file of the state in its place"});
        return false;
    }
    try {
        (void)private_folder(file.parent_path(), /*writing=*/false)
            .open(file.filename().string(), file_use::read, group);
        return true;
    } catch (const access_error& e) {
        to.refused.emplace_back(e.what());
    } catch (const io_error& e) { // who asks may not read it
        to.refused.emplace_back(e.what());
    }
    return false;
}

void check_files_beside(const fs::path& state, part_report& to) {
    check_readers(state, to);
    check_folder(state, "checkpoint", to);
}

} // namespace chainbase::check

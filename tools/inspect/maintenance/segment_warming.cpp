#include <chainbase/doctor.hpp>
#include <tools/inspect/maintenance/resident_file.hpp>
#include <tools/inspect/maintenance/segment_warming.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/interruption.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

using extent = resident_file::extent;

/// A part in pieces of a slice.
std::vector<extent> slices_of(const std::vector<extent>& parts) {
    std::vector<extent> slices;
    for (const extent& part : parts)
        for (std::uint64_t at = 0; at < part.bytes; at += resident_file::slice_bytes)
            slices.push_back(
                {part.begin + at, std::min(resident_file::slice_bytes, part.bytes - at)});
    return slices;
}

std::string why_not(int number, const std::string& file_system) {
    switch (number) {
    case EINVAL:
        return "the kernel makes no huge pages of files that " + file_system +
               " holds, or not of those that somebody writes";
    case ENOMEM:
        return "no free huge page was to be had; memory is full or in pieces";
    case EBUSY:
        return "the control group has no memory left for one";
    case EAGAIN:
        return "pages were in use at the moment; call again";
    case EPERM:
    case EACCES:
        return "the kernel's settings forbid it "
               "(/sys/kernel/mm/transparent_hugepage/shmem_enabled)";
    default:
        return std::strerror(number);
    }
}

class warming {
public:
    warming(warming_report& report, const warming_progress& progress)
        : report_(report), progress_(progress) {}

    /// Looks at a file; one that is gone by then is left out.
    void look(const fs::path& path);
    void fetch_all();

private:
    void fetch(warmed_file& one);
    void fetch_data(resident_file& file, const warmed_file& one);
    void make_huge(resident_file& file, warmed_file& one);

    warming_report& report_;
    const warming_progress& progress_;
    std::uint64_t all_ = 0; ///< bytes of data
    std::uint64_t done_ = 0;
};

void warming::look(const fs::path& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return;
    const resident_file file(path);
    warmed_file one;
    one.name = path.filename();
    one.bytes = file.bytes();
    one.resident_before = file.resident();
    for (const extent& part : file.data()) {
        one.data_bytes += part.bytes;
        one.to_fetch += part.bytes - file.resident(part).value_or(0);
    }
    if (report_.how.huge_pages)
        one.huge_candidates = file.huge_candidates().size() * report_.huge_page_bytes;
    all_ += one.data_bytes;
    report_.files.push_back(std::move(one));
}

/// Holes are looked for file by file again: a writer may have punched more since.
void warming::fetch_data(resident_file& file, const warmed_file& one) {
    const std::vector<extent> slices = slices_of(file.data());
    const std::uint64_t before = done_;
    for (std::size_t each = 0; each < slices.size(); ++each) {
        if (catch_interruption::noted()) return;
        if (each + 1 < slices.size()) file.announce(slices[each + 1]);
        file.fetch(slices[each]);
        done_ += slices[each].bytes;
        if (progress_) progress_(std::min(done_, all_), all_);
    }
    done_ = before + one.data_bytes;
}

void warming::make_huge(resident_file& file, warmed_file& one) {
    int last = 0;
    for (const extent& page : file.huge_candidates()) {
        if (catch_interruption::noted()) return;
        int problem = file.collapse(page);
        if (problem == EAGAIN) problem = file.collapse(page); // somebody used it just then
        if (problem != 0) last = problem;
    }
    one.huge = file.huge();
    if (*one.huge >= one.huge_candidates) return;
    one.why_not_huge = last != 0 ? why_not(last, report_.file_system)
                                 : "they were split again at once; memory is short";
}

void warming::fetch(warmed_file& one) {
    resident_file file(report_.segment / one.name, one.bytes);
    if (report_.how.huge_pages) file.advise_huge();
    fetch_data(file, one);
    if (report_.how.huge_pages) make_huge(file, one);
    one.resident_after = file.resident();
}

void warming::fetch_all() {
    for (warmed_file& one : report_.files) {
        if (catch_interruption::noted()) break;
        if (fs::exists(report_.segment / one.name)) fetch(one);
    }
    report_.is_interrupted = catch_interruption::noted();
}

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& each : fs::directory_iterator(folder))
        files.push_back(each.path());
    std::ranges::sort(files);
    return files;
}

void add(std::optional<std::uint64_t>& to, const std::optional<std::uint64_t>& more) {
    to = to && more ? std::optional(*to + *more) : std::nullopt;
}

} // namespace

warmed_file warming_report::total() const {
    warmed_file sum;
    sum.name = "total";
    sum.resident_before = sum.resident_after = sum.huge = 0;
    for (const warmed_file& each : files) {
        sum.bytes += each.bytes;
        sum.data_bytes += each.data_bytes;
        sum.to_fetch += each.to_fetch;
        sum.huge_candidates += each.huge_candidates;
        add(sum.resident_before, each.resident_before);
        add(sum.resident_after, each.resident_after);
        add(sum.huge, each.huge);
    }
    return sum;
}

warming_report warm_segment(const fs::path& state, const warming_options& how,
                            const warming_progress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    warming_report report;
    report.state = state;
    report.segment = segment_folder(state);
    report.how = how;
    report.huge_page_bytes = resident_file::huge_page_bytes();
    report.file_system =
        doctor::facts_of(doctor::subject{state, report.segment}).segment_mount.type;
    warming work(report, progress);
    for (const fs::path& file : files_in(report.segment))
        work.look(file);
    if (!how.is_dry_run) work.fetch_all();
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

} // namespace chainbase::inspect

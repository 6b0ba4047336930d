#include <chainbase/segment/doctor.hpp>
#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <tools/inspect/maintenance/warm.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace chainbase::inspect {

namespace {

std::uint64_t page_bytes() {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

std::uint64_t rounded_up(std::uint64_t number, std::uint64_t to) {
    return (number + to - 1) / to * to;
}

int open_or_throw(const std::filesystem::path& file) {
    const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0 && (errno == EACCES || errno == EPERM))
        throw access_error(file.string() + ": this user may not read it; run the program as the "
                                           "owner of the state");
    if (opened < 0) throw_file_error(file, "open");
    return opened;
}

} // namespace

resident_file::resident_file(const std::filesystem::path& file, std::uint64_t most)
    : file_(file), descriptor_(open_or_throw(file)) {
    struct stat found{};
    if (::fstat(descriptor_.number(), &found) != 0) throw_file_error(file, "look at");
    bytes_ = std::min(static_cast<std::uint64_t>(found.st_size), most);
    if (bytes_ == 0) return;
    const std::uint64_t alignment = std::max(huge_page_bytes(), page_bytes());
    reserved_bytes_ = rounded_up(bytes_, page_bytes()) + alignment;
    void* const reserved = ::mmap(nullptr, reserved_bytes_, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw_file_error(file, "map");
    reserved_ = static_cast<std::byte*>(reserved);
    const auto address = reinterpret_cast<std::uintptr_t>(reserved);
    base_ = reserved_ + (rounded_up(address, alignment) - address);
    if (::mmap(base_, bytes_, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_.number(), 0) ==
        MAP_FAILED) {
        ::munmap(reserved_, reserved_bytes_);
        throw_file_error(file, "map");
    }
    if (!is_memory(descriptor_.number())) ::madvise(base_, bytes_, MADV_RANDOM);
}

resident_file::~resident_file() {
    if (reserved_) ::munmap(reserved_, reserved_bytes_);
}

/// Excludes data beyond the current end.
std::vector<resident_file::extent> resident_file::data() const {
    std::vector<extent> found;
    for (std::uint64_t at = 0; at < bytes_;) {
        const auto from = ::lseek(descriptor_.number(), static_cast<off_t>(at), SEEK_DATA);
        if (from < 0 && errno == ENXIO) break;
        const auto to = from < 0 ? from : ::lseek(descriptor_.number(), from, SEEK_HOLE);
        if (from < 0 || to < 0) throw_file_error(file_, "look for holes in");
        const auto begin = static_cast<std::uint64_t>(from);
        at = std::min(static_cast<std::uint64_t>(to), bytes_);
        if (begin < at) found.push_back({begin, at - begin});
    }
    return found;
}

// --- what is in memory ---------------------------------------------------------------------------

cached_bytes resident_file::cached(extent part) const {
    return cached_part_of(descriptor_.number(), file_, part);
}

void resident_file::fetch(extent part) {
    const std::uint64_t begin = part.begin / page_bytes() * page_bytes();
    const std::uint64_t length = rounded_up(part.begin + part.bytes, page_bytes()) - begin;
    if (::madvise(base_ + begin, length, MADV_POPULATE_READ) == 0) return;
    read_slowly(part); // a kernel before 5.14, a truncated file, or a failing disk
}

void resident_file::read_slowly(extent part) {
    std::vector<std::byte> into(std::uint64_t{1} << 20);
    const std::uint64_t end = part.begin + part.bytes;
    for (std::uint64_t at = part.begin; at < end;) {
        const ssize_t got =
            ::pread(descriptor_.number(), into.data(),
                    std::min<std::uint64_t>(into.size(), end - at), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw_file_error(file_, "read");
        if (got == 0) return;
        at += static_cast<std::uint64_t>(got);
    }
}

void resident_file::announce(extent part) noexcept {
    constexpr std::uint64_t call = std::uint64_t{128} << 10; // the kernel reads no more in one
    for (std::uint64_t at = 0; at < part.bytes; at += call)
        ::posix_fadvise(descriptor_.number(), static_cast<off_t>(part.begin + at),
                        static_cast<off_t>(std::min(call, part.bytes - at)), POSIX_FADV_WILLNEED);
}

// --- huge pages ----------------------------------------------------------------------------------

std::uint64_t resident_file::huge_page_bytes() {
    static const std::uint64_t bytes = [] {
        std::ifstream from("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        std::string digits;
        std::getline(from, digits);
        return decimal_in(digits).value_or(0);
    }();
    return bytes;
}

std::vector<resident_file::extent> resident_file::huge_candidates() const {
    const std::uint64_t huge = huge_page_bytes();
    std::vector<extent> found;
    if (huge == 0) return found;
    for (const extent& part : data())
        for (std::uint64_t at = rounded_up(part.begin, huge); at + huge <= part.begin + part.bytes;
             at += huge)
            found.push_back({at, huge});
    return found;
}

void resident_file::advise_huge() noexcept {
    if (base_ && is_memory(descriptor_.number())) ::madvise(base_, bytes_, MADV_HUGEPAGE);
}

int resident_file::collapse(extent huge_page) noexcept {
    return ::madvise(at(huge_page), huge_page.bytes, MADV_COLLAPSE) == 0 ? 0 : errno;
}

std::uint64_t resident_file::huge() const {
    const auto pages = pages_mapped_by(::getpid(), std::filesystem::canonical(file_).parent_path());
    return pages ? pages->huge() : 0;
}

namespace fs = std::filesystem;

namespace {

using extent = resident_file::extent;

/// Splits parts into slices.
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
               " holds, or not of files that a process writes";
    case ENOMEM:
        return "no huge page is free; memory is full or fragmented";
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

    /// Examines a file; skips one that no longer exists.
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
    const cached_bytes now = file.cached();
    one.resident_before = now.resident;
    one.dirty = now.dirty;
    for (const extent& part : file.data()) {
        one.data_bytes += part.bytes;
        one.to_fetch += part.bytes - file.cached(part).resident.value_or(0);
    }
    if (report_.how.huge_pages)
        one.huge_candidates = file.huge_candidates().size() * report_.huge_page_bytes;
    all_ += one.data_bytes;
    report_.files.push_back(std::move(one));
}

/// Looks for holes again for each file: a writer may have punched more since.
void warming::fetch_data(resident_file& file, const warmed_file& one) {
    const std::vector<extent> slices = slices_of(file.data());
    const std::uint64_t before = done_;
    for (std::size_t each = 0; each < slices.size(); ++each) {
        if (catch_interruption::caught()) return;
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
        if (catch_interruption::caught()) return;
        int problem = file.collapse(page);
        if (problem == EAGAIN) problem = file.collapse(page); // the page was in use
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
    const cached_bytes now = file.cached();
    one.resident_after = now.resident;
    one.dirty = now.dirty;
}

void warming::fetch_all() {
    for (warmed_file& one : report_.files) {
        if (catch_interruption::caught()) break;
        if (fs::exists(report_.segment / one.name)) fetch(one);
    }
    report_.is_interrupted = catch_interruption::caught();
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
    sum.resident_before = sum.resident_after = sum.dirty = sum.huge = 0;
    for (const warmed_file& each : files) {
        sum.bytes += each.bytes;
        sum.data_bytes += each.data_bytes;
        sum.to_fetch += each.to_fetch;
        sum.huge_candidates += each.huge_candidates;
        add(sum.resident_before, each.resident_before);
        add(sum.resident_after, each.resident_after);
        add(sum.dirty, each.dirty);
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

// The JSON members of a file, in order; further ones are added by hand.
BOOST_DESCRIBE_STRUCT(warmed_file, (),
                      (bytes, data_bytes, resident_before, resident_after, dirty, to_fetch, huge,
                       huge_candidates))

namespace {

std::string or_unknown(const std::optional<std::uint64_t>& bytes) {
    return bytes ? bytes_in_words(*bytes) : "unknown";
}

std::vector<std::string> cells_of(const warmed_file& file, const warming_options& how) {
    std::vector<std::string> cells{file.name, bytes_in_words(file.bytes),
                                   bytes_in_words(file.data_bytes),
                                   or_unknown(file.resident_before)};
    cells.push_back(how.is_dry_run ? bytes_in_words(file.to_fetch)
                                   : or_unknown(file.resident_after));
    cells.push_back(or_unknown(file.dirty));
    if (how.huge_pages)
        cells.push_back(how.is_dry_run ? bytes_in_words(file.huge_candidates)
                                       : or_unknown(file.huge));
    return cells;
}

std::string table_of(const warming_report& found) {
    std::vector<std::string> titles{"file",
                                    "bytes",
                                    "without holes",
                                    "in memory before",
                                    found.how.is_dry_run ? "to be read" : "in memory after",
                                    "dirty"};
    if (found.how.huge_pages)
        titles.push_back(found.how.is_dry_run ? "fit for huge pages" : "in huge pages");
    text_table table(std::move(titles));
    for (const warmed_file& file : found.files)
        table.add(cells_of(file, found.how));
    table.rule();
    table.add(cells_of(found.total(), found.how));
    return table.text();
}

/// Each reason once, with its number of files.
std::string reasons_of(const warming_report& found) {
    std::map<std::string, std::size_t> files;
    for (const warmed_file& file : found.files)
        if (!file.why_not_huge.empty()) ++files[file.why_not_huge];
    std::string text;
    for (const auto& [why, count] : files)
        text += fmt::format("not all in huge pages, {} file(s): {}\n", count, why);
    return text;
}

std::string outcome_of(const warming_report& found) {
    const warmed_file total = found.total();
    std::string text;
    if (!total.resident_before)
        text += "the kernel reports what is in memory only to the owner of the files, or to "
                "users who may write them\n";
    if (found.how.is_dry_run || found.is_interrupted) return text;
    text += fmt::format("{} in {}\n", bytes_in_words(total.data_bytes),
                        duration_in_words(found.seconds));
    // Resident holes make this a lower bound.
    if (total.resident_after && *total.resident_after < total.data_bytes)
        text += fmt::format("{} are still not in memory: there is too little of it, or a "
                            "writer changed the state meanwhile\n",
                            bytes_in_words(total.data_bytes - *total.resident_after));
    return text;
}

} // namespace

std::string as_text(const warming_report& found) {
    std::string text =
        fmt::format("segment    {}, {}\n\n", found.segment.string(), found.file_system) +
        table_of(found) + "\n" + outcome_of(found);
    if (found.how.huge_pages && found.huge_page_bytes == 0)
        text += "no huge pages: this kernel has none (/sys/kernel/mm/transparent_hugepage)\n";
    return text + reasons_of(found);
}

std::string as_json(const warming_report& found) {
    json files = json::array();
    for (const warmed_file& file : found.files) {
        json one = {{"file", file.name}};
        one.update(json_of(file));
        one["why_not_huge"] = text_or_null(file.why_not_huge);
        files.push_back(std::move(one));
    }
    return lines_of({{"schema_version", 1},
                     {"state", found.state.string()},
                     {"segment", found.segment.string()},
                     {"file_system", found.file_system},
                     {"dry_run", found.how.is_dry_run},
                     {"interrupted", found.is_interrupted},
                     {"huge_page_bytes", found.huge_page_bytes},
                     {"seconds", found.seconds},
                     {"files", std::move(files)},
                     {"total", json_of(found.total())}});
}

namespace {

struct warm_call : state_call, warming_options {};

warming_report warmed(const warm_call& asked) {
    progress shown("warming");
    return warm_segment(asked.state, asked,
                        [&shown](std::uint64_t done, std::uint64_t all) { shown.show(done, all); });
}

exit_code run_warm(const warm_call& asked) {
    const catch_interruption signals;
    const warming_report found = warmed(asked);
    print_or_throw(asked.json ? as_json(found) : as_text(found));
    if (!found.is_interrupted) return exit_code::done;
    spdlog::warn("{}: interrupted; the same call goes on with what is not in memory yet",
                 asked.state);
    return exit_code::interrupted;
}

} // namespace

void declare_warm(command& verb) {
    const auto asked = declare_look<warm_call>(verb, run_warm);
    verb.add_flag("--hugepages", asked->huge_pages,
                  "Use huge pages, where the kernel and the file system can");
    verb.add_flag("--dry-run", asked->is_dry_run, "Only show what is in memory");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of a table");
}

} // namespace chainbase::inspect

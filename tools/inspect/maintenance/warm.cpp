#include <pool_allocator/error.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/maintenance/warm.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

std::string or_unknown(const std::optional<std::uint64_t>& bytes) {
    return bytes ? grouped(*bytes) : "unknown";
}

std::vector<std::string> cells_of(const warmed_file& file, const warming_options& how) {
    std::vector<std::string> cells{file.name, grouped(file.bytes), grouped(file.data_bytes),
                                   or_unknown(file.resident_before)};
    cells.push_back(how.is_dry_run ? grouped(file.to_fetch) : or_unknown(file.resident_after));
    if (how.huge_pages)
        cells.push_back(how.is_dry_run ? grouped(file.huge_candidates) : or_unknown(file.huge));
    return cells;
}

std::string table_of(const warming_report& found) {
    std::vector<std::string> titles{"file", "bytes", "without holes", "in memory before",
                                    found.how.is_dry_run ? "to be read" : "in memory after"};
    if (found.how.huge_pages)
        titles.push_back(found.how.is_dry_run ? "fit for huge pages" : "in huge pages");
    text_table table(std::move(titles));
    for (const warmed_file& file : found.files)
        table.add(cells_of(file, found.how));
    table.rule();
    table.add(cells_of(found.total(), found.how));
    return table.text();
}

/// Each reason once, with how many files it is of.
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
        text += "the kernel tells what is in memory only to who owns the files or may write them\n";
    if (found.how.is_dry_run || found.is_interrupted) return text;
    text += fmt::format("{} in {:.1f} s\n", bytes_in_words(total.data_bytes), found.seconds);
    // Where holes are in memory, too, this is a lower bound.
    if (total.resident_after && *total.resident_after < total.data_bytes)
        text += fmt::format("{} bytes are not in memory after all: there is too little of it, or a "
                            "writer went on meanwhile\n",
                            grouped(total.data_bytes - *total.resident_after));
    return text;
}

template <typename Number>
json or_null(const std::optional<Number>& value) {
    return value ? json(*value) : json(nullptr);
}

json to_json(const warmed_file& file) {
    return {{"bytes", file.bytes},
            {"data_bytes", file.data_bytes},
            {"resident_before", or_null(file.resident_before)},
            {"resident_after", or_null(file.resident_after)},
            {"to_fetch", file.to_fetch},
            {"huge", or_null(file.huge)},
            {"huge_candidates", file.huge_candidates}};
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
        one.update(to_json(file));
        one["why_not_huge"] = file.why_not_huge.empty() ? json(nullptr) : json(file.why_not_huge);
        files.push_back(std::move(one));
    }
    const json all = {{"schema_version", 1},
                      {"state", found.state.string()},
                      {"segment", found.segment.string()},
                      {"file_system", found.file_system},
                      {"dry_run", found.how.is_dry_run},
                      {"interrupted", found.is_interrupted},
                      {"huge_page_bytes", found.huge_page_bytes},
                      {"seconds", found.seconds},
                      {"files", std::move(files)},
                      {"total", to_json(found.total())}};
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

struct warm_call : warming_options {
    std::string state;
    bool json = false;
};

/// A line on stderr that is drawn over, ten times a second, and taken away at the end; nothing
/// where stderr is no terminal.
class progress_line {
public:
    ~progress_line() {
        if (is_drawn_) std::fputs("\r\x1b[K", stderr);
    }
    void show(std::uint64_t done, std::uint64_t all) {
        const auto now = std::chrono::steady_clock::now();
        if (!is_terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
        const double seconds = std::chrono::duration<double>(now - begin_).count();
        const double rate = static_cast<double>(done) / seconds;
        fmt::print(stderr, "\r{} of {}, {} a second\x1b[K", bytes_in_words(done),
                   bytes_in_words(all), bytes_in_words(static_cast<std::uint64_t>(rate)));
        std::fflush(stderr);
        last_ = now;
        is_drawn_ = true;
    }

private:
    const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool is_drawn_ = false;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_ = begin_;
};

warming_report warmed(const warm_call& asked) {
    progress_line line;
    return warm_segment(asked.state, asked,
                        [&line](std::uint64_t done, std::uint64_t all) { line.show(done, all); });
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
    const auto asked = std::make_shared<warm_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_flag("--hugepages", asked->huge_pages,
                  "Make huge pages of it, where kernel and file system can");
    verb.add_flag("--dry-run", asked->is_dry_run, "Tell what is in memory and do nothing");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of a table");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_warm(*asked); }); });
}

} // namespace chainbase::inspect

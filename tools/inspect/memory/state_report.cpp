#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/rows/beside_writer.hpp>

#include <boost/describe.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace fs = std::filesystem;

BOOST_DESCRIBE_ENUM(condition, closed, writer_running, writer_died)

namespace {

std::uint64_t length_of(const fs::path& file) {
    std::error_code failure;
    const std::uint64_t length = fs::file_size(file, failure);
    if (failure)
        throw io_error("cannot examine " + file.string() + ": " + failure.message() +
                       "; check the path");
    return length;
}

/// Compares counters with the files, and collects the differences as text.
class auditor {
public:
    explicit auditor(std::vector<std::string>& findings) : findings_(findings) {}

    measured check(const std::string& name, usage bytes, const std::vector<fs::path>& files) {
        measured result{bytes, 0, {}};
        for (const fs::path& file : files)
            result.file_bytes += length_of(file);
        expect(name + ": bytes of its files", result.file_bytes, bytes.total);
        check_parts(name, result.bytes);
        return result;
    }

    /// `reserved` slots are neither live nor free. A sample within an operation may have counted a
    /// slot that is not taken yet: the figure is then 0 instead of 2^32.
    void check_slots(const std::string& name, usage& bytes, std::uint64_t reserved,
                     std::uint64_t capacity) {
        expect(name + ": slots",
               reserved + bytes.slots_live + bytes.slots_free + bytes.slots_never_used, capacity);
        for (std::uint64_t* slots : {&bytes.slots_live, &bytes.slots_free, &bytes.slots_never_used})
            if (*slots > capacity) *slots = 0;
    }

private:
    void check_parts(const std::string& name, const usage& bytes) {
        expect(name + ": header + links + values + slack + punched",
               bytes.header + bytes.links + bytes.values + bytes.slack + bytes.punched,
               bytes.total);
        for (const std::uint64_t part : {bytes.header, bytes.links, bytes.values, bytes.slack})
            if (part > bytes.total) expect(name + ": a part of it", part, bytes.total);
    }

    void expect(const std::string& what, std::uint64_t found, std::uint64_t wanted) {
        if (found == wanted) return;
        findings_.push_back(what + " are " + std::to_string(found) + ", not " +
                            std::to_string(wanted));
    }

    std::vector<std::string>& findings_;
};

std::vector<fs::path> files_of(const std::vector<std::unique_ptr<window>>& windows) {
    std::vector<fs::path> files;
    for (const auto& each : windows)
        files.push_back(each->file());
    return files;
}

std::vector<fs::path> key_files(const type_windows& windows) {
    std::vector<fs::path> files = files_of(windows.tables);
    std::ranges::move(files_of(windows.btrees), std::back_inserter(files));
    return files;
}

type_report report_type(auditor& audit, const type_windows& windows, const type_schema& schema,
                        const type_statistics& found) {
    type_report type;
    type.name = found.name;
    type.objects = found.objects;
    type.next_id = found.next_id;
    type.value_bytes = schema.value_bytes;
    type.link_bytes = schema.link_bytes;
    type.node_bytes = schema.node_bytes;
    for (const type_schema::key& key : schema.keys)
        type.keys.push_back(key.name + " (" + key.kind + ")");
    type.nodes = audit.check(found.name + ".objects", found.nodes, {windows.objects->file()});
    const std::uint64_t capacity =
        (found.nodes.total - window_header::page_bytes) / schema.node_bytes;
    audit.check_slots(found.name + ".objects", type.nodes.bytes, 1, capacity);
    type.ids = audit.check(found.name + ".ids", found.ids, {windows.ids->file()});
    type.tables = audit.check(found.name + ".*.hash, *.btree", found.tables, key_files(windows));
    return type;
}

buffer_report report_buffers(auditor& audit, const fs::path& folder, std::size_t number,
                             const buffer_statistics& found) {
    const bool runs = number == size_classes::class_count;
    buffer_report buffers;
    buffers.name = found.name;
    buffers.slot_bytes = runs ? page_runs::page_bytes : size_classes::bytes_of_class(number);
    buffers.memory = audit.check(found.name, found.bytes, {folder / found.name});
    // Slot 0 of a class stays unused, and page 0 of the runs is the header.
    const std::uint64_t slots = runs ? found.bytes.total : found.bytes.total - found.bytes.header;
    const std::uint64_t capacity = slots / buffers.slot_bytes;
    audit.check_slots(found.name, buffers.memory.bytes, std::min<std::uint64_t>(1, capacity),
                      capacity);
    return buffers;
}

void describe_header(state_report& report, const segment& from) {
    const segment_header& header = from.header();
    report.format = header.format;
    report.windows = header.windows;
    report.window_bytes = header.window_bytes;
    report.boot.assign(header.boot, strnlen(header.boot, sizeof header.boot));
}

void describe_condition(state_report& report, const segment& from) {
    report.condition = condition_of(from);
    report.writer = read_file(report.state / "lock");
    while (!report.writer.empty() && report.writer.back() == '\n')
        report.writer.pop_back();
}

state_report sample(segment& from, std::chrono::milliseconds lasting) {
    state_report report;
    report.state = from.state();
    report.segment = from.folder();
    describe_header(report, from);
    const segment_statistics found = segment_statistics::read(from, lasting);
    report.revision = found.revision;
    report.irreversible_revision = found.committed_revision;
    report.sessions = found.sessions;
    report.changes = found.changes;
    auditor audit(report.discrepancies);
    usage header;
    header.header = header.total = found.header;
    report.header = audit.check("header", header, {from.folder() / "header"});
    report.log = audit.check("undo_log", found.log, {from.log_file().file()});
    for (std::size_t b = 0; b < found.buffers.size(); ++b)
        report.buffers.push_back(report_buffers(audit, from.folder(), b, found.buffers[b]));
    for (std::size_t t = 0; t < found.types.size(); ++t)
        report.types.push_back(report_type(audit, *from.windows()[t],
                                           from.types().entries()[t].schema, found.types[t]));
    const std::uint64_t all = bytes_in(from.folder());
    report.other_files = all - std::min(all, report.total().file_bytes);
    if (report.total().bytes.total != found.total)
        report.discrepancies.push_back("the parts do not sum to the segment's total of " +
                                       std::to_string(found.total) + " bytes");
    report.consistent = found.consistent && report.discrepancies.empty();
    describe_condition(report, from);
    return report;
}

state_report sample_until_consistent(segment& from, std::chrono::milliseconds lasting) {
    const patience until(lasting);
    for (bool is_alone = false;; patience::pause()) {
        state_report report = sample(from, lasting);
        if (report.consistent || is_alone || until.is_over()) return report;
        is_alone = !from.has_writer();
    }
}

/// Once the other figures are there: it does not depend on the moment of the sample.
void add_cached(state_report& to, const segment& from, cached_files& cached) {
    to.header.cached = cached.of(from.folder() / "header");
    to.log.cached = cached.of(from.log_file().file());
    for (buffer_report& each : to.buffers)
        each.memory.cached = cached.of(from.folder() / each.name);
    for (std::size_t t = 0; t < to.types.size(); ++t) {
        type_report& type = to.types[t];
        const type_windows& windows = *from.windows()[t];
        type.nodes.cached = cached.of(windows.objects->file());
        type.ids.cached = cached.of(windows.ids->file());
        for (const fs::path& file : key_files(windows))
            type.tables.cached += cached.of(file);
    }
}

} // namespace

measured& measured::operator+=(const measured& other) noexcept {
    bytes += other.bytes;
    file_bytes += other.file_bytes;
    cached += other.cached;
    return *this;
}

measured type_report::total() const noexcept {
    measured sum = nodes;
    sum += ids;
    sum += tables;
    return sum;
}

measured state_report::buffers_total() const noexcept {
    measured sum;
    for (const buffer_report& each : buffers)
        sum += each.memory;
    return sum;
}

measured state_report::types_total() const noexcept {
    measured sum;
    for (const type_report& each : types)
        sum += each.total();
    return sum;
}

measured state_report::total() const noexcept {
    measured sum = header;
    sum += log;
    sum += buffers_total();
    sum += types_total();
    return sum;
}

state_report read_state(const fs::path& state, std::chrono::milliseconds lasting) {
    cached_files cached;
    return read_state(state, lasting, cached);
}

state_report read_state(const fs::path& state, std::chrono::milliseconds lasting,
                        cached_files& cached) {
    return look_beside_writer(state, [&](segment& from) {
        state_report report = sample_until_consistent(from, lasting);
        add_cached(report, from, cached);
        return report;
    });
}

std::string to_string(condition what) {
    return boost::describe::enum_to_string(what, "unknown");
}

std::string condition_in_words(condition what, const std::string& writer) {
    const std::string process = writer.empty() ? "" : " (process " + writer + ")";
    switch (what) {
    case condition::closed:
        return "closed properly";
    case condition::writer_running:
        return "a writer is running" + process;
    case condition::writer_died:
        return "the last writer" + process + " died";
    }
    return "unknown";
}

condition condition_of(const segment& from) {
    if (from.has_writer()) return condition::writer_running;
    return from.header().clean != 0 ? condition::closed : condition::writer_died;
}

std::uint64_t bytes_in(const fs::path& folder) {
    std::uint64_t sum = 0;
    for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
        std::error_code gone; // the file was renamed meanwhile
        const std::uint64_t length = file.is_regular_file(gone) ? file.file_size(gone) : 0;
        if (!gone) sum += length;
    }
    return sum;
}

} // namespace chainbase::inspect

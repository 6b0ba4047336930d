#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/memory_metrics.hpp>
#include <tools/process_disk.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace chainbase::driver {

namespace {

namespace fs = std::filesystem;

struct segment_cache {
    cached_bytes all;
    cached_bytes log;
    cached_bytes buffers;
    std::map<std::string, cached_bytes> types;
};

void put_head(std::string& to, const std::string& metric, const char* kind, const char* help) {
    to += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric, help, kind);
}

struct figure {
    const char* name;
    const char* help;
    std::optional<std::uint64_t> cached_bytes::* of;
};

constexpr figure figures[] = {
    {"resident", "Bytes of its files that are in memory.", &cached_bytes::resident},
    {"dirty", "Bytes of its files to be written to the disk.", &cached_bytes::dirty},
    {"missing", "Bytes of its files that are not in memory.", &cached_bytes::missing},
};

/// NaN: unknown.
std::string number(const std::optional<std::uint64_t>& bytes) {
    return bytes ? std::to_string(*bytes) : "NaN";
}

void put_whole(std::string& to, const char* what, const figure& one, const cached_bytes& from) {
    const std::string metric = fmt::format("chainbase_{}_{}_bytes", what, one.name);
    put_head(to, metric, "gauge", one.help);
    to += fmt::format("{} {}\n", metric, number(from.*one.of));
}

void put_types(std::string& to, const figure& one, const segment_cache& from) {
    const std::string metric = fmt::format("chainbase_type_{}_bytes", one.name);
    put_head(to, metric, "gauge", one.help);
    for (const auto& [type, bytes] : from.types)
        to += fmt::format("{}{{type=\"{}\"}} {}\n", metric, type, number(bytes.*one.of));
}

void put_counter(std::string& to, const char* name, const char* help,
                 const std::optional<std::uint64_t>& value) {
    if (!value) return;
    const std::string metric = fmt::format("chainbase_process_{}_total", name);
    put_head(to, metric, "counter", help);
    to += fmt::format("{} {}\n", metric, *value);
}

} // namespace

memory_metrics::memory_metrics(const segment& of)
    : header_{of.folder() / "header"}, log_{of.log_file().file()} {
    of.buffers().each_window([&](const window& each) { buffers_.emplace_back(each.file()); });
    for (const auto& type : of.windows())
        type->each([&](const window& each) { types_[type->name].emplace_back(each.file()); });
}

cached_bytes memory_metrics::cached_in(const files& all) {
    cached_bytes sum;
    for (const fs::path& file : all)
        sum += cached_or_unknown(file);
    return sum;
}

/// One file that cannot be asked hides no other figure.
cached_bytes memory_metrics::cached_or_unknown(const fs::path& file) {
    try {
        return cached_.of(file);
    } catch (const error&) {
        return {{}, {}, {}, {}};
    }
}

std::string memory_metrics::text() {
    segment_cache found{cached_in(header_), cached_in(log_), cached_in(buffers_), {}};
    found.all += found.log;
    found.all += found.buffers;
    for (const auto& [type, files] : types_)
        found.all += found.types[type] = cached_in(files);
    std::string text;
    for (const figure& one : figures) {
        put_types(text, one, found);
        put_whole(text, "segment", one, found.all);
        put_whole(text, "segment_undo_log", one, found.log);
        put_whole(text, "segment_buffers", one, found.buffers);
    }
    const process_disk disk = process_disk::of(::getpid()).value_or(process_disk());
    put_counter(text, "disk_read_bytes", "Bytes read from disks.", disk.read_bytes);
    put_counter(text, "disk_written_bytes", "Bytes made dirty, to be written to disks.",
                disk.written_bytes);
    put_counter(text, "major_faults", "Accesses to pages that were not in memory.",
                disk.major_faults);
    return text;
}

} // namespace chainbase::driver

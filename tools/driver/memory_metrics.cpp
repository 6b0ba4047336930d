#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <tools/driver/memory_metrics.hpp>
#include <tools/process_disk.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace chainbase::driver {

namespace {

namespace fs = std::filesystem;

/// "account" of "account.objects", "account.ids", "account.0.hash", "account.1.btree"; empty for
/// files that belong to no type.
std::string type_of(const std::string& file) {
    const std::size_t dot = file.rfind('.');
    if (dot == std::string::npos || dot == 0) return {};
    const std::string_view ending = std::string_view(file).substr(dot + 1);
    if (ending == "objects" || ending == "ids") return file.substr(0, dot);
    const std::size_t before = file.rfind('.', dot - 1);
    const bool is_key = (ending == "hash" || ending == "btree") && before != std::string::npos;
    return is_key ? file.substr(0, before) : std::string();
}

/// One file that cannot be asked hides no other figure.
cached_bytes cached_or_unknown(const fs::path& file) {
    try {
        return cached_bytes_of(file);
    } catch (const error&) {
        return {{}, {}, {}, {}};
    }
}

struct segment_cache {
    cached_bytes all;
    cached_bytes log;
    cached_bytes buffers;
    std::map<std::string, cached_bytes> types;

    explicit segment_cache(const fs::path& folder) {
        std::error_code gone; // the other metrics are shown all the same
        for (fs::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone))
            add(at->path());
    }

private:
    void add(const fs::path& file) {
        const std::string name = file.filename();
        const cached_bytes found = cached_or_unknown(file);
        all += found;
        if (const std::string type = type_of(name); !type.empty())
            types[type] += found;
        else if (name == "undo_log")
            log += found;
        else if (name.starts_with("buffers."))
            buffers += found;
    }
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

std::string memory_metrics_text(const fs::path& segment) {
    const segment_cache found(segment);
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

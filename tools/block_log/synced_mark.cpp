#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_format.hpp>
#include <tools/block_log/block_log_index.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/synced_mark.hpp>

namespace chainbase {
namespace {

using block_log_format::mark_content;

mark_content encode(const synced_mark& mark) {
    mark_content result;
    result.magic = block_log_format::mark_magic;
    result.version = block_log_format::version;
    result.is_open = mark.is_open ? 1 : 0;
    result.header_checksum = mark.header_checksum;
    result.log_bytes = mark.log_bytes;
    result.last_checksum = mark.last_checksum;
    result.inode = mark.inode;
    result.checksum = block_log_format::own_checksum(result);
    return result;
}

/// An unreadable mark counts as missing.
std::optional<mark_content> try_read(const std::filesystem::path& path, disk* on) {
    try {
        const file source = file::open_read(path, on);
        mark_content result;
        const auto into = writable_view_of(result);
        if (source.size() != into.size() || source.read_at(0, into) < into.size()) return {};
        return result;
    } catch (const io_error&) {
        return {};
    }
}

std::string fault_of(const mark_content& content, std::uint64_t header_checksum) {
    if (content.magic != block_log_format::mark_magic) return "is not a mark";
    if (content.version.value() != block_log_format::version) return "has another format version";
    if (content.checksum.value() != block_log_format::own_checksum(content)) return "is damaged";
    if (content.header_checksum.value() != header_checksum) return "belongs to another log";
    if (content.is_open.value() > 1 ||
        content.log_bytes.value() < sizeof(block_log_format::file_header))
        return "is inconsistent";
    return {};
}

file open_or_create(const std::filesystem::path& path, disk* on) {
    if (!names_on(on).exists(path)) return file::create(path, on);
    file result = file::open_write(path, on);
    if (result.size() > sizeof(mark_content)) result.truncate(sizeof(mark_content));
    return result;
}

} // namespace

synced_mark synced_mark::of(const file& log, const block_log_index& index) {
    return {index.header_checksum(), index.log_bytes(), index.last_checksum(), log.inode(), true};
}

mark_fit fit_of(const synced_mark& mark, const file& log) {
    if (mark.log_bytes > log.size()) return mark_fit::beyond;
    if (mark.log_bytes == sizeof(block_log_format::file_header))
        return mark.last_checksum == 0 ? mark_fit::fits : mark_fit::foreign;
    const record_check last = check_record_before(log, mark.log_bytes);
    if (!last.record) return mark_fit::broken;
    return last.record->checksum() == mark.last_checksum ? mark_fit::fits : mark_fit::foreign;
}

bool proves_synced(const std::optional<synced_mark>& mark, const file& log, std::uint64_t offset) {
    if (!mark || mark->log_bytes <= offset) return false;
    const mark_fit fit = fit_of(*mark, log);
    return fit == mark_fit::fits || fit == mark_fit::broken;
}

bool permits_unsynced_tail(const synced_mark& mark, const file& log) {
    return mark.is_open && mark.inode == log.inode() && fit_of(mark, log) == mark_fit::fits;
}

mark_check load_mark(const std::filesystem::path& path, std::uint64_t header_checksum, disk* on) {
    if (!names_on(on).exists(path)) return {{}, "is missing"};
    const std::optional<mark_content> content = try_read(path, on);
    if (!content) return {{}, "cannot be read"};
    if (std::string fault = fault_of(*content, header_checksum); !fault.empty())
        return {{}, std::move(fault)};
    return {synced_mark{header_checksum, content->log_bytes.value(), content->last_checksum.value(),
                        content->inode.value(), content->is_open.value() == 1},
            {}};
}

std::filesystem::path synced_path(const std::filesystem::path& log) {
    std::filesystem::path result = log;
    result += ".synced";
    return result;
}

synced_mark_file synced_mark_file::place(const file& log, const synced_mark& mark) {
    synced_mark_file result;
    result.file_ = open_or_create(synced_path(log.path()), log.on());
    result.set(mark);
    result.sync();
    result.file_.sync_name();
    return result;
}

void synced_mark_file::set(const synced_mark& mark) {
    const mark_content content = encode(mark);
    file_.write_at(0, view_of(content));
}

} // namespace chainbase

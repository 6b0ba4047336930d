#include <archive/open_archive.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archive_report.hpp>

namespace chainbase::inspect {

/// Tables are read from end to end, if at all; no cache is worth its memory.
std::unique_ptr<archive::store> open_archive(const std::filesystem::path& state) {
    archive::store_options options;
    options.cache_bytes = std::size_t{1} << 20;
    options.read_only = true;
    return archive::open_store(state / "archive", options);
}

std::uint64_t archive_report::rows() const noexcept {
    std::uint64_t sum = 0;
    for (const table& each : tables)
        sum += each.rows;
    return sum;
}

std::optional<archive_report> read_archive(const std::filesystem::path& state) {
    std::error_code unreadable;
    if (!std::filesystem::exists(state / "archive", unreadable)) return std::nullopt;
    archive_report report;
    report.folder = state / "archive";
    try {
        const auto kind = archive::kind_of(report.folder).value_or(archive::store_kind::rocksdb);
        report.store = archive::to_string(kind);
        if (kind != archive::store_kind::rocksdb) return report;
        const auto store = open_archive(state);
        std::uint32_t number = 0;
        for (const archive::table_description& table : store->tables())
            report.tables.push_back(
                {table.name, table.key_names, store->count(archive::table_id{number++})});
    } catch (const error& problem) {
        report.tables.clear();
        report.refusal = problem.what();
    }
    return report;
}

} // namespace chainbase::inspect

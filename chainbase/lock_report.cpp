#include <chainbase/detail/lock_protocol.hpp>
#include <chainbase/files.hpp>
#include <chainbase/lock_report.hpp>
#include <chainbase/reader_file.hpp>
#include <pool_allocator/error.hpp>

#include <atomic>

namespace chainbase {

namespace {

std::uint32_t value_of(std::uint32_t& shared) noexcept {
    return std::atomic_ref(shared).load(std::memory_order_relaxed);
}

lock_report::of_writer report_writer(const std::filesystem::path& state, reader_header& header) {
    lock_report::of_writer writer;
    writer.process = value_of(header.writer);
    writer.is_alive = file_lock::is_held(state / "lock");
    if (value_of(header.phase) == 0) return writer;
    const bool is_inside = value_of(header.inside) != 0;
    writer.what = is_inside ? lock_report::doing::inside : lock_report::doing::waiting;
    writer.seconds = reader_file::age(header.since);
    return writer;
}

/// A reader that comes says so before it looks whether somebody writes; for that moment it counts
/// as one that is in.
lock_report::doing doing_of(detail::turn word) noexcept {
    switch (word) {
    case detail::turn::reading:
    case detail::turn::granted:
        return lock_report::doing::inside;
    case detail::turn::waiting:
        return lock_report::doing::waiting;
    default:
        return lock_report::doing::idle;
    }
}

lock_report::of_reader report_reader(const reader_file& file, std::uint32_t n) {
    reader_slot& slot = file.slot(n);
    lock_report::of_reader reader;
    reader.slot = n;
    reader.process = value_of(slot.process);
    reader.thread = value_of(slot.thread);
    reader.name = reader_file::name_in(slot);
    reader.is_alive = file.is_held(n);
    reader.what = doing_of(static_cast<detail::turn>(value_of(slot.word)));
    if (reader.what != lock_report::doing::idle) reader.seconds = reader_file::age(slot.since);
    return reader;
}

} // namespace

lock_report lock_report::read(const std::filesystem::path& state) {
    if (!std::filesystem::exists(state / "lock"))
        throw format_error(state.string() + ": no chainbase state is there; check the path");
    lock_report report;
    if (!std::filesystem::exists(state / "readers")) return report;
    const reader_file file(state / "readers", reader_file::mode::look);
    report.writer = report_writer(state, file.header());
    for (std::uint32_t n = 0, end = file.slots(); n < end; ++n) {
        const of_reader reader = report_reader(file, n);
        if (reader.process != 0) report.readers.push_back(reader);
    }
    return report;
}

} // namespace chainbase

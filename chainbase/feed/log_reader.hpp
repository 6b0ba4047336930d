#pragma once

#include <chainbase/feed/entry.hpp>
#include <chainbase/object/schema.hpp>
#include <undo/fwd.hpp>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>

namespace chainbase {
class snapshot;
}

namespace chainbase::feed {

/// Tells what each block of a state changed, from its log, beside its writer: in the same process
/// or another one, without a lock. README.md says why no entry is wrong.
///
/// A block that was undone before this read it leaves no entry.
///
/// Thread-safety: one thread at a time. A fork does not have it.
class log_reader {
public:
    /// Where it begins: at the end of the newest block, or of the newest one that cannot be undone.
    enum class start { newest, irreversible };

    /// Throws what opening the state for reading throws, busy_error, too_old_error, and
    /// access_error, io_error, limit_error when it cannot be announced to the writer.
    explicit log_reader(const std::filesystem::path& state, start at = start::newest);
    /// Begins at the block of a snapshot, whose objects are what the first entry changes. Requires
    /// that no other thread reads it meanwhile. Throws the same.
    explicit log_reader(const snapshot& at);
    ~log_reader();
    log_reader(const log_reader&) = delete;
    log_reader& operator=(const log_reader&) = delete;

    /// The types of the state, in the order of their numbers; more may come with next(), and
    /// schemas keep their addresses.
    [[nodiscard]] const std::deque<type_schema>& types() const noexcept;
    /// Of the block to whose end all entries lead that were read.
    [[nodiscard]] revision_number revision() const noexcept;
    /// Its entry::serial. Requires that this began at the newest block that cannot be undone.
    [[nodiscard]] std::uint32_t serial() const noexcept;
    /// Whether next() has an entry without looking into the log.
    [[nodiscard]] bool has_read() const noexcept;

    /// The next entry. Returns false if nothing has happened since the last one. Throws
    /// too_old_error when what happened cannot be told any more: more was changed than the log
    /// keeps for readers, the state was opened again, compacted, or changed outside of sessions, or
    /// went back behind where this began; then begin anew, with a snapshot. Throws busy_error,
    /// damaged_error, io_error; then nothing was lost, and it can be called again.
    [[nodiscard]] bool next(entry& into);

    /// entry::serial of the block that a snapshot shows; nothing if it cannot be told any more.
    /// Requires that no other thread reads the snapshot meanwhile. Throws as the constructors.
    [[nodiscard]] static std::optional<std::uint32_t> serial_of(const snapshot& of);

private:
    class reading;
    std::unique_ptr<reading> reading_;
};

} // namespace chainbase::feed

#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/described_record.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/offline/rows/type_rows.hpp>
#include <tools/python/columns.hpp>
#include <tools/python/opened.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::python {

/// Values of the leading parts of a key, in an object that has nothing else.
class key_values final : public rows::buffer_source {
public:
    explicit key_values(const type_schema& schema) : image_(schema.value_bytes) {}

    [[nodiscard]] std::byte* object() noexcept { return image_.data(); }
    [[nodiscard]] const std::byte* object() const noexcept { return image_.data(); }
    /// Writes a handle to `content`, of which it keeps a copy, to `at`.
    void store(std::string_view content, std::byte* at);
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;

    std::size_t parts = 0; ///< that are set

private:
    std::vector<std::byte> image_;
    std::vector<std::string> contents_; ///< a handle is an index from 1
};

/// Records of objects of a type (archive/record), one behind the other.
class record_batch {
public:
    void add(const archive::described_record& of, const std::byte* object,
             const rows::buffer_source& buffers) {
        of.append(object, buffers, bytes_);
        ends_.push_back(bytes_.size());
    }
    void add(archive::bytes_view record) {
        archive::append(bytes_, record);
        ends_.push_back(bytes_.size());
    }
    [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
    /// Valid until add() or clear().
    [[nodiscard]] archive::bytes_view operator[](std::size_t number) const noexcept {
        const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
        return archive::bytes_view(bytes_).subspan(begin, ends_[number] - begin);
    }
    void clear() noexcept {
        bytes_.clear();
        ends_.clear();
    }

private:
    archive::byte_buffer bytes_;
    std::vector<std::size_t> ends_;
};

/// Rows of a range, read ahead in turns: a few first, then more, up to about 1 MiB.
class row_stream;

/// Rows in columns, read in turns, all of one block.
class column_stream;

/// The objects of a type of a state that is open.
///
/// All calls may be made by several threads, without the GIL. They throw usage_error when the state
/// was closed, state_changed when its block cannot be read any more, and what reading throws.
class table : public std::enable_shared_from_this<table> {
public:
    /// Throws usage_error listing the types when there is none of that name.
    table(std::shared_ptr<opened> in, const std::string& type);

    [[nodiscard]] const type_schema& schema() const noexcept { return schema_; }
    [[nodiscard]] const std::shared_ptr<opened>& in() const noexcept { return in_; }
    /// Throws usage_error, which lists those there are.
    [[nodiscard]] const type_schema::key& key_called(const std::string& name) const;
    /// Throws usage_error when a key has fewer parts than are given, or has not all of them.
    void require_whole(const type_schema::key& key, std::size_t parts) const;

    /// Objects in memory.
    [[nodiscard]] std::uint64_t count() const;
    /// The object, in memory or, if asked, in the archive, as a record.
    [[nodiscard]] std::optional<archive::byte_buffer> get(std::uint32_t id, bool archive) const;
    /// The objects with this whole key, at most `limit`; the archive is asked for what memory does
    /// not have.
    [[nodiscard]] record_batch find(const type_schema::key& key, const key_values& values,
                                    std::size_t limit, bool archive) const;

    /// A range of a key. `key`: null for the id.
    struct range {
        const type_schema::key* key = nullptr;
        std::optional<key_values> first;
        std::optional<key_values> last;
        std::uint32_t first_id = 0;
        std::uint32_t last_id = UINT32_MAX;
        bool is_reverse = false;
        bool archive = false;
    };
    /// Throws usage_error for a key without an order.
    [[nodiscard]] std::unique_ptr<row_stream> rows(range asked) const;
    /// All objects, by id. `archive`: also those that are only there.
    [[nodiscard]] std::unique_ptr<column_stream> columns(const std::vector<std::string>& names,
                                                         column::form as, bool archive) const;

private:
    std::shared_ptr<opened> in_;
    const type_schema* read_as_; ///< what turns refer to, as long as it is not closed
    const type_schema schema_;   ///< the same
    archive::described_record record_;
};

class row_stream {
public:
    virtual ~row_stream() = default;
    /// Reads the next rows. Returns false behind the last. For one thread at a time.
    [[nodiscard]] virtual bool next(record_batch& into) = 0;
};

class column_stream {
public:
    virtual ~column_stream() = default;
    /// The next columns, of at most so many rows and about 64 MiB; without rows behind the last.
    /// For one thread at a time.
    [[nodiscard]] virtual std::vector<column> next(std::size_t most_rows) = 0;
    /// Empty ones.
    [[nodiscard]] virtual std::vector<column> empty() const = 0;
    [[nodiscard]] virtual const std::string& type() const noexcept = 0;
};

} // namespace chainbase::python

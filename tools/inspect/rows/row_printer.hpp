#pragma once

#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Prints rows of one type to stdout as they come: as a table, in parts, or as JSON lines, of which
/// the first one says what they are, and the last one that they are all:
///
///     {"schema_version": 1, "state", "type", "key", "revision", "rolled_back"}
///     {row}...                          with the archive: {"row": {row}, "archived": false}...
///     {"schema_version": 1, "rows": 2, "more": false}
class row_printer {
public:
    enum class form { table, json_lines };

    /// Takes a turn.
    row_printer(row_source& from, const std::string& type, const std::string& key, form how);
    /// For rows of memory and of the archive, each of which says where it is.
    void say_where() { says_where_ = true; }

    /// In a turn: keeps an object.
    void add(const std::byte* object, const rows::buffer_source& buffers);
    /// Keeps a row, and where it is.
    void add(const merged_rows::row& one);
    /// After a turn: prints what is kept, when it is enough to be worth it. Throws io_error.
    void print_some();
    /// Prints the rest. `more`: there are rows that were not asked for. Throws io_error.
    void finish(bool more);

    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

private:
    void print();

    form how_;
    std::unique_ptr<row_format> format_;
    std::string text_; ///< JSON lines
    std::vector<std::vector<std::string>> cells_;
    std::uint64_t rows_ = 0;
    bool says_where_ = false;
};

} // namespace chainbase::inspect

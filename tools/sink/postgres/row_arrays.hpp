#pragma once

#include <tools/sink/postgres/binary.hpp>
#include <tools/sink/postgres/connection.hpp>
#include <tools/sink/table/table.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::sink::postgres {

/// Rows as parameters of a statement, an array for each column, and the SQL that makes rows of them
/// again. unnest() takes no arrays of arrays: lists of numbers of one width are pieces of an array
/// of the elements of all rows, with their bounds; other lists are texts, as json is.
///
/// One thread at a time; the table outlives it.
class row_arrays {
public:
    /// `numbers`: names of more columns, bigint, that may be null.
    explicit row_arrays(const table& of, const std::vector<std::string>& numbers = {});

    void clear();
    void add(std::span<const value> row, std::span<const std::optional<std::int64_t>> numbers = {});

    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] bool is_full() const noexcept {
        return rows_ >= most_rows || bytes() >= most_bytes;
    }
    /// Valid until the next change.
    [[nodiscard]] std::vector<parameter> parameters();
    /// "SELECT columns FROM unnest(...) AS r(...)": the same for all that are made so.
    [[nodiscard]] const std::string& select() const noexcept { return select_; }

    static constexpr std::size_t most_rows = 20'000;
    static constexpr std::size_t most_bytes = std::size_t{8} << 20;

private:
    /// How a column comes to its parameters.
    enum class way : std::uint8_t { itself, text, pieces };
    static way way_of(const column& of);

    [[nodiscard]] std::size_t bytes() const noexcept;
    void make_select(const std::vector<std::string>& numbers);

    const table& of_;
    std::vector<array_parameter> arrays_;
    std::vector<std::size_t> places_; ///< of each column its first array
    std::string select_;
    std::size_t rows_ = 0;
};

} // namespace chainbase::sink::postgres

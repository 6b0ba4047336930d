#pragma once

#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/serve/row_request.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// A page that is filled row by row, up to as many as were asked for, or about 1 MiB. Where the
/// archive was asked for, too, each row says where it is. One thread at a time.
class row_page {
public:
    /// What it tells besides rows.
    struct facts {
        std::int64_t revision = 0;
        std::vector<std::string> names; ///< of the fields
        bool is_archive_searched = false;
        bool has_moved = false; ///< rows were handed over meanwhile
    };

    /// `wanted` outlives it.
    explicit row_page(const row_request& wanted) : wanted_(wanted) {}

    /// To be asked for each row that there is: whether it is to be added. If not, there are more.
    [[nodiscard]] bool takes_another();
    /// Adds the row of object `id`: JSON, for `rows`.
    void add(std::uint32_t id, std::string_view row, bool is_archived = false);
    /// The same for `cells`.
    void add(std::uint32_t id, std::vector<std::string> cells, bool is_archived = false);

    /// The answer, as rows_page() has it.
    [[nodiscard]] std::string text(const row_source& from, facts told) const;

private:
    void append(std::uint32_t id, std::string_view row);

    const row_request& wanted_;
    std::string text_;
    std::uint64_t rows_ = 0;
    std::uint32_t last_ = 0;
    bool is_more_ = false;
};

} // namespace chainbase::inspect

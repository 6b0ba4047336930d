#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Which rows of a type somebody who turns pages wants to see.
struct row_request {
    static constexpr std::uint64_t most_rows = 1'000;

    std::string type;
    std::string index = "id";           ///< the name of a key, or "id"
    std::vector<std::string> parts;     ///< of the key, that all rows have; of a hashed one all
    std::optional<std::uint32_t> after; ///< goes on after the object of this id
    bool is_reverse = false;
    bool is_text = false;      ///< `cells` for people in place of `rows`
    bool with_archive = false; ///< also what is in the archive only; each row says where it is
    std::uint64_t limit = 50;
};

} // namespace chainbase::inspect

#pragma once

#include <tools/chains/social/operations.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::steem_tables {

struct post {
    std::int64_t created = 0; // Unix seconds
    social::comment operation;
    std::uint32_t votes_without_time = 0;
};

struct vote {
    std::size_t post = 0;             // its place in tables::posts
    std::optional<std::int64_t> time; // Unix seconds
    social::vote operation;
};

/// The three tables of steem-2016, in the order of their rows.
struct tables {
    std::vector<post> posts;
    std::vector<vote> votes;
    std::vector<std::string>
        accounts; // also authors and voters that the table lacks; sorted, unique
};

/// Reads and checks the tables: a vote's post exists, no post is there twice, a post is paid after
/// it was created. Throws what csv_table throws.
[[nodiscard]] tables read(const std::filesystem::path& folder);

} // namespace chainbase::steem_tables

#pragma once

#include <chainbase/object/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace chainbase::rows {

/// Where the links of a type's keys are, from the catalogue alone: what object.hpp lays out.
struct type_layout {
    /// An ordered or ranked key.
    struct tree {
        const type_schema::key* key;
        std::size_t links_at; ///< in the node
        bool is_ranked;
        bool is_unique;
    };
    /// A hashed key.
    struct table {
        const type_schema::key* key;
        std::size_t words_at;               ///< its hash_state, in the root block
        std::optional<std::size_t> ring_at; ///< of the links of equal keys, in the node
        bool is_unique;
    };

    /// A btree key, in a window of its own.
    struct flat_tree {
        const type_schema::key* key;
        std::size_t bits;
        bool is_unique;
    };

    std::vector<tree> trees;
    std::vector<table> tables;
    std::vector<flat_tree> btrees;
    std::size_t container_at = 0; ///< in the root block, if there are trees

    /// `schema` outlives it. Throws damaged_error when sizes and offsets do not fit each other.
    static type_layout of(const type_schema& schema);
};

} // namespace chainbase::rows

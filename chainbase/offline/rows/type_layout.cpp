#include <chainbase/keys.hpp>
#include <chainbase/offline/rows/type_layout.hpp>
#include <chainbase/segment/index_base.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/link_words.hpp>
#include <pool_allocator/window.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace chainbase::rows {

namespace {

constexpr std::size_t ring_bytes = 8;

key_kind kind_of(const type_schema::key& key) {
    for (const key_kind kind :
         {key_kind::ordered_unique, key_kind::ordered_non_unique, key_kind::ranked_unique,
          key_kind::ranked_non_unique, key_kind::hashed_unique, key_kind::hashed_non_unique,
          key_kind::btree_unique, key_kind::btree_non_unique})
        if (name_of(kind) == key.kind) return kind;
    throw damaged_error("key " + key.name + ": \"" + key.kind + "\" is not a kind of key");
}

std::size_t tree_bytes_of(key_kind kind) {
    if (is_hashed(kind) || is_btree(kind)) return 0;
    return is_ranked(kind) ? links::ranked_bytes : links::ordered_bytes;
}

/// The length of a btree's keys, as the program declares it (object/declaration.hpp).
std::size_t bits_of(const type_schema& schema, const type_schema::key& key, bool is_unique) {
    bool has_text = false;
    std::size_t bits = is_unique ? 0 : 8 * sizeof(std::uint32_t); // of the id
    for (const type_schema::part& part : key.parts) {
        const auto field = std::ranges::find(schema.fields, part.field, &type_schema::field::name);
        if (field == schema.fields.end())
            throw damaged_error("key " + key.name + ": part " + part.field + " is no field");
        bits += std::size_t{8} * field->bytes;
        has_text = has_text || field->type == "shared_string";
    }
    if (bits == 0) throw damaged_error(fmt::format("key {}: a btree key without parts", key.name));
    return has_text || bits > btree::max_bits ? btree::any_length : bits;
}

void require_fitting(const type_schema& schema, const type_layout& layout, std::size_t link_bytes) {
    const auto fail = [&](const char* what) {
        throw damaged_error(fmt::format("type {}: {} do not fit (value {} at {}, node {}, links "
                                        "{}, root block {} bytes)",
                                        schema.name, what, schema.value_bytes, schema.value_offset,
                                        schema.node_bytes, schema.link_bytes, schema.root_bytes));
    };
    const bool has_id = !schema.fields.empty() && schema.fields.front().type == "id" &&
                        schema.fields.front().offset == 0 && schema.value_bytes >= 4;
    if (!has_id) fail("the fields, the first of which is the id,");
    if (schema.link_bytes != link_bytes || schema.value_offset < link_bytes ||
        schema.node_bytes < std::uint64_t{schema.value_offset} + schema.value_bytes)
        fail("the sizes of a node");
    const std::size_t container = layout.trees.empty() ? 0 : 3 * 8;
    if (schema.tables != layout.tables.size() || schema.root_bytes > window::root_capacity ||
        schema.root_bytes < layout.container_at + container)
        fail("the keys");
}

} // namespace

type_layout type_layout::of(const type_schema& schema) {
    std::size_t rings = 0;
    std::size_t tree_bytes = 0;
    for (const type_schema::key& key : schema.keys) {
        const key_kind kind = kind_of(key);
        if (kind == key_kind::hashed_non_unique) rings += ring_bytes;
        tree_bytes += tree_bytes_of(kind);
    }
    // The last key's tree links come first (see detail::specifiers), the rings before them all.
    std::size_t ring_at = schema.value_offset - tree_bytes - rings;
    std::size_t tree_end = schema.value_offset;
    type_layout layout;
    layout.container_at = sizeof(chainbase::detail::root_prefix);
    for (const type_schema::key& key : schema.keys) {
        const key_kind kind = kind_of(key);
        if (is_hashed(kind)) {
            table one{&key, layout.container_at, std::nullopt, is_unique(kind)};
            layout.container_at += sizeof(hash_state); // which stand before the container
            if (!one.is_unique) {
                one.ring_at = ring_at;
                ring_at += ring_bytes;
            }
            layout.tables.push_back(one);
        } else if (is_btree(kind)) {
            layout.btrees.push_back({&key, bits_of(schema, key, is_unique(kind)), is_unique(kind)});
        } else {
            tree_end -= tree_bytes_of(kind);
            layout.trees.push_back({&key, tree_end, is_ranked(kind), is_unique(kind)});
        }
    }
    // An array of no tables takes room before the container, too.
    if (layout.tables.empty() && !layout.trees.empty()) layout.container_at += sizeof(hash_state);
    require_fitting(schema, layout, rings + tree_bytes);
    return layout;
}

} // namespace chainbase::rows

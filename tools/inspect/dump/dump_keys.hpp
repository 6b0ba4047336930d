#pragma once

#include <chainbase/bulk_load/key_loaders.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace chainbase::inspect {

/// The orders of a type's keys as lines of a dump, for keys whose order cannot be told from the
/// objects; an order of many objects takes several lines.
///
///     {"key":"account.by_total","ids":[7,3,...]}
///     {"key":"token.by_tag","ids":[7,3,...],"hashes":[...],"follows":[false,true,...]}
///
/// `follows`: has the key of the one before. Throws what `write` throws.
void write_orders(const std::string& type, const bulk_load::key_orders& orders,
                  const std::function<void(std::string_view line)>& write);

/// Whether a line of a dump is one of these.
[[nodiscard]] inline bool is_key_line(std::string_view line) noexcept {
    return line.starts_with(R"({"key":")");
}

/// The keys of a type, as "by_total, by_tag", of which only its program can tell the order or the
/// hashes; empty if there are none. Throws damaged_error.
[[nodiscard]] std::string computed_keys(const type_schema& schema);

} // namespace chainbase::inspect

#pragma once

#include <archive/described_record.hpp>
#include <archive/found.hpp>
#include <chainbase/object.hpp>
#include <chainbase/schema_of.hpp>

#include <cstdint>

namespace chainbase::archive {

/// Appends the record of an object with the fingerprint of described_record in place of its own:
/// the bytes that who has only the catalogue comes to, too. The same from memory and from the
/// archive. Throws limit_error.
template <object_type T>
void append_described(const found<T>& object, byte_buffer& to) {
    static const std::uint32_t fingerprint = described_record(schema_of<T>({})).fingerprint();
    const std::size_t begin = to.size();
    object.append_record(to);
    detail::store_little(to.data() + begin, fingerprint);
}

} // namespace chainbase::archive

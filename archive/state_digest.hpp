#pragma once

#include <archive/found.hpp>
#include <archive/record/described_record.hpp>
#include <chainbase/object.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace chainbase::archive {

/// Appends the record of an object with the fingerprint of described_record in place of its own:
/// the same bytes as an encoder that knows only the catalogue. The same from memory and from the
/// archive. Throws limit_error.
template <object_type T>
void append_described(const found<T>& object, byte_buffer& to) {
    static const std::uint32_t fingerprint = described_record(schema_of<T>({})).fingerprint();
    const std::size_t begin = to.size();
    object.append_record(to);
    detail::store_little(to.data() + begin, fingerprint);
}

/// As decode(), of such a record.
template <object_type T>
void decode_described(bytes_view record, T& object) {
    static const std::uint32_t fingerprint = described_record(schema_of<T>({})).fingerprint();
    decode_content(record, detail::check_fingerprint<T>(record, fingerprint), object);
}

/// A digest of the content of every object of the added types, in memory and in the archive
/// together. It depends on the content only, not on addresses, history, machine, or the place of
/// each object.
///
///     type   := SHA-256 of (length:u32 record)*       its objects by rising id, see record.hpp
///     digest := SHA-256 of (length:u32 name type)*    its types by name
///
/// The fingerprint of each record is that of described_record: it is computed from the catalogue,
/// so that a program without the type (chainbase-inspect) computes the same digest. It differs from
/// the record's own only for types with enums, `char` or signed integers of 128 bits.
///
/// Do not add a node's bookkeeping (the objects of a life cycle and of a memory store). Used by one
/// thread, under the state's read lock.
class state_digest {
public:
    /// Adds the type T of `state` under `name`. Throws usage_error when there is one already,
    /// limit_error when an object has no record.
    /// `State` is a database, or another that gives the objects of T by rising id.
    template <object_type T, typename State>
    void add(const State& state, const std::string& name) {
        hasher type;
        for (const T& object : state.template objects<T>())
            type.add(found<T>(object));
        add(name, type.sum.finish());
    }

    /// Adds the objects of both places; `Lifecycle` is a lifecycle or one with its for_each() and
    /// name(). Throws also what reading the store throws.
    template <typename Lifecycle>
    void add(const Lifecycle& of) {
        hasher type;
        of.for_each([&](const auto& object) { type.add(object); });
        add(of.name(), type.sum.finish());
    }

    /// Adds a type whose digest is known. Throws usage_error when there is one already.
    void add(const std::string& name, const sha256_digest& type);

    /// The digest of all that was added: 64 hexadecimal digits.
    [[nodiscard]] std::string hex() const;

    /// The digest of one type, to tell where two states differ. Throws std::out_of_range.
    [[nodiscard]] std::string hex(const std::string& type) const {
        return chainbase::hex(types_.at(type));
    }

private:
    struct hasher {
        sha256 sum;
        byte_buffer record;

        template <typename T>
        void add(const found<T>& object) {
            record.resize(sizeof(std::uint32_t));
            append_described(object, record);
            detail::store_little(record.data(),
                                 static_cast<std::uint32_t>(record.size() - sizeof(std::uint32_t)));
            sum.add(record);
        }
    };

    std::map<std::string, sha256_digest> types_;
};

} // namespace chainbase::archive

#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/integers.hpp>

#include <boost/container/small_vector.hpp>
#include <rocksdb/slice.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace chainbase::archive::detail {

[[nodiscard]] inline rocksdb::Slice slice(bytes_view bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline bytes_view view(const rocksdb::Slice& slice) noexcept {
    return as_bytes(std::string_view(slice.data(), slice.size()));
}

/// Ids as bytes: each big-endian.
class ids_bytes {
public:
    explicit ids_bytes(std::span<const std::uint32_t> ids)
        : bytes_(ids.size_bytes(), boost::container::default_init) {
        std::byte* to = bytes_.data();
        for (const std::uint32_t id : ids)
            to = store_big(to, id);
    }
    explicit ids_bytes(std::uint32_t id) : ids_bytes(std::span(&id, 1)) {}
    operator rocksdb::Slice() const { return slice({bytes_.data(), bytes_.size()}); }

private:
    boost::container::small_vector<std::byte, 4 * sizeof(std::uint32_t)> bytes_; // mostly one
};

/// Where an entry lies within the column family of its table. The first byte says what it is, so
/// that rows lie together in the order of ids, and each key's entries in the order of its bytes:
///
///     00      id, u32 big-endian         -> stored row (write_batch.hpp)
///     1 + n   bytes of key number n      -> ids, u32 big-endian each, falling; nearly always one
///     ff                                 -> rows in the table, u64 little-endian
class rocksdb_key {
public:
    static constexpr std::size_t most_keys = 254;

    [[nodiscard]] static rocksdb_key of_row(std::uint32_t id) {
        return {std::byte{0}, view(ids_bytes(id))};
    }
    [[nodiscard]] static rocksdb_key of_key(std::uint32_t index, bytes_view key) {
        return {static_cast<std::byte>(1 + index), key};
    }
    [[nodiscard]] static rocksdb_key of_count() { return {std::byte{0xff}, {}}; }

    rocksdb_key(const rocksdb_key&) = delete;
    rocksdb_key& operator=(const rocksdb_key&) = delete;

    /// What lies behind all entries of the same kind.
    [[nodiscard]] std::string end_of_kind() const {
        return {static_cast<char>(std::to_integer<unsigned>(bytes_.front()) + 1)};
    }

    /// What follows the first byte.
    [[nodiscard]] static bytes_view content(const rocksdb::Slice& key) {
        return view(key).subspan(1);
    }

    operator rocksdb::Slice() const noexcept { return slice({bytes_.data(), bytes_.size()}); }

private:
    rocksdb_key(std::byte kind, bytes_view content) {
        bytes_.reserve(1 + content.size());
        bytes_.push_back(kind);
        bytes_.insert(bytes_.end(), content.begin(), content.end());
    }

    boost::container::small_vector<std::byte, 120> bytes_; // few keys are longer
};

} // namespace chainbase::archive::detail

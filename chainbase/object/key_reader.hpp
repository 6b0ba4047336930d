#pragma once

#include <chainbase/keys.hpp>
#include <chainbase/object/key_bits.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/value_type.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::rows {

/// Compares and hashes objects by a key as the program does, as far as the catalogue describes its
/// parts.
class key_reader {
public:
    /// Throws damaged_error when a part is no field. `buffers` outlives it.
    key_reader(const type_schema& schema, const type_schema::key& key,
               const buffer_source& buffers);

    /// The order of two objects by their leading parts, at most `leading`; nothing when it is
    /// unknown: a part is not described, or refers to no buffer.
    [[nodiscard]] std::optional<std::strong_ordering>
    compare(const std::byte* a, const std::byte* b, std::size_t leading = SIZE_MAX) const;
    /// A number that rises with the key: the order of two objects whose numbers differ. Of leading
    /// parts that have bits, so it may be the same for all.
    [[nodiscard]] std::uint64_t leading_bits(const std::byte* object) const;
    /// The 32 bits that a hash_table of this seed keeps.
    [[nodiscard]] std::optional<std::uint32_t> hash(const std::byte* object,
                                                    const hash_seed& seed) const;

    /// Appends the leading parts of a btree key to key_bits or key_bytes. Throws damaged_error when
    /// a part of them has no bits, or is a text in no buffer.
    template <typename Writer>
    void append_bits(Writer& to, const std::byte* object, std::size_t leading = SIZE_MAX) const;
    /// The number of leading parts whose order is known.
    [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }
    struct part {
        value_type type;
        std::uint32_t offset; ///< in the object
        bool is_descending;
    };
    [[nodiscard]] const part& part_at(std::size_t number) const noexcept { return parts_[number]; }
    /// Why the order is unknown or not always known; empty if it is known.
    [[nodiscard]] const std::string& why_no_order() const noexcept { return why_no_order_; }
    [[nodiscard]] const std::string& why_no_hash() const noexcept { return why_no_hash_; }

private:
    [[nodiscard]] std::optional<std::strong_ordering>
    compare_values(const value_type& type, const std::byte* a, const std::byte* b) const;
    [[nodiscard]] std::optional<std::strong_ordering>
    compare_contents(const value_type& element, std::span<const std::byte> a,
                     std::span<const std::byte> b) const;
    [[nodiscard]] bool add_to(keyed_hash& hash, const value_type& type, const std::byte* at) const;
    [[nodiscard]] bool add_all(keyed_hash& hash, const value_type& element,
                               std::span<const std::byte> values) const;
    template <typename Writer>
    void append_value(Writer& to, const value_type& type, const std::byte* at,
                      bool is_descending) const;
    [[nodiscard]] std::optional<std::span<const std::byte>> content_of(const std::byte* at) const {
        return buffers_.content({copy_at<std::uint64_t>(at)});
    }

    std::vector<part> parts_; ///< up to the first one that is not described
    const buffer_source& buffers_;
    std::string why_no_order_;
    std::string why_no_hash_;
};

/// The btree key of objects in slots, with the id if the key is not unique.
class slot_bits final : public btree_keys {
public:
    /// Where the object in a slot is; throws damaged_error when there is none.
    using place_of = std::function<const std::byte*(slot_number)>;

    /// `key` outlives it; `bits` is the length of keys in the tree.
    slot_bits(const key_reader& key, std::size_t bits, bool is_unique, place_of objects)
        : key_(key), bits_(bits), is_unique_(is_unique), objects_(std::move(objects)) {}
    [[nodiscard]] btree_key read(slot_number slot) const override;
    [[nodiscard]] std::string read_whole(slot_number slot) const override;
    [[nodiscard]] btree_wanted key_of(slot_number slot) const;
    void prefetch(slot_number) const noexcept override {}

private:
    const key_reader& key_;
    std::size_t bits_;
    bool is_unique_;
    place_of objects_;
};

/// A search key: all or the leading parts of one key of a type, in its own memory.
class probe {
public:
    /// What it copies the key from.
    struct source {
        const std::byte* object;
        const buffer_source& buffers;
    };
    /// The key of an object, as far as its order is known, or its first `leading` parts. `schema`
    /// and `of_state`, the buffers of the objects to compare with, outlive it. Throws damaged_error
    /// when a text of the key is in no buffer.
    probe(const type_schema& schema, const type_schema::key& key, source from,
          const buffer_source& of_state, std::size_t leading = SIZE_MAX);
    ~probe();
    probe(probe&&) noexcept;

    /// How many parts it has.
    [[nodiscard]] std::size_t parts() const noexcept { return parts_; }
    /// Whether it has all parts of its key.
    [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }

    /// The search value of a part.
    struct part {
        const value_type& type;
        bool is_descending;
        const std::byte* value; ///< as in an object
    };
    [[nodiscard]] part part_at(std::size_t number) const;
    /// Where the texts and vectors of its parts are.
    [[nodiscard]] const buffer_source& buffers() const noexcept;

    /// Compares an object with this key: less when the object's key comes before it. Throws
    /// damaged_error when a text of the object is in no buffer.
    [[nodiscard]] std::strong_ordering place_of(const std::byte* object) const;
    /// The first or the last of the keys that begin with this one, in a btree of keys of so many
    /// bits.
    [[nodiscard]] btree_wanted bound(std::size_t bits, bool is_last) const;
    /// The hash that a table of this seed keeps. Requires a whole key of a hashed kind.
    [[nodiscard]] std::uint32_t hash(const hash_seed& seed) const;

private:
    class texts;

    std::unique_ptr<texts> texts_; ///< its own, before those of the state
    key_reader key_;
    std::vector<std::byte> image_; ///< an object, of which only the parts are set
    std::size_t parts_ = 0;
    bool is_whole_ = false;
};

} // namespace chainbase::rows

#pragma once

#include <chainbase/keys.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/rows/value_type.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::rows {

/// Compares and hashes objects by a key as the program does, as far as the catalogue describes its
/// parts.
class key_reader {
public:
    /// Throws damaged_error when a part is no field. `buffers` outlives it.
    key_reader(const type_schema& schema, const type_schema::key& key,
               const buffer_source& buffers);

    /// What of two objects comes first, by their leading parts, at most `leading`; nothing when
    /// that is not known: a part is not described, or refers to no buffer.
    [[nodiscard]] std::optional<std::strong_ordering>
    compare(const std::byte* a, const std::byte* b, std::size_t leading = SIZE_MAX) const;
    /// The 32 bits that a hash_table of this seed keeps.
    [[nodiscard]] std::optional<std::uint32_t> hash(const std::byte* object,
                                                    const hash_seed& seed) const;

    /// The parts whose order is known, the leading ones.
    [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }
    [[nodiscard]] const field_type& part_at(std::size_t number) const noexcept {
        return parts_[number].type;
    }
    [[nodiscard]] bool is_descending(std::size_t number) const noexcept {
        return parts_[number].is_descending;
    }
    /// Why the order is not or not always known; empty if it is.
    [[nodiscard]] const std::string& why_no_order() const noexcept { return why_no_order_; }
    [[nodiscard]] const std::string& why_no_hash() const noexcept { return why_no_hash_; }

private:
    struct part {
        field_type type;
        bool is_descending;
    };

    [[nodiscard]] std::optional<std::strong_ordering>
    compare_part(const field_type& type, const std::byte* a, const std::byte* b) const;
    [[nodiscard]] std::optional<std::string_view> text_of(const std::byte* handle) const;

    std::vector<part> parts_; ///< up to the first one that is not described
    const buffer_source& buffers_;
    std::string why_no_order_;
    std::string why_no_hash_;
};

/// A key to look for: all or the leading parts of one key of a type, in a memory of its own.
class probe {
public:
    /// From words, one for each part: decimal numbers, `true` and `false`, texts as they are; the
    /// elements of an array with commas between them, in brackets or not. `schema` and `buffers`
    /// (those of the state) outlive it. Throws usage_error, which names the part and its type, when
    /// a word is none, does not fit, there are too many, or the order of a part is not known.
    probe(const type_schema& schema, const type_schema::key& key,
          const std::vector<std::string>& words, const buffer_source& buffers);
    /// The whole key that an object has now, as far as its order is known. Throws damaged_error
    /// when a text of it is nowhere.
    probe(const type_schema& schema, const type_schema::key& key, const std::byte* object,
          const buffer_source& buffers);
    ~probe();
    probe(probe&&) noexcept;

    /// How many parts it has.
    [[nodiscard]] std::size_t parts() const noexcept { return parts_; }
    /// Whether it has all of its key.
    [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }

    /// What a part is looked for with.
    struct part {
        const field_type& type;
        bool is_descending;
        std::span<const std::byte> value; ///< of numbers as in an object; of texts without padding
    };
    [[nodiscard]] part part_at(std::size_t number) const;

    /// Where an object stands: less, when its key comes before this one. Throws damaged_error when
    /// a text of the object is nowhere.
    [[nodiscard]] std::strong_ordering place_of(const std::byte* object) const;
    /// The hash that a table of this seed keeps. Requires that it is whole, and of a hashed key.
    [[nodiscard]] std::uint32_t hash(const hash_seed& seed) const;

private:
    class texts;

    void set(std::size_t part, const type_schema::field& field, const std::string& word);

    std::unique_ptr<texts> texts_; ///< its own, before those of the state
    key_reader key_;
    std::vector<std::byte> image_; ///< an object, of which only the parts are set
    std::size_t parts_ = 0;
    bool is_whole_ = false;
};

} // namespace chainbase::rows

#pragma once

#include <chainbase/rows/key_reader.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace chainbase::rows {

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
    /// The hash that a table keeps. Requires that it is whole, and of a hashed key.
    [[nodiscard]] std::uint32_t hash() const;

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

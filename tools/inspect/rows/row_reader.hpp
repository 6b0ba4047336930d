#pragma once

#include <chainbase/object/key_reader.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// Parses JSON. Integers of more than 64 bits become binary values, of their digits. Discarded when
/// it is no JSON.
[[nodiscard]] nlohmann::json exact_json(std::string_view text);

/// Parses the JSON of row_format back into objects. One thread at a time.
class row_reader final : public rows::buffer_source {
public:
    /// Throws damaged_error when a field is not within the object.
    explicit row_reader(const type_schema& schema);

    /// The bytes of an object's value; this reader owns its texts and vectors; valid until the next
    /// call. Takes what exact_json() returns. Throws usage_error naming the field when one is
    /// missing, unknown, or has an invalid value.
    [[nodiscard]] const std::byte* read(const nlohmann::json& object);
    /// An object of which only the leading parts of a key are set, from words (see probe_of()).
    /// Throws usage_error.
    [[nodiscard]] const std::byte* read_parts(const type_schema::key& key,
                                              const std::vector<std::string>& words);

    /// Buffers of the object read last.
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;

private:
    using json = nlohmann::json;

    void clear();
    void store(const rows::value_type& type, const json& value, std::byte* to);
    void store_text(const std::string& content, std::byte* to);
    void store_vector(const rows::value_type& type, const json& value, std::byte* to);
    void store_array(const rows::value_type& type, const json& value, std::byte* to);
    void store_structure(const rows::value_type& type, const json& value, std::byte* to);

    std::string type_;
    std::vector<rows::value_type::member> fields_;
    std::vector<std::string> type_names_; ///< of the fields
    std::vector<std::byte> image_;
    std::vector<std::string> contents_; ///< a handle is an index from 1
};

/// A search key from words, one for each part or for the leading ones, as the tools print values,
/// but without the quotation marks of a text. Brackets around the elements of an array may be left
/// out, bytes may be given as elements, and hexadecimal digits in capitals and after 0x. `of_state`
/// are the buffers of the state that is searched; it and `schema` outlive the key. Throws
/// usage_error, naming the part and its type, when a word is malformed or does not fit, there are
/// too many, or only the program of the state knows the order of a part.
[[nodiscard]] rows::probe probe_of(const type_schema& schema, const type_schema::key& key,
                                   const std::vector<std::string>& words,
                                   const rows::buffer_source& of_state);
/// The same of an object of which the first `parts` parts of the key are set.
[[nodiscard]] rows::probe probe_of(const type_schema& schema, const type_schema::key& key,
                                   rows::probe::source values, std::size_t parts,
                                   const rows::buffer_source& of_state);
/// Throws usage_error when the key has not so many parts.
void require_parts(const type_schema& schema, const type_schema::key& key, std::size_t parts);

} // namespace chainbase::inspect

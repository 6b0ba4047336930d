#pragma once

#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Parses the JSON of row_format back into objects. One thread at a time.
class row_reader final : public rows::buffer_source {
public:
    /// Throws damaged_error when a field is not within the object.
    explicit row_reader(const type_schema& schema);

    /// The bytes of an object's value; this reader owns its texts and vectors; valid until the next
    /// call. Throws usage_error naming the field when one is missing, unknown, or has an invalid
    /// value.
    [[nodiscard]] const std::byte* read(const nlohmann::json& object);

    /// Buffers of the object read last.
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;

private:
    using json = nlohmann::json;

    void store(const rows::value_type& type, const json& value, std::byte* to);
    void store_text(const std::string& content, std::byte* to);
    void store_vector(const rows::value_type& type, const json& value, std::byte* to);
    void store_array(const rows::value_type& type, const json& value, std::byte* to);
    void store_structure(const rows::value_type& type, const json& value, std::byte* to);

    std::string type_;
    std::vector<rows::value_type::member> fields_;
    std::vector<std::byte> image_;
    std::vector<std::string> contents_; ///< a handle is an index from 1
};

} // namespace chainbase::inspect

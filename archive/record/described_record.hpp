#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::archive {

/// Records (record.hpp) of objects in memory, made from what the catalogue says of their type in
/// place of the type itself.
///
/// The catalogue calls an enum by the integer beneath it and `char` by the integer that the
/// compiler has it as; in older states an integer of 128 bits is `bytes<16>`, which is taken for
/// `u128`. So the fingerprint is that of a record only where no field is an enum or `char`; what
/// follows it is always the same. Floating point and bytes that are not described, which no record
/// can hold, are taken as they are in memory.
///
/// Thread-safe.
class described_record {
public:
    explicit described_record(const type_schema& schema);

    /// The layout in the words of record_layout(), as far as the catalogue knows it.
    [[nodiscard]] const std::string& layout() const noexcept { return layout_; }
    /// FNV-1a of the layout, as record_fingerprint.
    [[nodiscard]] std::uint32_t fingerprint() const noexcept { return fingerprint_; }
    /// The fields whose bytes are taken as they are, since the catalogue does not say what they
    /// mean: what they refer to, and padding, may differ where the content does not.
    [[nodiscard]] const std::vector<std::string>& undescribed() const noexcept {
        return undescribed_;
    }

    /// Whether append() may ask for buffers.
    [[nodiscard]] bool has_buffers() const noexcept { return has_buffers(steps_); }

    /// Appends the record of an object. Throws damaged_error, naming type and field, when a text or
    /// a vector of it is in no buffer; `to` may then have a part of it.
    void append(const std::byte* object, const rows::buffer_source& buffers, byte_buffer& to) const;

    /// What is wrong with the bytes behind the fingerprint in the record of object `id`; empty if
    /// nothing is, or if a field is not described.
    [[nodiscard]] std::string problem_of(bytes_view content, std::uint32_t id) const;

private:
    /// How some bytes of an object come to a record.
    struct step {
        enum class kind { copy, fixed_text, text, vector, array };
        kind what;
        std::uint32_t offset;
        std::uint32_t bytes;
        std::uint32_t field;                  ///< its number
        std::uint32_t stride = 0;             ///< of an element
        std::vector<step> of_an_element = {}; ///< empty: elements are copied as they lie
    };
    using steps = std::vector<step>;

    [[nodiscard]] static bool has_buffers(const steps& all) noexcept;
    static void add(steps& to, const rows::value_type& type, std::uint32_t offset,
                    std::uint32_t field);
    static void add_elements(steps& to, step::kind what, const rows::value_type& type,
                             std::uint32_t offset, std::uint32_t field);
    void run(const steps& all, const std::byte* object, const rows::buffer_source& buffers,
             byte_buffer& to) const;
    void run_elements(const step& one, bytes_view elements, const rows::buffer_source& buffers,
                      byte_buffer& to) const;
    [[nodiscard]] bytes_view content(const step& one, const std::byte* object,
                                     const rows::buffer_source& buffers) const;

    std::string type_;
    std::string layout_;
    std::uint32_t fingerprint_ = 0;
    std::vector<std::string> fields_;
    std::vector<rows::value_type> types_; ///< of fields_
    std::vector<std::string> undescribed_;
    steps steps_;
};

} // namespace chainbase::archive

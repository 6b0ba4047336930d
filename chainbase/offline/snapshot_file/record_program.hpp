#pragma once

#include <chainbase/offline/snapshot_file/layout_match.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// How records of one layout are read into objects of another one: what object_of_record does for
/// each record.
namespace chainbase::snapshot_file::detail {

/// Stands for the place of a value that is stepped over.
inline constexpr std::uint32_t nowhere = UINT32_MAX;
struct record_step;

/// What is in the bytes of a step. But for runs it is one value.
struct step_values {
    struct place {
        std::uint32_t at;
        std::string path; ///< for messages
    };
    struct bools {
        std::uint32_t at;
        std::uint32_t count;
    };
    std::vector<place> all;
    std::vector<bools> of_bools;
};

/// How the elements of a vector or an array are read.
struct element_steps {
    std::vector<record_step> each;
    std::vector<record_step> rest; ///< steps over an element that is not kept
    std::uint64_t least;           ///< bytes of one in a record
    std::uint32_t from_bytes;      ///< of one in memory
    std::uint32_t to_bytes;
    std::uint32_t count = 0;   ///< of the old array
    std::uint32_t kept = 0;    ///< of these, the ones that the new array has
    bool is_alike = false;     ///< an element is the same bytes in record and memory, without bools
    bool has_length = false;   ///< stands in the record before them
    bool is_in_buffer = false; ///< in the new layout
};

/// How the next bytes of a record come to the object.
struct record_step {
    enum class kind {
        copy,      ///< bytes that are alike
        skip,      ///< the same, without a place
        integer,   ///< to one of another type
        floating,  ///< f32 to f64, or back
        text,      ///< to a handle
        fixed,     ///< text to a fixed_string
        skip_text, ///< either
        sequence,  ///< vector or array
    };
    kind what;
    std::uint32_t to = nowhere;
    std::uint32_t bytes = 0;    ///< of a run; of a number in the record; the most of a fixed_string
    std::uint32_t to_bytes = 0; ///< of the number or fixed_string
    bool is_signed = false;     ///< the number in the record
    bool to_signed = false;
    bool is_bool = false; ///< the integer in the record
    bool to_bool = false;
    bool is_fixed = false;             ///< the text in the record
    bool has_bools = false;            ///< a run
    std::uint32_t values = 0;          ///< index of its step_values
    const element_steps* of = nullptr; ///< of a sequence
};

using record_steps = std::vector<record_step>;
using step_kind = record_step::kind;

/// All steps of a conversion, which go on in the order of the record.
struct record_program {
    record_steps object;
    std::vector<step_values> values;
    std::vector<std::unique_ptr<element_steps>> elements;
};

/// The steps that make the new objects of a match. They refer to nothing of it.
[[nodiscard]] record_program compiled(const layout_match& match);

} // namespace chainbase::snapshot_file::detail

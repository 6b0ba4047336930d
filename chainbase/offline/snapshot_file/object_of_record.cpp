#include <archive/record/described_record.hpp>
#include <archive/record/integers.hpp>
#include <chainbase/offline/snapshot_file/layout_match.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace chainbase::snapshot_file {

namespace detail {

using archive::detail::int128;
using archive::detail::uint128;
using element_kind = rows::value_type::kind;

/// Stands for the place of a value that is stepped over.
constexpr std::uint32_t nowhere = UINT32_MAX;
constexpr std::uint64_t most_content = UINT32_MAX; ///< of a buffer, and of all of an object
constexpr std::uint32_t length_bytes = sizeof(std::uint32_t);

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

class step_compiler {
public:
    explicit step_compiler(record_program& to) : all_(to) {}

    /// Appends the steps of a value. `match` is null for a value that is stepped over; else
    /// `offset` is the place of the new value.
    void add(record_steps& to, const layout_value& from, const value_match* match,
             std::uint32_t offset) {
        switch (from.what) {
        case element_kind::structure:
            return add_members(to, from, match, offset);
        case element_kind::vector:
        case element_kind::array:
            return add_sequence(to, from, match, offset);
        case element_kind::text:
        case element_kind::fixed_text:
            return add_text(to, from, match, offset);
        default:
            return add_single(to, from, match, offset);
        }
    }

private:
    void add_members(record_steps& to, const layout_value& from, const value_match* match,
                     std::uint32_t offset) {
        std::vector<const value_match*> of(from.parts.size());
        if (match)
            for (const value_match& one : match->parts)
                if (one.from && one.to)
                    of[static_cast<std::size_t>(one.from - from.parts.data())] = &one;
        for (std::size_t i = 0; i < of.size(); ++i)
            add(to, from.parts[i], of[i], of[i] ? offset + of[i]->to->offset : nowhere);
    }

    void add_single(record_steps& to, const layout_value& from, const value_match* match,
                    std::uint32_t offset) {
        const bool is_alike = !match || match->to->what == element_kind::opaque ||
                              from.what == element_kind::opaque ||
                              (match->to->what == from.what && match->to->bytes == from.bytes &&
                               match->to->is_signed == from.is_signed);
        if (is_alike) return add_run(to, from, from.bytes, offset);
        record_step one = step(step_kind::integer, from, offset);
        if (from.what == element_kind::floating) one.what = step_kind::floating;
        one.to_bytes = match->to->bytes;
        one.is_signed = from.is_signed;
        one.to_signed = match->to->is_signed;
        one.is_bool = from.what == element_kind::boolean;
        one.to_bool = match->to->what == element_kind::boolean;
        to.push_back(one);
    }

    void add_text(record_steps& to, const layout_value& from, const value_match* match,
                  std::uint32_t offset) {
        record_step one = step(step_kind::skip_text, from, offset);
        one.is_fixed = from.what == element_kind::fixed_text;
        if (match && match->to->what == element_kind::text) one.what = step_kind::text;
        if (match && match->to->what == element_kind::fixed_text) {
            one.what = step_kind::fixed;
            one.to_bytes = match->to->bytes;
        }
        to.push_back(one);
    }

    /// Bytes of `from`, or of elements like it, that are the same in record and object. Extends the
    /// run before when they follow each other in the object, too.
    void add_run(record_steps& to, const layout_value& from, std::uint32_t bytes,
                 std::uint32_t offset) {
        if (bytes == 0) return;
        const auto what = offset == nowhere ? step_kind::skip : step_kind::copy;
        const bool follows =
            !to.empty() && to.back().what == what &&
            (offset == nowhere ? std::uint64_t{to.back().bytes} + bytes < nowhere
                               : std::uint64_t{to.back().to} + to.back().bytes == offset);
        if (!follows) {
            to.push_back(step(what, from, offset));
            to.back().bytes = 0;
        } else {
            all_.values[to.back().values].all.push_back({to.back().bytes, from.path});
        }
        if (consists_of_bools(from)) {
            all_.values[to.back().values].of_bools.push_back({to.back().bytes, bytes});
            to.back().has_bools = true;
        }
        to.back().bytes += bytes;
    }

    void add_sequence(record_steps& to, const layout_value& from, const value_match* match,
                      std::uint32_t offset) {
        auto made = std::make_unique<element_steps>();
        const layout_value& element = from.element();
        made->least = element.least;
        made->from_bytes = element.bytes;
        made->to_bytes = match ? match->to->element().bytes : 0;
        made->has_length = from.what == element_kind::vector;
        made->is_in_buffer = match && match->to->what == element_kind::vector;
        if (!made->has_length) made->count = from.count();
        made->kept = made->is_in_buffer ? made->count : match ? match->to->count() : 0;
        add(made->each, element, match ? &match->parts.front() : nullptr, match ? 0 : nowhere);
        const bool has_rest = match && made->count > made->kept;
        if (has_rest) add(made->rest, element, nullptr, nowhere);
        const bool is_run = is_one_run(*made, match != nullptr);
        made->is_alike = is_run && !made->each.front().has_bools;
        const bool has_place_in_object = !made->has_length && !made->is_in_buffer && !has_rest;
        if (has_place_in_object && is_run && (made->is_alike || consists_of_bools(element)))
            return add_run(to, from, from.bytes, offset);
        record_step one = step(step_kind::sequence, from, offset);
        one.of = made.get();
        all_.elements.push_back(std::move(made));
        to.push_back(one);
    }

    /// Whether an element is the same bytes in record and memory.
    static bool is_one_run(const element_steps& of, bool has_place) {
        if (of.each.size() != 1 || of.each.front().bytes != of.from_bytes) return false;
        const record_step& one = of.each.front();
        return has_place ? one.what == step_kind::copy && one.to == 0 && one.bytes == of.to_bytes
                         : one.what == step_kind::skip;
    }
    static bool consists_of_bools(const layout_value& one) {
        return one.what == element_kind::boolean ||
               (one.what == element_kind::array && consists_of_bools(one.element()));
    }

    record_step step(step_kind what, const layout_value& from, std::uint32_t offset) {
        record_step made{what, offset, from.bytes};
        made.values = static_cast<std::uint32_t>(all_.values.size());
        all_.values.push_back({{{0, from.path}}, {}});
        return made;
    }

    record_program& all_;
};

/// The integer in these bytes, extended to 128 bits.
struct wide_integer {
    uint128 bits = 0;
    bool is_negative = false;
    friend bool operator==(const wide_integer&, const wide_integer&) = default;
};

wide_integer wide_integer_at(const std::byte* from, std::uint32_t bytes, bool is_signed) {
    wide_integer found;
    std::memcpy(&found.bits, from, bytes);
    if (!is_signed) return found;
    const unsigned shift = 8 * static_cast<unsigned>(sizeof found.bits - bytes);
    const int128 value = static_cast<int128>(found.bits << shift) >> shift;
    return {static_cast<uint128>(value), value < 0};
}

/// A NaN keeps its bits, which a conversion by the processor may change.
double widened(float from) {
    const auto bits = std::bit_cast<std::uint32_t>(from);
    if (from == from) return from;
    constexpr unsigned more_bits = 52 - 23; // of the fraction
    return std::bit_cast<double>(std::uint64_t{bits >> 31} << 63 | std::uint64_t{0x7FF} << 52 |
                                 std::uint64_t{bits & 0x7F'FFFF} << more_bits);
}

float narrowed(double from) {
    if (from == from) return static_cast<float>(from);
    const auto bits = std::bit_cast<std::uint64_t>(from);
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 63 << 31) | 0x7F80'0000U |
                                (static_cast<std::uint32_t>(bits >> 29) & 0x7F'FFFFU));
}

bool has_zero(archive::bytes_view text) {
    return !text.empty() && std::memchr(text.data(), 0, text.size()) != nullptr;
}

/// A text in a message.
std::string quoted(archive::bytes_view text) {
    constexpr std::size_t most = 40;
    std::string shown;
    for (const char c : archive::as_text(text.first(std::min(text.size(), most))))
        shown += c >= ' ' && c <= '~' ? c : '?';
    return fmt::format("\"{}{}\" of {} bytes", shown, text.size() > most ? "..." : "", text.size());
}

/// The usual lengths of runs are worth a move each.
void copy_run(std::byte* to, const std::byte* from, std::uint32_t bytes) {
    switch (bytes) {
    case 1:
        *to = *from;
        break;
    case 4:
        std::memcpy(to, from, 4);
        break;
    case 8:
        std::memcpy(to, from, 8);
        break;
    case 16:
        std::memcpy(to, from, 16);
        break;
    default:
        std::memcpy(to, from, bytes);
    }
}

} // namespace detail

using namespace detail;

/// The steps, and the object that they made last.
class object_of_record::plan {
public:
    plan(const type_schema& from, const type_schema& to, migration_rules rules);

    std::span<const std::byte> read(archive::bytes_view record);
    [[nodiscard]] std::optional<std::span<const std::byte>> content(buffer_handle handle) const;

private:
    /// Of a text or a vector: in the record, or made of it.
    struct buffer {
        const std::byte* in_record; ///< null: in `arena_`
        std::size_t at;
        std::size_t bytes;
    };

    // All take the place in the record, and return the one behind what they read. `at` is the place
    // of the new object, or element, in `arena_`.
    const std::byte* run(const record_steps& all, std::size_t at, const std::byte* from);
    const std::byte* run_plain(const record_step& one, std::size_t at, const std::byte* from);
    const std::byte* integer(const record_step& one, std::size_t at, const std::byte* from);
    const std::byte* floating(const record_step& one, std::size_t at, const std::byte* from);
    const std::byte* text(const record_step& one, std::size_t at, const std::byte* from);
    const std::byte* sequence(const record_step& one, std::size_t at, const std::byte* from);
    const std::byte* elements(const record_step& one, std::size_t at, std::uint64_t count,
                              const std::byte* from);
    const std::byte* new_vector(const record_step& one, std::size_t at, std::uint64_t count,
                                const std::byte* from);
    const std::byte* not_kept(const record_step& one, const std::byte* from);

    [[nodiscard]] std::uint64_t length(const record_step& one, const std::byte* from) const;
    void need(const record_step& one, const std::byte* from, std::uint64_t bytes) const {
        if (left(from) < bytes) fail_short(one, from, bytes);
    }
    [[nodiscard]] std::size_t left(const std::byte* from) const noexcept {
        return static_cast<std::size_t>(record_.data() + record_.size() - from);
    }
    void store_handle(std::size_t place, const buffer& of);
    void take_content(std::uint64_t bytes);

    [[nodiscard]] std::string object_name() const;
    [[noreturn]] void fail(const std::string& field, const std::byte* from,
                           const std::string& why) const;
    /// `at`: bytes from the beginning of a run, where the value is that is wrong.
    [[noreturn]] void fail(const record_step& one, const std::byte* from, const std::string& why,
                           std::size_t at = 0) const;
    [[noreturn]] void fail_short(const record_step& one, const std::byte* from,
                                 std::uint64_t bytes) const;
    [[noreturn]] void fail_value(const record_step& one, const std::string& value,
                                 const std::string& wanted) const;

    std::string type_;
    std::uint32_t fingerprint_;
    std::uint32_t value_bytes_;
    record_program program_;
    std::function<void(archive::bytes_view, std::span<std::byte>)> compute_;

    archive::bytes_view record_;
    archive::byte_buffer arena_;   ///< the object, then elements that were made for its vectors
    std::vector<buffer> contents_; ///< a handle is an index from 1
    std::uint64_t content_bytes_ = 0;
};

object_of_record::plan::plan(const type_schema& from, const type_schema& to, migration_rules rules)
    : type_(from.name), fingerprint_(archive::described_record(from).fingerprint()),
      value_bytes_(to.value_bytes), compute_(std::move(rules.compute)) {
    const layout_match match(from, to, rules);
    if (!match.objections().empty())
        throw usage_error("type " + to.name + " cannot be converted: " + match.objections());
    step_compiler(program_).add(program_.object, *match.object().from, &match.object(), 0);
}

std::span<const std::byte> object_of_record::plan::read(archive::bytes_view record) {
    record_ = record;
    contents_.clear();
    content_bytes_ = 0;
    arena_.resize(value_bytes_);
    std::ranges::fill(arena_, std::byte{0});
    const bool is_of_layout = record.size() >= sizeof fingerprint_ &&
                              rows::copy_at<std::uint32_t>(record.data()) == fingerprint_;
    if (!is_of_layout) fail("(layout)", record.data(), "it is a record of another layout");
    const std::byte* const end = run(program_.object, 0, record.data() + sizeof fingerprint_);
    if (left(end) != 0) fail("(end)", end, fmt::format("{} bytes too many", left(end)));
    if (compute_) compute_(record, std::span(arena_).first(value_bytes_));
    return std::span(arena_).first(value_bytes_);
}

std::optional<std::span<const std::byte>>
object_of_record::plan::content(buffer_handle handle) const {
    if (handle.bits == 0) return std::span<const std::byte>();
    if (handle.bits > contents_.size()) return std::nullopt;
    const buffer& found = contents_[handle.bits - 1];
    return std::span(found.in_record ? found.in_record : arena_.data() + found.at, found.bytes);
}

const std::byte* object_of_record::plan::run(const record_steps& all, std::size_t at,
                                             const std::byte* from) {
    for (const record_step& one : all) {
        switch (one.what) {
        case step_kind::copy:
        case step_kind::skip:
            from = run_plain(one, at, from);
            break;
        case step_kind::integer:
            from = integer(one, at, from);
            break;
        case step_kind::floating:
            from = floating(one, at, from);
            break;
        case step_kind::text:
        case step_kind::fixed:
        case step_kind::skip_text:
            from = text(one, at, from);
            break;
        case step_kind::sequence:
            from = sequence(one, at, from);
            break;
        }
    }
    return from;
}

inline const std::byte* object_of_record::plan::run_plain(const record_step& one, std::size_t at,
                                                          const std::byte* from) {
    need(one, from, one.bytes);
    if (one.what == step_kind::copy) copy_run(arena_.data() + at + one.to, from, one.bytes);
    if (one.has_bools) {
        for (const step_values::bools& some : program_.values[one.values].of_bools)
            for (std::uint32_t i = 0; i < some.count; ++i)
                if (from[some.at + i] > std::byte{1}) fail(one, from, "not a bool", some.at + i);
    }
    return from + one.bytes;
}

const std::byte* object_of_record::plan::integer(const record_step& one, std::size_t at,
                                                 const std::byte* from) {
    need(one, from, one.bytes);
    const wide_integer value = wide_integer_at(from, one.bytes, one.is_signed);
    if (one.is_bool && value.bits > 1) fail(one, from, "not a bool");
    std::byte* const to = arena_.data() + at + one.to;
    std::memcpy(to, &value.bits, one.to_bytes);
    const bool fits = wide_integer_at(to, one.to_bytes, one.to_signed) == value &&
                      (!one.to_bool || value.bits <= 1);
    if (fits) return from + one.bytes;
    fail_value(one,
               value.is_negative ? fmt::format("{}", static_cast<int128>(value.bits))
                                 : fmt::format("{}", value.bits),
               one.to_bool ? "bool"
                           : fmt::format("{} integer of {} bits",
                                         one.to_signed ? "signed" : "unsigned", 8 * one.to_bytes));
}

const std::byte* object_of_record::plan::floating(const record_step& one, std::size_t at,
                                                  const std::byte* from) {
    need(one, from, one.bytes);
    std::byte* const to = arena_.data() + at + one.to;
    if (one.bytes == sizeof(float)) {
        const double value = widened(rows::copy_at<float>(from));
        std::memcpy(to, &value, sizeof value);
    } else {
        const auto value = rows::copy_at<double>(from);
        const float single = narrowed(value);
        const double back = widened(single);
        if (std::memcmp(&back, &value, sizeof back) != 0)
            fail_value(one, fmt::format("{}", value), "f32 without a loss");
        std::memcpy(to, &single, sizeof single);
    }
    return from + one.bytes;
}

/// The length that stands there.
inline std::uint64_t object_of_record::plan::length(const record_step& one,
                                                    const std::byte* from) const {
    need(one, from, length_bytes);
    return rows::copy_at<std::uint32_t>(from);
}

const std::byte* object_of_record::plan::text(const record_step& one, std::size_t at,
                                              const std::byte* from) {
    const std::uint64_t bytes = length(one, from);
    if (one.is_fixed && bytes > one.bytes)
        fail(one, from, fmt::format("{} bytes do not fit {}", bytes, one.bytes));
    from += length_bytes;
    need(one, from, bytes);
    const archive::bytes_view content(from, bytes);
    if (one.is_fixed && has_zero(content)) fail(one, from, "a zero byte in the text");
    if (one.what == step_kind::text) {
        store_handle(at + one.to, {from, 0, bytes});
    } else if (one.what == step_kind::fixed) {
        if (bytes > one.to_bytes || (!one.is_fixed && has_zero(content)))
            fail_value(one, quoted(content),
                       fmt::format("text of at most {} bytes, none of them zero", one.to_bytes));
        if (bytes != 0) std::memcpy(arena_.data() + at + one.to, from, bytes);
    }
    return from + bytes;
}

const std::byte* object_of_record::plan::sequence(const record_step& one, std::size_t at,
                                                  const std::byte* from) {
    const element_steps& of = *one.of;
    std::uint64_t count = of.count;
    if (of.has_length) {
        count = length(one, from);
        const bool is_impossible =
            of.from_bytes == 0 ? count != 0 : count * of.from_bytes > most_content;
        if (is_impossible) fail(one, from, fmt::format("no vector has {} elements", count));
        from += length_bytes;
    }
    need(one, from, count * of.least); // before memory is taken
    if (of.is_in_buffer) return new_vector(one, at, count, from);
    if (one.to == nowhere) return elements(one, at, count, from);
    from = elements(one, at + one.to, std::min(of.count, of.kept), from);
    return of.kept < of.count ? not_kept(one, from) : from;
}

/// Reads elements that lie from `at` on, or nowhere.
const std::byte* object_of_record::plan::elements(const record_step& one, std::size_t at,
                                                  std::uint64_t count, const std::byte* from) {
    const element_steps& of = *one.of;
    if (of.is_alike) {
        const std::uint64_t bytes = count * of.from_bytes;
        if (bytes != 0 && one.to != nowhere) std::memcpy(arena_.data() + at, from, bytes);
        return from + bytes;
    }
    for (std::uint64_t i = 0; i < count; ++i)
        from = run(of.each, at + i * of.to_bytes, from);
    return from;
}

const std::byte* object_of_record::plan::new_vector(const record_step& one, std::size_t at,
                                                    std::uint64_t count, const std::byte* from) {
    const element_steps& of = *one.of;
    const std::uint64_t bytes = count * of.to_bytes;
    if (of.is_alike) {
        store_handle(at + one.to, {from, 0, bytes});
        return from + bytes;
    }
    if (bytes > most_content)
        fail_value(one, fmt::format("a vector of {} elements", count), "buffer of at most 4 GiB");
    const std::size_t place = arena_.size();
    store_handle(at + one.to, {nullptr, place, bytes});
    arena_.resize(place + bytes);
    return elements(one, place, count, from);
}

/// What an array of fewer elements does not have must be defaults, which are zeros in a record.
const std::byte* object_of_record::plan::not_kept(const record_step& one, const std::byte* from) {
    const element_steps& of = *one.of;
    const std::byte* const begin = from;
    for (std::uint32_t i = of.kept; i < of.count; ++i)
        from = run(of.rest, 0, from);
    if (std::any_of(begin, from, [](std::byte byte) { return byte != std::byte{0}; }))
        fail_value(one, fmt::format("an array of {} elements", of.count),
                   fmt::format("array of {}: one of those behind is not its default", of.kept));
    return from;
}

/// Bounds what a small record can take.
void object_of_record::plan::take_content(std::uint64_t bytes) {
    content_bytes_ += bytes;
    if (content_bytes_ > most_content)
        throw limit_error(object_name() + ": its texts and vectors take more than 4 GiB; no state "
                                          "can hold it");
}

void object_of_record::plan::store_handle(std::size_t place, const buffer& of) {
    if (of.bytes == 0) return;
    take_content(of.bytes);
    contents_.push_back(of);
    const buffer_handle handle{contents_.size()};
    std::memcpy(arena_.data() + place, &handle, sizeof handle);
}

std::string object_of_record::plan::object_name() const {
    const std::size_t end = sizeof fingerprint_ + sizeof(std::uint32_t);
    if (record_.size() < end) return type_ + ", a record without an id";
    return fmt::format("{} {}", type_,
                       rows::copy_at<std::uint32_t>(record_.data() + sizeof fingerprint_));
}

void object_of_record::plan::fail(const std::string& field, const std::byte* from,
                                  const std::string& why) const {
    throw damaged_error(fmt::format("{}: field {}, offset {} of {} in the record: {}; take it "
                                    "from another copy of the state",
                                    object_name(), field, record_.size() - left(from),
                                    record_.size(), why));
}

void object_of_record::plan::fail(const record_step& one, const std::byte* from,
                                  const std::string& why, std::size_t at) const {
    const auto& values = program_.values[one.values].all;
    const auto next = std::ranges::find_if(
        values, [&](const step_values::place& value) { return value.at > at; });
    const step_values::place& found = *(next - 1); // the first is at 0
    fail(found.path, from + at, why);
}

void object_of_record::plan::fail_short(const record_step& one, const std::byte* from,
                                        std::uint64_t bytes) const {
    const bool is_run = one.what == step_kind::copy || one.what == step_kind::skip;
    fail(one, from,
         is_run ? "the record ends before it does"
                : fmt::format("needs {} bytes, {} left", bytes, left(from)),
         is_run ? left(from) : 0);
}

void object_of_record::plan::fail_value(const record_step& one, const std::string& value,
                                        const std::string& wanted) const {
    throw limit_error(fmt::format("{}: field {}: {} is no {}; change it in the old state, or take "
                                  "a larger type",
                                  object_name(), program_.values[one.values].all.front().path,
                                  value, wanted));
}

object_of_record::object_of_record(const type_schema& from, const type_schema& to,
                                   migration_rules rules)
    : plan_(std::make_unique<plan>(from, to, std::move(rules))) {}

object_of_record::~object_of_record() = default;

std::vector<field_change> object_of_record::changes(const type_schema& from, const type_schema& to,
                                                    const migration_rules& rules) {
    return layout_match(from, to, rules).changes();
}

std::span<const std::byte> object_of_record::read(archive::bytes_view record) {
    return plan_->read(record);
}

std::optional<std::span<const std::byte>> object_of_record::content(buffer_handle handle) const {
    return plan_->content(handle);
}

} // namespace chainbase::snapshot_file

#include <archive/record/described_record.hpp>
#include <archive/record/integers.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>
#include <chainbase/offline/snapshot_file/record_program.hpp>
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

constexpr std::uint64_t most_content = UINT32_MAX; ///< of a buffer, and of all of an object
constexpr std::uint32_t length_bytes = sizeof(std::uint32_t);

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
    program_ = compiled(match);
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

const char* to_string(field_change::kind what) noexcept {
    using kind = field_change::kind;
    switch (what) {
    case kind::same:
        return "same";
    case kind::widened:
        return "widened";
    case kind::renamed:
        return "renamed";
    case kind::narrowed:
        return "narrowed";
    case kind::added:
        return "added";
    case kind::dropped:
        return "dropped";
    case kind::impossible:
        break;
    }
    return "impossible";
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

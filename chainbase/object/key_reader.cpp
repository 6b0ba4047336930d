#include <chainbase/object/key_reader.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace chainbase::rows {

namespace {

using kind = value_type::kind;
using optional_order = std::optional<std::strong_ordering>;
using chainbase::detail::append_bytes;
using chainbase::detail::append_number;
using chainbase::detail::append_text;
using chainbase::detail::key_bits;
using chainbase::detail::key_bytes;
using chainbase::detail::wide_integer;
using chainbase::detail::wide_unsigned;

constexpr std::uint32_t wide_bytes = sizeof(wide_integer);

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename Number>
std::strong_ordering compare_as(const std::byte* a, const std::byte* b) noexcept {
    const auto x = copy_at<Number>(a);
    const auto y = copy_at<Number>(b);
    return x < y   ? std::strong_ordering::less
           : y < x ? std::strong_ordering::greater
                   : std::strong_ordering::equal;
}

std::strong_ordering compare_numbers(const value_type& type, const std::byte* a,
                                     const std::byte* b) noexcept {
    if (type.bytes == wide_bytes)
        return type.is_signed ? compare_as<wide_integer>(a, b) : compare_as<wide_unsigned>(a, b);
    const std::uint64_t x = integer_at(a, type.bytes, type.is_signed);
    const std::uint64_t y = integer_at(b, type.bytes, type.is_signed);
    return type.is_signed ? static_cast<std::int64_t>(x) <=> static_cast<std::int64_t>(y) : x <=> y;
}

template <typename Float>
optional_order compare_floats(const std::byte* a, const std::byte* b) {
    const auto order = copy_at<Float>(a) <=> copy_at<Float>(b);
    if (order == std::partial_ordering::unordered) return std::nullopt;
    return order < 0   ? std::strong_ordering::less
           : order > 0 ? std::strong_ordering::greater
                       : std::strong_ordering::equal;
}

/// Whether a value is of one of these kinds, or contains one.
bool has_any(const value_type& type, std::initializer_list<kind> of) {
    return std::ranges::find(of, type.what) != of.end() ||
           std::ranges::any_of(type.members,
                               [&](const auto& one) { return has_any(one.type, of); });
}

} // namespace

key_reader::key_reader(const type_schema& schema, const type_schema::key& key,
                       const buffer_source& buffers)
    : buffers_(buffers) {
    const bool is_hashed = key.kind.starts_with("hashed");
    for (const type_schema::part& one : key.parts) {
        const auto field = std::ranges::find(schema.fields, one.field, &type_schema::field::name);
        if (field == schema.fields.end()) {
            if (!one.field.starts_with("function"))
                throw damaged_error("key " + key.name + ": part " + one.field + " is no field");
            why_no_order_ = "part " + std::to_string(parts_.size()) + " is computed by a function";
            break;
        }
        value_type type = value_type::of(*field, schema.value_bytes);
        // A struct may have an operator< of its own; its members tell whether two are equal.
        if (has_any(type, {kind::opaque}) || (!is_hashed && has_any(type, {kind::structure}))) {
            why_no_order_ = "part " + one.field + " is of type " + field->type;
            break;
        }
        if (has_any(type, {kind::floating}))
            why_no_hash_ = "part " + one.field + " is of type " + field->type;
        parts_.push_back({std::move(type), field->offset, one.descending});
    }
    if (!why_no_order_.empty()) why_no_hash_ = why_no_order_;
}

optional_order key_reader::compare_contents(const value_type& element, std::span<const std::byte> a,
                                            std::span<const std::byte> b) const {
    const std::size_t each = element.bytes;
    if (each == 0) return a.size() <=> b.size();
    const std::size_t common = std::min(a.size(), b.size()) / each * each;
    for (std::size_t at = 0; at < common; at += each) {
        const auto order = compare_values(element, a.data() + at, b.data() + at);
        if (!order || *order != 0) return order;
    }
    return a.size() <=> b.size();
}

optional_order key_reader::compare_values(const value_type& type, const std::byte* a,
                                          const std::byte* b) const {
    switch (type.what) {
    case kind::boolean:
    case kind::number:
        return compare_numbers(type, a, b);
    case kind::floating:
        return type.bytes == 4 ? compare_floats<float>(a, b) : compare_floats<double>(a, b);
    case kind::fixed_text:
        return std::memcmp(a, b, type.bytes) <=> 0;
    case kind::array:
        return compare_contents(type.element(), {a, type.bytes}, {b, type.bytes});
    case kind::text:
    case kind::vector: {
        static const value_type byte{kind::number, false, 1, 1, {}};
        const auto x = content_of(a);
        const auto y = content_of(b);
        if (!x || !y) return std::nullopt;
        return compare_contents(type.what == kind::text ? byte : type.element(), *x, *y);
    }
    case kind::structure:
        for (const value_type::member& one : type.members) {
            const auto order = compare_values(one.type, a + one.offset, b + one.offset);
            if (!order || *order != 0) return order;
        }
        return std::strong_ordering::equal;
    case kind::opaque:
        break;
    }
    return std::nullopt;
}

optional_order key_reader::compare(const std::byte* a, const std::byte* b,
                                   std::size_t leading) const {
    for (const part& one : std::span(parts_).first(std::min(leading, parts_.size()))) {
        const auto order = compare_values(one.type, a + one.offset, b + one.offset);
        if (!order) return std::nullopt;
        if (*order != 0) return one.is_descending ? 0 <=> *order : *order;
    }
    if (leading > parts_.size() && !why_no_order_.empty()) return std::nullopt;
    return std::strong_ordering::equal;
}

/// As the program does (key_value.hpp).
bool key_reader::add_to(keyed_hash& hash, const value_type& type, const std::byte* at) const {
    switch (type.what) {
    case kind::boolean:
    case kind::number:
        if (type.bytes == wide_bytes) {
            hash.add(copy_at<std::uint64_t>(at));
            hash.add(copy_at<std::uint64_t>(at + sizeof(std::uint64_t)));
        } else {
            hash.add(integer_at(at, type.bytes, type.is_signed));
        }
        return true;
    case kind::fixed_text:
        for (std::uint32_t i = 0; i < type.bytes; i += 8) // the words of a fixed_string
            hash.add(copy_at<std::uint64_t>(at + i));
        return true;
    case kind::array:
        return add_all(hash, type.element(), {at, type.bytes});
    case kind::text:
    case kind::vector: {
        const auto content = content_of(at);
        if (!content) return false;
        if (type.what == kind::text || type.is_bytes()) {
            hash.add(as_text(*content));
            return true;
        }
        const std::uint32_t each = type.element().bytes;
        hash.add(std::uint64_t{each == 0 ? 0 : content->size() / each});
        return add_all(hash, type.element(), *content);
    }
    case kind::structure:
        return std::ranges::all_of(type.members, [&](const value_type::member& one) {
            return add_to(hash, one.type, at + one.offset);
        });
    case kind::floating:
    case kind::opaque:
        break;
    }
    return false;
}

bool key_reader::add_all(keyed_hash& hash, const value_type& element,
                         std::span<const std::byte> values) const {
    if (element.what == kind::number && element.bytes == 1 && !element.is_signed) {
        hash.add(as_text(values));
        return true;
    }
    for (std::size_t at = 0; element.bytes != 0 && at + element.bytes <= values.size();
         at += element.bytes)
        if (!add_to(hash, element, values.data() + at)) return false;
    return true;
}

std::optional<std::uint32_t> key_reader::hash(const std::byte* object,
                                              const hash_seed& seed) const {
    if (!why_no_hash_.empty()) return std::nullopt;
    keyed_hash hash(seed);
    for (const part& one : parts_)
        if (!add_to(hash, one.type, object + one.offset)) return std::nullopt;
    return static_cast<std::uint32_t>(hash.value() >> 32);
}

/// As the program does (key_bits.hpp).
template <typename Writer>
void key_reader::append_value(Writer& to, const value_type& type, const std::byte* at,
                              bool is_descending) const {
    const bool is_wide = type.bytes == wide_bytes;
    switch (type.what) {
    case kind::boolean:
    case kind::number:
        if (is_wide)
            append_number(to, copy_at<std::uint64_t>(at + sizeof(std::uint64_t)), 64,
                          type.is_signed, is_descending);
        if (is_wide)
            to.append(copy_at<std::uint64_t>(at), 64, is_descending);
        else
            append_number(to, integer_at(at, type.bytes, type.is_signed), 8 * type.bytes,
                          type.is_signed, is_descending);
        return;
    case kind::fixed_text:
        append_bytes(to, at, type.bytes, is_descending);
        return;
    case kind::text: {
        const auto content = content_of(at);
        if (!content) throw damaged_error("a text of its key is in no buffer");
        append_text(to, as_text(*content), is_descending);
        return;
    }
    case kind::array: {
        const std::uint32_t each = type.element().bytes;
        for (std::uint32_t i = 0; each != 0 && i + each <= type.bytes; i += each)
            append_value(to, type.element(), at + i, is_descending);
        return;
    }
    default:
        throw damaged_error("a part of a btree key is of a type that such a key cannot have");
    }
}

template <typename Writer>
void key_reader::append_bits(Writer& to, const std::byte* object, std::size_t leading) const {
    if (!why_no_order_.empty() && leading > parts_.size()) throw damaged_error(why_no_order_);
    for (const part& one : std::span(parts_).first(std::min(leading, parts_.size())))
        append_value(to, one.type, object + one.offset, one.is_descending);
}

std::uint64_t key_reader::leading_bits(const std::byte* object) const {
    key_bits bits(64);
    for (const part& one : parts_) {
        const bool has_none =
            has_any(one.type, {kind::floating, kind::vector, kind::structure, kind::opaque});
        if (bits.room() == 0 || has_none) break;
        append_value(bits, one.type, object + one.offset, one.is_descending);
    }
    return bits.key()[0];
}

btree_key slot_bits::read(slot_number slot) const {
    const std::byte* const object = objects_(slot);
    key_bits bits(bits_ == btree::any_length ? btree::first_bits : btree::max_bits);
    key_.append_bits(bits, object);
    if (!is_unique_) bits.append(copy_at<std::uint32_t>(object), 32, false);
    return bits.key();
}

std::string slot_bits::read_whole(slot_number slot) const {
    const std::byte* const object = objects_(slot);
    key_bytes bytes;
    key_.append_bits(bytes, object);
    if (!is_unique_) bytes.append(copy_at<std::uint32_t>(object), 32, false);
    return std::move(bytes.key());
}

btree_wanted slot_bits::key_of(slot_number slot) const {
    if (bits_ == btree::any_length) return btree_wanted(read_whole(slot));
    return read(slot);
}

/// A probe's own texts, with handles that no object of a segment has: numbers from 1.
class probe::texts final : public buffer_source {
public:
    explicit texts(const buffer_source& of_state) : of_state_(of_state) {}

    /// Copies all buffers of a value from `source` and makes its handles refer to the copies.
    /// Returns whether all of them were found.
    bool keep_all(const value_type& type, std::byte* at, const buffer_source& source) {
        switch (type.what) {
        case kind::text:
        case kind::vector: {
            const auto found = source.content({copy_at<std::uint64_t>(at)});
            if (!found) return false;
            std::string copy(as_text(*found));
            const auto bytes = std::as_writable_bytes(std::span(copy));
            const std::size_t each = type.what == kind::text ? 0 : type.element().bytes;
            for (std::size_t i = 0; each != 0 && i + each <= bytes.size(); i += each)
                if (!keep_all(type.element(), bytes.data() + i, source)) return false;
            const buffer_handle handle = keep(copy);
            std::memcpy(at, &handle.bits, sizeof handle.bits);
            return true;
        }
        case kind::array: {
            const std::uint32_t each = type.element().bytes;
            for (std::uint32_t i = 0; each != 0 && i < type.bytes; i += each)
                if (!keep_all(type.element(), at + i, source)) return false;
            return true;
        }
        case kind::structure:
            return std::ranges::all_of(type.members, [&](const value_type::member& one) {
                return keep_all(one.type, at + one.offset, source);
            });
        default:
            return true;
        }
    }
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override {
        if (handle.bits == 0 || handle.bits > kept_.size()) return of_state_.content(handle);
        return std::as_bytes(std::span(kept_[handle.bits - 1]));
    }

private:
    [[nodiscard]] buffer_handle keep(std::string_view text) {
        if (text.empty()) return {};
        kept_.emplace_back(text);
        return {kept_.size()};
    }

    const buffer_source& of_state_;
    std::deque<std::string> kept_;
};

probe::probe(const type_schema& schema, const type_schema::key& key, source from,
             const buffer_source& of_state, std::size_t leading)
    : texts_(std::make_unique<texts>(of_state)), key_(schema, key, *texts_),
      image_(from.object, from.object + schema.value_bytes),
      parts_(std::min(leading, key_.parts())), is_whole_(parts_ == key.parts.size()) {
    for (std::size_t part = 0; part < parts_; ++part) {
        const key_reader::part& one = key_.part_at(part);
        if (!texts_->keep_all(one.type, image_.data() + one.offset, from.buffers))
            throw damaged_error(schema.name + ": a text of its key is in no buffer");
    }
}

probe::~probe() = default;
probe::probe(probe&&) noexcept = default;

probe::part probe::part_at(std::size_t number) const {
    const key_reader::part& one = key_.part_at(number);
    return {one.type, one.is_descending, image_.data() + one.offset};
}

const buffer_source& probe::buffers() const noexcept {
    return *texts_;
}

std::strong_ordering probe::place_of(const std::byte* object) const {
    const auto order = key_.compare(object, image_.data(), parts_);
    if (!order)
        throw damaged_error("a text of an object's key is in no buffer; run chainbase-inspect "
                            "check");
    return *order;
}

btree_wanted probe::bound(std::size_t bits, bool is_last) const {
    if (bits == btree::any_length) {
        key_bytes bytes;
        key_.append_bits(bytes, image_.data(), parts_);
        return btree_wanted(std::move(bytes.key()), is_last);
    }
    key_bits of;
    key_.append_bits(of, image_.data(), parts_);
    if (is_last) of.fill();
    return of.key();
}

std::uint32_t probe::hash(const hash_seed& seed) const {
    return key_.hash(image_.data(), seed).value();
}

} // namespace chainbase::rows

#include <chainbase/rows/key_reader.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string_view>

namespace chainbase::rows {

namespace {

std::strong_ordering compare_numbers(const field_type& type, const std::byte* a,
                                     const std::byte* b) noexcept {
    const std::uint64_t x = integer_at(a, type.element, type.is_signed);
    const std::uint64_t y = integer_at(b, type.element, type.is_signed);
    return type.is_signed ? static_cast<std::int64_t>(x) <=> static_cast<std::int64_t>(y) : x <=> y;
}

template <typename Float>
std::optional<std::strong_ordering> compare_floats(const std::byte* a, const std::byte* b) {
    const auto order = copy_at<Float>(a) <=> copy_at<Float>(b);
    if (order == std::partial_ordering::unordered) return std::nullopt;
    return order < 0   ? std::strong_ordering::less
           : order > 0 ? std::strong_ordering::greater
                       : std::strong_ordering::equal;
}

} // namespace

key_reader::key_reader(const type_schema& schema, const type_schema::key& key,
                       const buffer_source& buffers)
    : buffers_(buffers) {
    for (const type_schema::part& one : key.parts) {
        const auto field = std::find_if(schema.fields.begin(), schema.fields.end(),
                                        [&](const auto& f) { return f.name == one.field; });
        if (field == schema.fields.end()) {
            if (one.field != "function")
                throw damaged_error("key " + key.name + ": part " + one.field + " is no field");
            why_no_order_ = "part " + std::to_string(parts_.size()) + " is computed by a function";
            break;
        }
        const field_type type = field_type::of(*field, schema.value_bytes);
        if (type.what == field_type::kind::not_described || type.what == field_type::kind::vector) {
            why_no_order_ = "part " + one.field + " is of type " + field->type;
            break;
        }
        const bool has_hash =
            type.what != field_type::kind::floating && type.what != field_type::kind::numbers;
        if (!has_hash) why_no_hash_ = "part " + one.field + " is of type " + field->type;
        parts_.push_back({type, one.descending});
    }
    if (!why_no_order_.empty()) why_no_hash_ = why_no_order_;
}

std::optional<std::string_view> key_reader::text_of(const std::byte* handle) const {
    const auto content = buffers_.content({copy_at<std::uint64_t>(handle)});
    if (!content) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(content->data()), content->size());
}

std::optional<std::strong_ordering>
key_reader::compare_part(const field_type& type, const std::byte* a, const std::byte* b) const {
    switch (type.what) {
    case field_type::kind::number:
        return compare_numbers(type, a, b);
    case field_type::kind::numbers:
        for (std::uint32_t at = 0; at < type.bytes; at += type.element)
            if (const auto order = compare_numbers(type, a + at, b + at); order != 0) return order;
        return std::strong_ordering::equal;
    case field_type::kind::floating:
        return type.element == 4 ? compare_floats<float>(a, b) : compare_floats<double>(a, b);
    case field_type::kind::fixed_text:
        return std::memcmp(a, b, type.bytes) <=> 0;
    case field_type::kind::text: {
        const auto x = text_of(a);
        const auto y = text_of(b);
        if (!x || !y) return std::nullopt;
        return *x <=> *y;
    }
    default:
        return std::nullopt;
    }
}

std::optional<std::strong_ordering> key_reader::compare(const std::byte* a, const std::byte* b,
                                                        std::size_t leading) const {
    for (const part& one : std::span(parts_).first(std::min(leading, parts_.size()))) {
        const auto order = compare_part(one.type, a + one.type.offset, b + one.type.offset);
        if (!order) return std::nullopt;
        if (*order != 0) return one.is_descending ? 0 <=> *order : *order;
    }
    if (leading > parts_.size() && !why_no_order_.empty()) return std::nullopt;
    return std::strong_ordering::equal;
}

std::optional<std::uint32_t> key_reader::hash(const std::byte* object,
                                              const hash_seed& seed) const {
    if (!why_no_hash_.empty()) return std::nullopt;
    keyed_hash hash(seed);
    for (const part& one : parts_) {
        const std::byte* at = object + one.type.offset;
        if (one.type.what == field_type::kind::number) {
            hash.add(integer_at(at, one.type.element, one.type.is_signed));
        } else if (one.type.what == field_type::kind::fixed_text) {
            for (std::uint32_t i = 0; i < one.type.bytes; i += 8) // the words of a fixed_string
                hash.add(copy_at<std::uint64_t>(at + i));
        } else {
            const auto text = text_of(at);
            if (!text) return std::nullopt;
            hash.add(*text);
        }
    }
    return static_cast<std::uint32_t>(hash.value() >> 32);
}

namespace {

const type_schema::field& field_called(const type_schema& schema, const std::string& name) {
    return *std::find_if(schema.fields.begin(), schema.fields.end(),
                         [&](const auto& field) { return field.name == name; });
}

[[noreturn]] void throw_no_value(const type_schema::field& field, const std::string& word) {
    throw usage_error(
        fmt::format("\"{}\" is no value of {}, which is of type {}", word, field.name, field.type));
}

template <typename Number>
std::optional<Number> number_in(std::string_view word) {
    Number found{};
    const char* const end = word.data() + word.size();
    const auto [stop, problem] = std::from_chars(word.data(), end, found);
    if (problem != std::errc() || stop != end) return std::nullopt;
    return found;
}

/// The lowest bytes of a number are its value in fewer; the machine is little-endian.
bool store_integer(std::byte* to, std::uint32_t bytes, bool is_signed, std::string_view word) {
    if (word == "true" || word == "false") word = word == "true" ? "1" : "0";
    std::uint64_t bits = 0;
    if (is_signed) {
        const auto found = number_in<std::int64_t>(word);
        if (!found) return false;
        bits = static_cast<std::uint64_t>(*found);
    } else {
        const auto found = number_in<std::uint64_t>(word);
        if (!found) return false;
        bits = *found;
    }
    std::memcpy(to, &bits, bytes);
    return integer_at(to, bytes, is_signed) == bits;
}

bool store_float(std::byte* to, std::uint32_t bytes, std::string_view word) {
    const auto found = number_in<double>(word);
    if (!found) return false;
    const auto single = static_cast<float>(*found);
    if (bytes == sizeof single)
        std::memcpy(to, &single, sizeof single);
    else
        std::memcpy(to, &*found, sizeof *found);
    return true;
}

bool store_fixed_text(std::byte* to, std::uint32_t bytes, std::string_view word) {
    if (word.size() > bytes || word.find('\0') != std::string_view::npos) return false;
    std::memcpy(to, word.data(), word.size());
    return true;
}

/// "[1,2,3]" or "1,2,3"
bool store_array(std::byte* to, const field_type& type, std::string_view word) {
    if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
    for (std::uint32_t at = 0; at < type.bytes; at += type.element) {
        const std::string_view one = word.substr(0, word.find(','));
        if (!store_integer(to + at, type.element, type.is_signed, one)) return false;
        const bool is_last = at + type.element >= type.bytes;
        if (is_last != (one.size() == word.size())) return false;
        word.remove_prefix(is_last ? one.size() : one.size() + 1);
    }
    return true;
}

} // namespace

/// The texts of a probe have handles that no object of a segment has: numbers from 1.
class probe::texts final : public buffer_source {
public:
    explicit texts(const buffer_source& of_state) : of_state_(of_state) {}

    [[nodiscard]] buffer_handle keep(std::string_view text) {
        if (text.empty()) return {};
        kept_.emplace_back(text);
        return {kept_.size()};
    }
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override {
        if (handle.bits == 0 || handle.bits > kept_.size()) return of_state_.content(handle);
        return std::as_bytes(std::span(kept_[handle.bits - 1]));
    }

private:
    const buffer_source& of_state_;
    std::deque<std::string> kept_;
};

probe::probe(const type_schema& schema, const type_schema::key& key,
             const std::vector<std::string>& words, const buffer_source& buffers)
    : texts_(std::make_unique<texts>(buffers)), key_(schema, key, *texts_),
      image_(schema.value_bytes), parts_(words.size()), is_whole_(parts_ == key.parts.size()) {
    if (parts_ > key.parts.size())
        throw usage_error(fmt::format("{}.{} has {} part{}, {} were given", schema.name, key.name,
                                      key.parts.size(), key.parts.size() == 1 ? "" : "s", parts_));
    if (parts_ > key_.parts())
        throw usage_error(fmt::format("{}.{} cannot be searched in: {}, which only the program "
                                      "that wrote the state understands",
                                      schema.name, key.name, key_.why_no_order()));
    for (std::size_t part = 0; part < parts_; ++part)
        set(part, field_called(schema, key.parts[part].field), words[part]);
}

probe::probe(const type_schema& schema, const type_schema::key& key, const std::byte* object,
             const buffer_source& buffers)
    : texts_(std::make_unique<texts>(buffers)), key_(schema, key, *texts_),
      image_(object, object + schema.value_bytes), parts_(key_.parts()),
      is_whole_(parts_ == key.parts.size()) {
    for (std::size_t part = 0; part < parts_; ++part) {
        const field_type& type = key_.part_at(part);
        if (type.what != field_type::kind::text) continue;
        const auto content = buffers.content({copy_at<std::uint64_t>(object + type.offset)});
        if (!content) throw damaged_error(schema.name + ": a text of its key is in no buffer");
        const auto handle =
            texts_->keep({reinterpret_cast<const char*>(content->data()), content->size()});
        std::memcpy(image_.data() + type.offset, &handle.bits, sizeof handle.bits);
    }
}

probe::~probe() = default;
probe::probe(probe&&) noexcept = default;

void probe::set(std::size_t part, const type_schema::field& field, const std::string& word) {
    const field_type& type = key_.part_at(part);
    std::byte* const to = image_.data() + type.offset;
    bool is_set = false;
    switch (type.what) {
    case field_type::kind::number:
        is_set = store_integer(to, type.element, type.is_signed, word);
        break;
    case field_type::kind::numbers:
        is_set = store_array(to, type, word);
        break;
    case field_type::kind::floating:
        is_set = store_float(to, type.element, word);
        break;
    case field_type::kind::fixed_text:
        is_set = store_fixed_text(to, type.bytes, word);
        break;
    case field_type::kind::text: {
        const buffer_handle handle = texts_->keep(word);
        std::memcpy(to, &handle.bits, sizeof handle.bits);
        is_set = true;
        break;
    }
    case field_type::kind::vector:
    case field_type::kind::not_described:
        break; // no parts that the key reader knows
    }
    if (!is_set) throw_no_value(field, word);
}

probe::part probe::part_at(std::size_t number) const {
    const field_type& type = key_.part_at(number);
    std::span<const std::byte> value(image_.data() + type.offset, type.bytes);
    if (type.what == field_type::kind::text)
        value = texts_->content({copy_at<std::uint64_t>(value.data())}).value();
    else if (type.what == field_type::kind::fixed_text)
        value = value.first(strnlen(reinterpret_cast<const char*>(value.data()), type.bytes));
    return {type, key_.is_descending(number), value};
}

std::strong_ordering probe::place_of(const std::byte* object) const {
    const auto order = key_.compare(object, image_.data(), parts_);
    if (!order)
        throw damaged_error("a text of an object's key is in no buffer; run chainbase-inspect "
                            "check");
    return *order;
}

std::uint32_t probe::hash(const hash_seed& seed) const {
    return key_.hash(image_.data(), seed).value();
}

} // namespace chainbase::rows

#include <archive/record/described_record.hpp>
#include <archive/record/integers.hpp>
#include <archive/record/record.hpp>
#include <archive/record/record_codec.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>

#include <boost/core/demangle.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace chainbase::archive::detail {
namespace {

std::string to_string(const field_path& path) {
    return path.outer && path.outer->name ? to_string(*path.outer) + "." + path.name : path.name;
}

std::string hex(std::uint32_t value) {
    char text[11];
    std::snprintf(text, sizeof text, "0x%08x", value);
    return text;
}

} // namespace

void record_reader::fail(const field_path& path, const std::string& reason) const {
    throw damaged_error("record of " + boost::core::demangle(type_->name()) + ", field " +
                        to_string(path) + ", offset " + std::to_string(at_) + " of " +
                        std::to_string(record_.size()) + ": " + reason +
                        "; the row is damaged: restore the archive from a backup or rebuild it by "
                        "a replay");
}

void record_reader::fail_short(const field_path& path, std::size_t count) const {
    fail(path, "needs " + std::to_string(count) + " bytes, " + std::to_string(left()) + " left");
}

void fail_schema(const std::type_info& type, std::uint32_t found, std::uint32_t expected,
                 const std::string& layout) {
    throw schema_error("record of " + boost::core::demangle(type.name()) +
                       " was written with layout " + hex(found) + ", this program has " +
                       hex(expected) + " = " + layout +
                       "; use the program that wrote it, or rebuild the archive by a replay");
}

void fail_length(std::size_t size) {
    throw limit_error("a record counts bytes and elements with 32 bits; this value has " +
                      std::to_string(size));
}

} // namespace chainbase::archive::detail

namespace chainbase::archive {

namespace {

using rows::value_type;
using kind = value_type::kind;

/// As the codecs of detail/record_codec.hpp call it.
std::string layout_of(const value_type& type) {
    switch (type.what) {
    case kind::boolean:
        return "bool";
    case kind::number:
        return type.is_id ? "id" : fmt::format("{}{}", type.is_signed ? 'i' : 'u', 8 * type.bytes);
    case kind::floating:
        return fmt::format("f{}", 8 * type.bytes);
    case kind::fixed_text:
        return fmt::format("text<{}>", type.bytes);
    case kind::text:
        return "text";
    case kind::vector:
        return fmt::format("[{}]", layout_of(type.element()));
    case kind::array:
        return fmt::format("[{};{}]", layout_of(type.element()), type.count());
    case kind::structure: {
        std::string text;
        for (const value_type::member& one : type.members)
            text += fmt::format("{}{}:{}", text.empty() ? "{" : ",", one.name, layout_of(one.type));
        text += '}';
        return text;
    }
    case kind::opaque:
        break;
    }
    constexpr std::uint32_t longest_integer = 16; // no other bytes<16> has a record
    return type.bytes == longest_integer ? "u128" : fmt::format("bytes<{}>", type.bytes);
}

bool is_described(const value_type& type) {
    return type.what != kind::opaque &&
           std::all_of(type.members.begin(), type.members.end(),
                       [](const value_type::member& one) { return is_described(one.type); });
}

void append_number(byte_buffer& to, std::uint32_t number) {
    const std::size_t at = to.size();
    to.resize(at + sizeof number);
    detail::store_little(to.data() + at, number);
}

/// Steps over the values of one field of a record, and says what is wrong with them.
class field_walk {
public:
    field_walk(const std::string& name, bytes_view& left) : name_(name), left_(left) {}

    void step_over(const value_type& type) {
        switch (type.what) {
        case kind::boolean:
            if (const bytes_view one = take(1); !one.empty() && one.front() > std::byte{1})
                fail(fmt::format("field {}: not a bool", name_));
            break;
        case kind::fixed_text:
        case kind::text: {
            const std::uint32_t length = take_length();
            if (type.what == kind::fixed_text && length > type.bytes)
                fail(fmt::format("field {}: {} bytes do not fit {}", name_, length, type.bytes));
            take(length);
            break;
        }
        case kind::vector:
            step_over(type.element(), take_length());
            break;
        case kind::array:
            step_over(type.element(), type.count());
            break;
        case kind::structure:
            for (const value_type::member& one : type.members)
                step_over(one.type);
            break;
        default:
            take(type.bytes);
        }
    }
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

private:
    void step_over(const value_type& element, std::size_t count) {
        for (std::size_t i = 0; i < count && problem_.empty(); ++i) {
            const std::size_t before = left_.size();
            step_over(element);
            if (left_.size() == before) return; // nor do the others take any
        }
    }
    bytes_view take(std::size_t bytes) {
        if (!problem_.empty()) return {};
        if (left_.size() < bytes) {
            fail("ends within field " + name_);
            return {};
        }
        const bytes_view taken = left_.first(bytes);
        left_ = left_.subspan(bytes);
        return taken;
    }
    std::uint32_t take_length() {
        if (problem_.empty() && left_.size() < sizeof(std::uint32_t))
            fail("ends before field " + name_);
        const bytes_view length = take(sizeof(std::uint32_t));
        return length.empty() ? 0 : detail::load_little<std::uint32_t>(length.data());
    }
    void fail(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
    }

    const std::string& name_;
    bytes_view& left_;
    std::string problem_;
};

} // namespace

described_record::described_record(const type_schema& schema) : type_(schema.name) {
    for (const type_schema::field& one : schema.fields) {
        if (std::uint64_t{one.offset} + one.bytes > schema.value_bytes)
            throw damaged_error(fmt::format("{}: field {} is not within an object of {} bytes",
                                            schema.name, one.name, schema.value_bytes));
        const value_type type = value_type::of(one.type, one.bytes);
        layout_ += fmt::format("{}{}:{}", layout_.empty() ? "{" : ",", one.name, layout_of(type));
        if (!is_described(type)) undescribed_.push_back(one.name);
        add(steps_, type, one.offset, static_cast<std::uint32_t>(fields_.size()));
        fields_.push_back(one.name);
        types_.push_back(type);
    }
    layout_ += layout_.empty() ? "{}" : "}";
    detail::hash_sink sink;
    sink.put(layout_);
    fingerprint_ = sink.hash;
}

void described_record::add(steps& to, const value_type& type, std::uint32_t offset,
                           std::uint32_t field) {
    switch (type.what) {
    case kind::fixed_text:
        to.push_back({step::kind::fixed_text, offset, type.bytes, field});
        break;
    case kind::text:
        to.push_back({step::kind::text, offset, type.bytes, field});
        break;
    case kind::vector:
        add_elements(to, step::kind::vector, type, offset, field);
        break;
    case kind::array:
        add_elements(to, step::kind::array, type, offset, field);
        break;
    case kind::structure:
        for (const value_type::member& one : type.members)
            add(to, one.type, offset + one.offset, field);
        break;
    default: // numbers are the same in memory and in a record
        if (!to.empty() && to.back().what == step::kind::copy &&
            to.back().offset + to.back().bytes == offset)
            to.back().bytes += type.bytes;
        else
            to.push_back({step::kind::copy, offset, type.bytes, field});
    }
}

void described_record::add_elements(steps& to, step::kind what, const value_type& type,
                                    std::uint32_t offset, std::uint32_t field) {
    step all{what, offset, type.bytes, field, type.element().bytes};
    add(all.of_an_element, type.element(), 0, field);
    const bool is_plain = all.of_an_element.size() == 1 &&
                          all.of_an_element.front().what == step::kind::copy &&
                          all.of_an_element.front().bytes == all.stride;
    if (is_plain) all.of_an_element.clear();
    to.push_back(std::move(all));
}

bytes_view described_record::content(const step& one, const std::byte* object,
                                     const rows::buffer_source& buffers) const {
    const auto found = buffers.content({rows::copy_at<std::uint64_t>(object + one.offset)});
    const bool is_whole = found && (one.stride == 0 || found->size() % one.stride == 0);
    if (is_whole) return *found;
    throw damaged_error(fmt::format("{}: field {} of an object refers to bytes in no buffer; run "
                                    "chainbase-inspect check",
                                    type_, fields_[one.field]));
}

void described_record::run_elements(const step& one, bytes_view elements,
                                    const rows::buffer_source& buffers, byte_buffer& to) const {
    if (one.of_an_element.empty()) return chainbase::archive::append(to, elements);
    for (; elements.size() >= one.stride && one.stride != 0;
         elements = elements.subspan(one.stride))
        run(one.of_an_element, elements.data(), buffers, to);
}

void described_record::run(const steps& all, const std::byte* object,
                           const rows::buffer_source& buffers, byte_buffer& to) const {
    for (const step& one : all) {
        bytes_view bytes(object + one.offset, one.bytes);
        switch (one.what) {
        case step::kind::copy:
            chainbase::archive::append(to, bytes);
            break;
        case step::kind::fixed_text:
            bytes = bytes.first(strnlen(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
            append_number(to, static_cast<std::uint32_t>(bytes.size()));
            chainbase::archive::append(to, bytes);
            break;
        case step::kind::text:
            bytes = content(one, object, buffers);
            append_number(to, static_cast<std::uint32_t>(bytes.size()));
            chainbase::archive::append(to, bytes);
            break;
        case step::kind::vector:
            bytes = content(one, object, buffers);
            append_number(
                to, static_cast<std::uint32_t>(one.stride == 0 ? 0 : bytes.size() / one.stride));
            run_elements(one, bytes, buffers, to);
            break;
        case step::kind::array:
            run_elements(one, bytes, buffers, to);
            break;
        }
    }
}

bool described_record::has_buffers(const steps& all) noexcept {
    return std::ranges::any_of(all, [](const step& one) {
        return one.what == step::kind::text || one.what == step::kind::vector ||
               has_buffers(one.of_an_element);
    });
}

void described_record::append(const std::byte* object, const rows::buffer_source& buffers,
                              byte_buffer& to) const {
    append_number(to, fingerprint_);
    run(steps_, object, buffers, to);
}

std::string described_record::problem_of(bytes_view content, std::uint32_t id) const {
    if (!undescribed_.empty()) return {};
    bytes_view left = content;
    for (std::size_t number = 0; number < fields_.size(); ++number) {
        const bytes_view value = left;
        field_walk field(fields_[number], left);
        field.step_over(types_[number]);
        if (!field.problem().empty()) return field.problem();
        if (number > 0 || types_[number].bytes != sizeof id) continue;
        if (const auto found = detail::load_little<std::uint32_t>(value.data()); found != id)
            return fmt::format("holds object {}", found);
    }
    return left.empty() ? std::string() : fmt::format("{} bytes too many", left.size());
}

} // namespace chainbase::archive

#include <pool_allocator/base/error.hpp>
#include <tools/python/columns.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

namespace chainbase::python {

using value_kind = rows::value_type::kind;

// --- growing_bytes ---

void growing_bytes::reserve(std::size_t bytes) noexcept {
    if (bytes <= room_) return;
    auto* const moved = static_cast<std::byte*>(std::realloc(bytes_.get(), bytes));
    if (!moved) return;
    static_cast<void>(bytes_.release());
    bytes_.reset(moved);
    room_ = bytes;
}

std::byte* growing_bytes::extend(std::size_t more) {
    if (room_ - size_ < more) reserve(std::max(size_ + more, 2 * room_));
    if (room_ - size_ < more) throw std::bad_alloc();
    std::byte* const begin = bytes_.get() + size_;
    size_ += more;
    return begin;
}

void growing_bytes::append(const std::byte* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(extend(bytes), from, bytes);
}

growing_bytes::owned growing_bytes::release() noexcept {
    size_ = room_ = 0;
    return std::move(bytes_);
}

// --- column ---

namespace {

/// Copies `Width` bytes of each object.
template <std::size_t Width>
void gather(std::span<const std::byte* const> objects, std::uint32_t offset, std::byte* to) {
    for (const std::byte* const object : objects) {
        std::memcpy(to, object + offset, Width);
        to += Width;
    }
}

void gather(std::span<const std::byte* const> objects, std::uint32_t offset, std::uint32_t width,
            std::byte* to) {
    switch (width) {
    case 1:
        return gather<1>(objects, offset, to);
    case 2:
        return gather<2>(objects, offset, to);
    case 4:
        return gather<4>(objects, offset, to);
    case 8:
        return gather<8>(objects, offset, to);
    case 16:
        return gather<16>(objects, offset, to);
    case 32:
        return gather<32>(objects, offset, to);
    default:
        for (const std::byte* const object : objects) {
            std::memcpy(to, object + offset, width);
            to += width;
        }
    }
}

/// A struct is one column a member.
void add_columns(std::vector<column>& to, const std::string& name, const rows::value_type& type,
                 std::uint32_t offset, column::form as) {
    if (type.what != value_kind::structure) {
        to.emplace_back(name, type, offset, as);
        return;
    }
    for (const rows::value_type::member& one : type.members)
        add_columns(to, name + "." + one.name, one.type, offset + one.offset, as);
}

bool is_called(const column& one, std::string_view name) {
    const std::string& its = one.name();
    return its.starts_with(name) && (its.size() == name.size() || its[name.size()] == '.');
}

} // namespace

column::column(std::string name, rows::value_type type, std::uint32_t offset, form as)
    : name_(std::move(name)), type_(std::move(type)), offset_(offset), width_(type_.bytes) {
    const bool has_element = type_.what == value_kind::vector || type_.what == value_kind::array;
    const bool is_bytes = has_element && (type_.is_bytes() || type_.element().bytes == 0);
    if (type_.what == value_kind::text || (type_.what == value_kind::vector && is_bytes) ||
        (type_.what == value_kind::fixed_text && as == form::arrow))
        what_ = kind::text;
    else if (type_.what == value_kind::vector)
        what_ = kind::list;
    else if (type_.what == value_kind::array && !is_bytes)
        what_ = kind::array;
    else if (type_.what == value_kind::structure)
        what_ = kind::structure;
    if (what_ == kind::text || what_ == kind::list) offsets_.push_back(0);
    if (what_ == kind::array) count_ = type_.count();
    if (what_ == kind::list || what_ == kind::array)
        children_.emplace_back("item", type_.element(), 0, as);
    if (what_ == kind::structure)
        for (const rows::value_type::member& one : type_.members)
            children_.emplace_back(one.name, one.type, one.offset, as);
}

std::vector<column> column::of(const type_schema& schema, const std::vector<std::string>& names,
                               form as) {
    std::vector<column> all;
    for (const type_schema::field& one : schema.fields)
        add_columns(all, one.name, rows::value_type::of(one, schema.value_bytes), one.offset, as);
    if (names.empty()) return all;
    std::vector<column> chosen;
    for (const std::string& name : names) {
        const std::size_t before = chosen.size();
        for (const column& one : all)
            if (is_called(one, name))
                chosen.push_back(column(one.name_, one.type_, one.offset_, as));
        if (chosen.size() != before) continue;
        std::vector<std::string> known;
        for (const column& one : all)
            known.push_back(one.name_);
        throw usage_error(fmt::format("{} has no column \"{}\"; it has {}", schema.name, name,
                                      fmt::join(known, ", ")));
    }
    return chosen;
}

column column::together(std::vector<column> members) {
    column all({}, {value_kind::structure, false, 0, 1, {}}, 0, form::arrow);
    all.rows_ = members.front().rows_;
    all.children_ = std::move(members);
    return all;
}

bool column::is_text() const noexcept {
    return type_.what == value_kind::text || type_.what == value_kind::fixed_text;
}

std::span<const std::byte> column::content(const std::byte* at,
                                           const rows::buffer_source& buffers) const {
    if (type_.what == value_kind::fixed_text)
        return {at, strnlen(reinterpret_cast<const char*>(at), type_.bytes)};
    const auto found = buffers.content({rows::copy_at<std::uint64_t>(at)});
    const std::size_t each = what_ == kind::list ? type_.element().bytes : 1;
    if (found && found->size() % each == 0) return *found;
    throw damaged_error(
        fmt::format("column {}: a text or vector of an object refers to bytes in no "
                    "buffer; run chainbase-inspect check",
                    name_));
}

void column::append_run(const std::byte* first, std::size_t count, std::size_t stride,
                        const rows::buffer_source& buffers) {
    if (what_ == kind::fixed && stride == width_) {
        values_.append(first, count * width_);
        rows_ += count;
        return;
    }
    for (; count > 0; --count, first += stride)
        append_one(first, buffers);
}

void column::append_one(const std::byte* at, const rows::buffer_source& buffers) {
    switch (what_) {
    case kind::fixed:
        values_.append(at, width_);
        break;
    case kind::text: {
        const auto found = content(at, buffers);
        values_.append(found.data(), found.size());
        offsets_.push_back(static_cast<std::int64_t>(values_.size()));
        break;
    }
    case kind::list: {
        const auto found = content(at, buffers);
        const std::size_t each = type_.element().bytes;
        children_[0].append_run(found.data(), found.size() / each, each, buffers);
        offsets_.push_back(static_cast<std::int64_t>(children_[0].rows_));
        break;
    }
    case kind::array:
        children_[0].append_run(at, count_, type_.element().bytes, buffers);
        break;
    case kind::structure:
        for (column& one : children_)
            one.append_one(at + one.offset_, buffers);
        break;
    }
    ++rows_;
}

void column::append(std::span<const std::byte* const> objects, const rows::buffer_source& buffers) {
    if (what_ == kind::fixed) {
        gather(objects, offset_, width_, values_.extend(objects.size() * width_));
        rows_ += objects.size();
        return;
    }
    for (const std::byte* const object : objects)
        append_one(object + offset_, buffers);
}

void column::reserve(std::size_t rows) {
    if (what_ == kind::fixed) values_.reserve(rows * width_);
    if (what_ == kind::array) children_[0].reserve(rows * count_);
}

std::size_t column::bytes() const noexcept {
    std::size_t all = values_.size() + offsets_.size() * sizeof(std::int64_t);
    for (const column& one : children_)
        all += one.bytes();
    return all;
}

} // namespace chainbase::python

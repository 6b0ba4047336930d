#include <chainbase/offline/rows/described_buffers.hpp>

#include <utility>

namespace chainbase::rows {

described_buffers::described_buffers(const type_schema& schema) {
    layouts_.push_back({schema.value_bytes, {}});
    places all;
    for (const type_schema::field& field : schema.fields) {
        add(all, value_type::of(field, schema.value_bytes), field.offset);
    }
    layouts_.front().places = places_.emplace_back(std::move(all));
}

void described_buffers::add(places& to, const value_type& type, std::uint32_t offset) {
    static constexpr buffer_layout flat{};
    switch (type.what) {
    case value_type::kind::text:
        to.push_back({offset, &flat});
        break;
    case value_type::kind::vector:
        to.push_back({offset, &layout_of(type.element())});
        break;
    case value_type::kind::array: {
        const std::uint32_t each = type.element().bytes;
        for (std::uint32_t at = 0; each != 0 && at < type.bytes; at += each)
            add(to, type.element(), offset + at);
        break;
    }
    case value_type::kind::structure:
        for (const value_type::member& one : type.members)
            add(to, one.type, offset + one.offset);
        break;
    default:
        break;
    }
}

const buffer_layout& described_buffers::layout_of(const value_type& element) {
    places all;
    add(all, element, 0);
    const places& kept = places_.emplace_back(std::move(all));
    return layouts_.emplace_back(buffer_layout{element.bytes, kept});
}

} // namespace chainbase::rows

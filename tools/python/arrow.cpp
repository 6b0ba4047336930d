#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/python/arrow.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::python {

namespace {

using value_kind = rows::value_type::kind;

/// The format string of a column (CDataInterface, "Data type description").
std::string format_of(const column& of, arrow_texts texts) {
    const rows::value_type& type = of.type();
    switch (of.what()) {
    case column::kind::text:
        return of.is_text() && texts == arrow_texts::utf8 ? "U" : "Z";
    case column::kind::list:
        return "+L";
    case column::kind::array:
        return fmt::format("+w:{}", of.count());
    case column::kind::structure:
        return "+s";
    case column::kind::fixed:
        break;
    }
    if (type.what == value_kind::boolean) return "b";
    if (type.what == value_kind::floating) return type.bytes == 4 ? "f" : "g";
    if (type.what != value_kind::number) return fmt::format("w:{}", type.bytes);
    switch (type.bytes) {
    case 1:
        return type.is_signed ? "c" : "C";
    case 2:
        return type.is_signed ? "s" : "S";
    case 4:
        return type.is_signed ? "i" : "I";
    case 8:
        return type.is_signed ? "l" : "L";
    default:
        return "d:38,0";
    }
}

// --- schemas ---

struct schema_owner {
    std::string format;
    std::string name;
    std::vector<ArrowSchema> children;
    std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* which) {
    auto* const owner = static_cast<schema_owner*>(which->private_data);
    for (ArrowSchema& child : owner->children)
        if (child.release) child.release(&child);
    delete owner;
    which->release = nullptr;
}

void export_schema(std::string format, std::string name, const std::vector<column>& children,
                   arrow_texts texts, ArrowSchema* out) {
    auto owner = std::make_unique<schema_owner>();
    owner->format = std::move(format);
    owner->name = std::move(name);
    owner->children.resize(children.size());
    for (ArrowSchema& child : owner->children)
        owner->pointers.push_back(&child);
    *out = {};
    out->format = owner->format.c_str();
    out->name = owner->name.c_str();
    out->n_children = static_cast<std::int64_t>(children.size());
    out->children = owner->pointers.data();
    out->release = release_schema;
    out->private_data = owner.get();
    schema_owner& own = *owner.release();
    try {
        for (std::size_t i = 0; i < children.size(); ++i)
            export_schema(format_of(children[i], texts), children[i].name(), children[i].children(),
                          texts, &own.children[i]);
    } catch (...) {
        out->release(out);
        throw;
    }
}

// --- arrays ---

/// A column and those below it, which refer to their own memory.
struct array_owner {
    column values;
    std::vector<std::byte> bits; ///< of bool
    std::array<const void*, 3> buffers{};
    std::vector<ArrowArray> children;
    std::vector<ArrowArray*> pointers;

    explicit array_owner(column&& from) : values(std::move(from)) {}
};

void release_array(ArrowArray* which) {
    auto* const owner = static_cast<array_owner*>(which->private_data);
    for (ArrowArray& child : owner->children)
        if (child.release) child.release(&child);
    delete owner;
    which->release = nullptr;
}

/// Not all readers know that nothing needs no memory.
const void* memory_of(const std::byte* bytes) {
    alignas(64) static constexpr std::byte nothing[64]{};
    return bytes ? bytes : nothing;
}

std::vector<std::byte> bits_of(const column& of) {
    std::vector<std::byte> bits((of.rows() + 7) / 8);
    for (std::size_t i = 0; i < of.rows(); ++i)
        if (of.values().data()[i] != std::byte{0}) bits[i / 8] |= std::byte{1} << i % 8;
    return bits;
}

/// All together are UTF-8 and each begins with a whole character: so each is UTF-8.
void require_utf8(const column& of, const std::string& type) {
    const std::byte* const bytes = of.values().data();
    bool is_text = inspect::is_utf8({reinterpret_cast<const char*>(bytes), of.values().size()});
    for (const std::int64_t at : of.offsets()) {
        const auto place = static_cast<std::size_t>(at);
        if (place < of.values().size() && (bytes[place] & std::byte{0xC0}) == std::byte{0x80})
            is_text = false;
    }
    if (!is_text)
        throw usage_error(fmt::format("{}.{} has a text that is no UTF-8; read texts as bytes: "
                                      "arrow(texts=\"binary\")",
                                      type, of.name()));
}

/// decimal128 has 38 digits.
void require_38_digits(const column& of, const std::string& type) {
    using wide = __int128;
    wide most = 1;
    for (int digit = 0; digit < 38; ++digit)
        most *= 10;
    for (std::size_t i = 0; i < of.rows(); ++i) {
        const auto value = rows::copy_at<wide>(of.values().data() + i * sizeof(wide));
        if (value < most && value > -most && (of.type().is_signed || value >= 0)) continue;
        throw usage_error(fmt::format("{}.{} has an integer of more than 38 digits, which Arrow "
                                      "does not know; leave this column out, or take columns()",
                                      type, of.name()));
    }
}

void check(const column& of, const std::string& type, arrow_texts texts) {
    if (of.what() == column::kind::text && of.is_text() && texts == arrow_texts::utf8)
        require_utf8(of, type);
    if (of.type().what == value_kind::number && of.type().bytes == sizeof(__int128))
        require_38_digits(of, type);
}

void export_array(column&& from, const std::string& type, arrow_texts texts, ArrowArray* out) {
    check(from, type, texts);
    auto owner = std::make_unique<array_owner>(std::move(from));
    column& of = owner->values;
    *out = {};
    out->length = static_cast<std::int64_t>(of.rows());
    out->n_buffers = 2;
    switch (of.what()) {
    case column::kind::fixed:
        if (of.type().what == value_kind::boolean) owner->bits = bits_of(of);
        owner->buffers[1] = memory_of(of.type().what == value_kind::boolean ? owner->bits.data()
                                                                            : of.values().data());
        break;
    case column::kind::text:
        out->n_buffers = 3;
        owner->buffers[1] = of.offsets().data();
        owner->buffers[2] = memory_of(of.values().data());
        break;
    case column::kind::list:
        owner->buffers[1] = of.offsets().data();
        break;
    default:
        out->n_buffers = 1;
    }
    owner->children.resize(of.children().size());
    for (ArrowArray& child : owner->children)
        owner->pointers.push_back(&child);
    out->n_children = static_cast<std::int64_t>(owner->children.size());
    out->buffers = owner->buffers.data();
    out->children = owner->pointers.data();
    out->release = release_array;
    out->private_data = owner.get();
    array_owner& own = *owner.release();
    try {
        for (std::size_t i = 0; i < own.children.size(); ++i)
            export_array(std::move(own.values.children()[i]), type, texts, &own.children[i]);
    } catch (...) {
        out->release(out);
        throw;
    }
}

// --- streams ---

class stream {
public:
    stream(std::unique_ptr<column_stream> from, arrow_texts texts, std::size_t rows)
        : from_(std::move(from)), texts_(texts), rows_(rows) {}

    void get_schema(ArrowSchema* out) { export_schema("+s", "", from_->empty(), texts_, out); }
    void get_next(ArrowArray* out) {
        *out = {};
        std::vector<column> columns = from_->next(rows_);
        if (columns.empty() || columns.front().rows() == 0) return;
        export_array(column::together(std::move(columns)), from_->type(), texts_, out);
    }

    std::string problem;

private:
    std::unique_ptr<column_stream> from_;
    arrow_texts texts_;
    std::size_t rows_;
};

template <typename Call>
int guarded(ArrowArrayStream* of, Call&& call) noexcept {
    auto& its = *static_cast<stream*>(of->private_data);
    try {
        call(its);
        return 0;
    } catch (const inspect::state_changed&) {
        its.problem = block_is_gone;
        return EIO;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const std::exception& problem) {
        its.problem = problem.what();
        return EIO;
    } catch (...) {
        return EIO;
    }
}

} // namespace

void export_stream(std::unique_ptr<column_stream> from, arrow_texts texts, std::size_t rows,
                   ArrowArrayStream* out) {
    *out = {};
    out->private_data = new stream(std::move(from), texts, rows);
    out->get_schema = [](ArrowArrayStream* of, ArrowSchema* to) {
        return guarded(of, [&](stream& its) { its.get_schema(to); });
    };
    out->get_next = [](ArrowArrayStream* of, ArrowArray* to) {
        return guarded(of, [&](stream& its) { its.get_next(to); });
    };
    out->get_last_error = [](ArrowArrayStream* of) {
        return static_cast<stream*>(of->private_data)->problem.c_str();
    };
    out->release = [](ArrowArrayStream* of) {
        delete static_cast<stream*>(of->private_data);
        of->release = nullptr;
    };
}

} // namespace chainbase::python

// Python.h comes first: it defines what other headers look at.
#define PY_SSIZE_T_CLEAN
#include <archive/record/integers.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/row_reader.hpp>
#include <tools/python/values.hpp>

#include <Python.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace chainbase::python {

using kind = rows::value_type::kind;

namespace {

struct drop_reference {
    void operator()(PyObject* of) const noexcept { Py_XDECREF(of); }
};
/// A reference of its own.
using owned = std::unique_ptr<PyObject, drop_reference>;

owned own(PyObject* made) {
    if (!made) throw python_error();
    return owned(made);
}

PyObject* text_of(std::string_view text) {
    const auto size = static_cast<Py_ssize_t>(text.size());
    PyObject* const made = PyUnicode_DecodeUTF8(text.data(), size, "strict");
    if (made || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) return made;
    PyErr_Clear();
    return PyBytes_FromStringAndSize(text.data(), size);
}

PyObject* bytes_of(archive::bytes_view bytes) {
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                     static_cast<Py_ssize_t>(bytes.size()));
}

PyObject* number_of(const rows::value_type& type, const std::byte* at) {
    if (type.bytes > 8)
        return _PyLong_FromByteArray(reinterpret_cast<const unsigned char*>(at), type.bytes,
                                     /*little_endian=*/1, type.is_signed ? 1 : 0);
    const std::uint64_t bits = rows::integer_at(at, type.bytes, type.is_signed);
    return type.is_signed ? PyLong_FromLongLong(static_cast<long long>(bits))
                          : PyLong_FromUnsignedLongLong(bits);
}

PyObject* float_of(const rows::value_type& type, const std::byte* at) {
    return PyFloat_FromDouble(type.bytes == sizeof(float)
                                  ? static_cast<double>(rows::copy_at<float>(at))
                                  : rows::copy_at<double>(at));
}

/// A tuple of a class that was made for it.
owned tuple_of(PyObject* made_as, std::size_t size) {
    if (!made_as) return own(PyTuple_New(static_cast<Py_ssize_t>(size)));
    auto* const type = reinterpret_cast<PyTypeObject*>(made_as);
    return own(type->tp_alloc(type, static_cast<Py_ssize_t>(size)));
}

} // namespace

// --- records as rows ---

/// A record from front to back.
class row_maker::reading {
public:
    reading(const std::string& type, archive::bytes_view record) : type_(type), left_(record) {}

    [[nodiscard]] owned value(const node& of) {
        field_ = &of;
        return own(new_value(of));
    }
    [[nodiscard]] PyObject* structure(const node& of) {
        owned row = tuple_of(of.made_as, of.members.size());
        for (std::size_t i = 0; i < of.members.size(); ++i)
            PyTuple_SET_ITEM(row.get(), static_cast<Py_ssize_t>(i), value(of.members[i]).release());
        return row.release();
    }
    archive::bytes_view take(std::size_t bytes) {
        if (bytes > left_.size()) fail("ends before its value does");
        const archive::bytes_view taken = left_.first(bytes);
        left_ = left_.subspan(bytes);
        return taken;
    }
    void require_end() const {
        if (!left_.empty()) fail("has more bytes than its type");
    }

private:
    [[noreturn]] void fail(const char* what) const {
        throw damaged_error(fmt::format("a record of {} {}{}; run chainbase-inspect check", type_,
                                        what, field_ ? " (field " + field_->name + ")" : ""));
    }
    [[nodiscard]] std::size_t length() {
        return archive::detail::load_little<std::uint32_t>(take(sizeof(std::uint32_t)).data());
    }
    [[nodiscard]] PyObject* elements(const node& of, std::size_t count) {
        const bool is_bytes = of.type.is_bytes() || of.type.element().bytes == 0;
        if (is_bytes) return bytes_of(take(count * of.type.element().bytes));
        if (count > left_.size()) fail("has fewer elements than it says"); // of a byte at least
        owned all = tuple_of(nullptr, count);
        for (std::size_t i = 0; i < count; ++i)
            PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), value(of.members[0]).release());
        return all.release();
    }
    [[nodiscard]] PyObject* new_value(const node& of) {
        const rows::value_type& type = of.type;
        switch (type.what) {
        case kind::boolean:
            return PyBool_FromLong(take(1)[0] != std::byte{0});
        case kind::number:
            return number_of(type, take(type.bytes).data());
        case kind::floating:
            return float_of(type, take(type.bytes).data());
        case kind::fixed_text:
        case kind::text:
            return text_of(archive::as_text(take(length())));
        case kind::vector:
            return elements(of, length());
        case kind::array:
            return elements(of, type.count());
        case kind::structure:
            return structure(of);
        case kind::opaque:
            break;
        }
        return bytes_of(take(type.bytes));
    }

    const std::string& type_;
    archive::bytes_view left_;
    const node* field_ = nullptr;
};

void row_maker::give_class(node& to, PyObject* class_of) {
    const owned names = own(PyTuple_New(static_cast<Py_ssize_t>(to.members.size())));
    for (std::size_t i = 0; i < to.members.size(); ++i)
        PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                         own(text_of(to.members[i].name)).release());
    const owned name = own(text_of(to.name));
    to.made_as =
        own(PyObject_CallFunctionObjArgs(class_of, name.get(), names.get(), nullptr)).release();
}

row_maker::node row_maker::node_of(std::string name, const rows::value_type& type,
                                   PyObject* class_of) {
    node made{type, std::move(name), nullptr, {}};
    for (const rows::value_type::member& one : type.members)
        made.members.push_back(
            node_of(one.name.empty() ? made.name : one.name, one.type, class_of));
    if (type.what == kind::structure) give_class(made, class_of);
    return made;
}

row_maker::row_maker(const type_schema& schema, PyObject* class_of)
    : type_(schema.name), all_{{}, schema.name, nullptr, {}} {
    for (const type_schema::field& one : schema.fields)
        all_.members.push_back(
            node_of(one.name, rows::value_type::of(one, schema.value_bytes), class_of));
    give_class(all_, class_of);
}

void row_maker::drop(node& of) noexcept {
    Py_CLEAR(of.made_as);
    for (node& one : of.members)
        drop(one);
}

row_maker::~row_maker() {
    drop(all_);
}

PyObject* row_maker::row(archive::bytes_view record) const {
    reading from(type_, record);
    from.take(sizeof(std::uint32_t)); // the fingerprint
    owned made(from.structure(all_));
    from.require_end();
    return made.release();
}

// --- values as keys ---

namespace {

[[noreturn]] void refuse(const char* wanted) {
    PyErr_Clear();
    throw usage_error(fmt::format("is no {}", wanted));
}

std::string_view bytes_in(PyObject* value, bool also_text) {
    if (also_text && PyUnicode_Check(value)) {
        Py_ssize_t size = 0;
        const char* const text = PyUnicode_AsUTF8AndSize(value, &size);
        if (!text) refuse("text");
        return {text, static_cast<std::size_t>(size)};
    }
    if (!PyBytes_Check(value)) refuse(also_text ? "str or bytes" : "bytes");
    return {PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value))};
}

void store_number(const rows::value_type& type, PyObject* value, std::byte* to) {
    const owned whole(PyNumber_Index(value)); // also of NumPy
    const auto store = [&] {
        auto* const number = reinterpret_cast<PyLongObject*>(whole.get());
        auto* const bytes = reinterpret_cast<unsigned char*>(to);
        constexpr int little_endian = 1;
#if PY_VERSION_HEX >= 0x030D0000
        return _PyLong_AsByteArray(number, bytes, type.bytes, little_endian, type.is_signed, 1);
#else
        return _PyLong_AsByteArray(number, bytes, type.bytes, little_endian, type.is_signed);
#endif
    };
    if (!whole || store() != 0)
        refuse(fmt::format("{} integer of {} bits", type.is_signed ? "signed" : "unsigned",
                           8 * type.bytes)
                   .c_str());
}

void store(const rows::value_type& type, PyObject* value, std::byte* to, key_values& all);

void store_elements(const rows::value_type& element, PyObject* value, std::size_t count,
                    std::byte* to, key_values& all) {
    const owned each(PySequence_Fast(value, ""));
    if (!each || static_cast<std::size_t>(PySequence_Fast_GET_SIZE(each.get())) != count)
        refuse(fmt::format("sequence of {} values", count).c_str());
    for (std::size_t i = 0; i < count; ++i)
        store(element, PySequence_Fast_GET_ITEM(each.get(), static_cast<Py_ssize_t>(i)),
              to + i * element.bytes, all);
}

void store_vector(const rows::value_type& type, PyObject* value, std::byte* to, key_values& all) {
    if (type.is_bytes()) return all.store(bytes_in(value, false), to);
    const Py_ssize_t count = PySequence_Size(value);
    if (count < 0) refuse("sequence");
    std::string content(static_cast<std::size_t>(count) * type.element().bytes, '\0');
    store_elements(type.element(), value, static_cast<std::size_t>(count),
                   reinterpret_cast<std::byte*>(content.data()), all);
    all.store(content, to);
}

void store_bytes(const rows::value_type& type, PyObject* value, std::byte* to) {
    const std::string_view bytes = bytes_in(value, type.what == kind::fixed_text);
    const bool is_text = type.what == kind::fixed_text;
    if (is_text && (bytes.size() > type.bytes || bytes.find('\0') != bytes.npos))
        refuse(fmt::format("text of at most {} bytes, none of them zero", type.bytes).c_str());
    if (!is_text && bytes.size() != type.bytes)
        refuse(fmt::format("value of {} bytes", type.bytes).c_str());
    std::memcpy(to, bytes.data(), bytes.size());
}

void store_structure(const rows::value_type& type, PyObject* value, std::byte* to,
                     key_values& all) {
    const owned each(PySequence_Fast(value, ""));
    if (!each ||
        static_cast<std::size_t>(PySequence_Fast_GET_SIZE(each.get())) != type.members.size())
        refuse(fmt::format("row, or tuple, of {} members", type.members.size()).c_str());
    for (std::size_t i = 0; i < type.members.size(); ++i)
        store(type.members[i].type,
              PySequence_Fast_GET_ITEM(each.get(), static_cast<Py_ssize_t>(i)),
              to + type.members[i].offset, all);
}

void store(const rows::value_type& type, PyObject* value, std::byte* to, key_values& all) {
    switch (type.what) {
    case kind::boolean:
        if (!PyBool_Check(value)) refuse("bool");
        *to = std::byte{value == Py_True};
        return;
    case kind::number:
        return store_number(type, value, to);
    case kind::floating: {
        const double found = PyFloat_AsDouble(value);
        if (found == -1 && PyErr_Occurred()) refuse("number");
        const auto single = static_cast<float>(found);
        type.bytes == sizeof single ? std::memcpy(to, &single, sizeof single)
                                    : std::memcpy(to, &found, sizeof found);
        return;
    }
    case kind::text:
        return all.store(bytes_in(value, true), to);
    case kind::vector:
        return store_vector(type, value, to, all);
    case kind::array:
        if (!type.is_bytes()) return store_elements(type.element(), value, type.count(), to, all);
        return store_bytes(type, value, to);
    case kind::structure:
        return store_structure(type, value, to, all);
    case kind::fixed_text:
    case kind::opaque:
        return store_bytes(type, value, to);
    }
}

} // namespace

key_values key_of(const type_schema& schema, const type_schema::key& key, PyObject* given,
                  std::size_t first) {
    key_values all(schema);
    all.parts = static_cast<std::size_t>(PyTuple_GET_SIZE(given)) - first;
    inspect::require_parts(schema, key, all.parts);
    for (std::size_t part = 0; part < all.parts; ++part) {
        PyObject* const value = PyTuple_GET_ITEM(given, static_cast<Py_ssize_t>(first + part));
        const auto field =
            std::ranges::find(schema.fields, key.parts[part].field, &type_schema::field::name);
        if (field == schema.fields.end())
            throw usage_error(fmt::format("{}.{} cannot be searched in: part {} is computed by the "
                                          "program that wrote the state",
                                          schema.name, key.name, part));
        try {
            store(rows::value_type::of(*field, schema.value_bytes), value,
                  all.object() + field->offset, all);
        } catch (const usage_error& problem) {
            const owned shown(PyObject_Repr(value));
            if (!shown) PyErr_Clear();
            throw usage_error(fmt::format("{} {}, as which {}.{} is searched by {} ({})",
                                          shown ? PyUnicode_AsUTF8(shown.get()) : "the value",
                                          problem.what(), schema.name, key.name, field->name,
                                          field->type));
        }
    }
    return all;
}

std::uint32_t id_of(PyObject* value) {
    const owned whole(PyNumber_Index(value));
    const long long id = whole ? PyLong_AsLongLong(whole.get()) : -1;
    if (id >= 0 && id <= static_cast<long long>(UINT32_MAX)) return static_cast<std::uint32_t>(id);
    PyErr_Clear();
    const owned shown(PyObject_Repr(value));
    if (!shown) PyErr_Clear();
    throw usage_error(fmt::format("{} is not an id, which is a whole number below 2^32",
                                  shown ? PyUnicode_AsUTF8(shown.get()) : "the value"));
}

} // namespace chainbase::python

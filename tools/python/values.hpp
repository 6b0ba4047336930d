#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>
#include <tools/python/table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct _object; // Python's

/// Everything here requires the GIL.
namespace chainbase::python {

/// An exception of Python that is set: throw it on, and let Python have it.
struct python_error {};

/// Makes rows, which are tuples of classes of their own, of records.
class row_maker {
public:
    /// `class_of` is called with a name and the names of fields, and returns a subclass of tuple;
    /// once for the type, and for each struct in it. Throws python_error.
    row_maker(const type_schema& schema, _object* class_of);
    ~row_maker();
    row_maker(const row_maker&) = delete;
    row_maker& operator=(const row_maker&) = delete;

    /// A new reference. Throws damaged_error naming type and field for a record that is none of the
    /// type, python_error.
    [[nodiscard]] _object* row(archive::bytes_view record) const;
    /// Borrowed.
    [[nodiscard]] _object* row_class() const noexcept { return all_.made_as; }

private:
    struct node {
        rows::value_type type;
        std::string name;
        _object* made_as = nullptr; ///< of a struct
        std::vector<node> members;  ///< of a struct; of a vector or an array its element
    };
    class reading;

    [[nodiscard]] static node node_of(std::string name, const rows::value_type& type,
                                      _object* class_of);
    static void give_class(node& to, _object* class_of);
    static void drop(node& of) noexcept;

    std::string type_;
    node all_;
};

/// Sets the leading parts of a key to values of Python: `given` is a tuple of them, of which those
/// from `first` on are taken. Throws usage_error naming the part for a value that is none of its
/// type, or too many.
[[nodiscard]] key_values key_of(const type_schema& schema, const type_schema::key& key,
                                _object* given, std::size_t first = 0);

/// Throws usage_error for what is not a whole number below 2^32.
[[nodiscard]] std::uint32_t id_of(_object* value);

} // namespace chainbase::python

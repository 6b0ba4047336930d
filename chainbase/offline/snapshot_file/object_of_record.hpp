#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace chainbase::snapshot_file {

/// How the fields of an older layout become those of a newer one, beyond what names and types say.
///
/// A field is named by its path: "paid" is a field, "paid.amount" a member of the structs in it,
/// also when these are elements of a vector or an array.
struct migration_rules {
    /// Path in the new layout -> path in the old one, of which it gets the value. A member stays in
    /// its struct: "paid.value" -> "price.amount" needs "paid" -> "price", too.
    std::map<std::string, std::string> renamed;
    /// Paths in the old layout whose content may be lost. A path stands for itself only, not for
    /// the members of a struct that stays. What is named here and cannot be converted to the field
    /// of the same name is lost, too, and that field begins with its default.
    std::set<std::string> dropped;
    /// Computes fields of the new object: gets the record in the old layout, and the object, of
    /// which all other fields are set; may change bytes of fields that are no text and no vector,
    /// and not the id. Empty: nothing is computed.
    std::function<void(archive::bytes_view record, std::span<std::byte> object)> compute;
    /// Whether rules that name no field of the old layout are left out, as it may be of another
    /// age: a field that has its new name already is not renamed, unless its content may be lost.
    bool may_not_apply = false;
};

/// What happens to a field.
struct field_change {
    enum class kind {
        same,       ///< the same values; members of a struct may have another order
        widened,    ///< never fails: see object_of_record
        renamed,    ///< and may be widened, too
        narrowed,   ///< may fail for single objects: each value is checked; may be renamed, too
        added,      ///< gets its default: 0, empty
        dropped,    ///< its content is lost
        impossible, ///< of types that have nothing in common
    };
    kind what;
    std::string field; ///< path in the new layout; of dropped ones in the old
    std::string was;   ///< old type, after the old name if it was renamed; empty: added
    std::string now;   ///< new type; empty: dropped

    friend bool operator==(const field_change&, const field_change&) = default;
};
/// "renamed".
[[nodiscard]] const char* to_string(field_change::kind what) noexcept;

/// Makes objects, as a layout has them in memory, from canonical records of the same layout or of
/// another one.
///
/// Fields are matched by `rules.renamed`, then by name; the same for members of structs, also in
/// vectors and arrays. What has no match in the old layout gets its default. A value can become:
///
///     bool              bool, integer                  -> integer checked: 0 or 1
///     integer           integer                        checked unless the type has all old values
///     f32, f64          the other                      -> f32 checked: exactly the same value
///     fixed_string<N>   fixed_string<M>, shared_string -> M < N checked: its length
///     shared_string     fixed_string<N>                checked: its length, no zero byte
///     T[N]              U[M], shared_vector<U>         -> M < N checked: the rest are defaults
///     shared_vector<T>  shared_vector<U>
///     struct            struct, member by member
///     not described     the same type of as many bytes
///
/// Enums and ids are integers. T becomes U by these rules. NaN keeps its sign and the leading bits
/// of its payload; one whose other bits are not zero is no f32.
///
/// Invariants:
/// 1. Every byte of the object that is in no field is zero, and so is the rest of a fixed_string:
///    equal content gives equal bytes, but for the handles of texts and vectors.
/// 2. A record is read only if described_record makes the same record of the object that is made
///    (for the same layout). So one object has one record, and one record one object.
/// 3. A record takes time in proportion to its bytes, and memory at most its bytes times a constant
///    of the two layouts: the largest quotient of an element's bytes in memory and the fewest that
///    it has in a record. Texts and vectors of one object never take more than 4 GiB.
///
/// One thread at a time.
class object_of_record final : public rows::buffer_source {
public:
    /// `from`: the layout of the records; both may be destroyed afterwards. Throws usage_error
    /// naming all fields that would be lost and are not in `rules.dropped`, or that cannot be
    /// converted, and all rules that name no field or that cannot be followed; for a new layout
    /// that has not the id of the old one. Throws damaged_error for a layout that does not fit
    /// itself: a field outside of the object, no id as the first field.
    object_of_record(const type_schema& from, const type_schema& to, migration_rules rules = {});
    explicit object_of_record(const type_schema& of) : object_of_record(of, of) {}
    ~object_of_record() override;

    /// What happens to the fields, in the order of the new layout, then those that are dropped. All
    /// fields are listed, and behind each one its members that do not stay the same. Does not throw
    /// usage_error for what the constructor refuses.
    [[nodiscard]] static std::vector<field_change>
    changes(const type_schema& from, const type_schema& to, const migration_rules& rules = {});

    /// The bytes of the object's value; its texts and vectors are those of this source. Valid until
    /// the next call, and content() as long as the bytes of `record`, too. Throws damaged_error
    /// naming type, id, field and offset for a record that is none of `from`, limit_error naming
    /// type, id, field and value for one that the new type cannot hold. After an exception, the
    /// next call may be made. The id is the record's: the caller compares it to the row's.
    [[nodiscard]] std::span<const std::byte> read(archive::bytes_view record);

    /// Buffers of the object read last. Nothing for a handle that it does not have.
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;

private:
    class plan;
    std::unique_ptr<plan> plan_;
};

} // namespace chainbase::snapshot_file

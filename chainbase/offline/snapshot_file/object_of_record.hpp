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
struct migration_rules {
    /// Of a field of the new layout: which of the old one it was.
    std::map<std::string, std::string> renamed;
    /// Fields of the old layout whose content may be lost.
    std::set<std::string> dropped;
    /// Computes fields of the new object: gets the record in the old layout, and the object, of
    /// which all other fields are set; may change bytes of fields that are no text and no vector.
    /// Empty: nothing is computed.
    std::function<void(archive::bytes_view record, std::span<std::byte> object)> compute;
};

/// What happens to a field.
struct field_change {
    enum class kind {
        same,
        renamed,  ///< and may be widened, too
        widened,  ///< a number of more bytes, an enum to its integer, a longer fixed text or array
        narrowed, ///< may fail for single objects: each value is checked
        added,    ///< gets its default: 0, empty
        dropped,
        impossible, ///< of types that have nothing in common
    };
    kind what;
    std::string field; ///< in the new layout; of dropped ones in the old
    std::string was;   ///< old type, and name if it was renamed; empty: added
    std::string now;   ///< new type; empty: dropped
};

/// Makes objects, as a layout has them in memory, from canonical records of the same layout or of
/// another one, whose fields are matched by name. The same for members of structs.
///
/// One thread at a time.
class object_of_record final : public rows::buffer_source {
public:
    /// `from`: the layout of the records; both may be destroyed afterwards. Throws usage_error
    /// naming fields that would be lost and are not in `rules.dropped`, that cannot be converted,
    /// or whose bytes the catalogue does not describe and that differ; for rules that name no
    /// field.
    object_of_record(const type_schema& from, const type_schema& to, migration_rules rules = {});
    explicit object_of_record(const type_schema& of) : object_of_record(of, of) {}
    ~object_of_record() override;

    /// What happens to the fields, in the order of the new layout, then those that are dropped.
    /// Does not throw for what the constructor refuses.
    [[nodiscard]] static std::vector<field_change>
    changes(const type_schema& from, const type_schema& to, const migration_rules& rules = {});

    /// The bytes of the object's value; its texts and vectors are those of this source; all valid
    /// until the next call. Throws damaged_error naming type, id, field and offset for a record
    /// that is none of `from`, limit_error for a value that does not fit the new type.
    [[nodiscard]] std::span<const std::byte> read(archive::bytes_view record);

    /// Buffers of the object read last.
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override;

private:
    class plan;
    std::unique_ptr<plan> plan_;
};

} // namespace chainbase::snapshot_file

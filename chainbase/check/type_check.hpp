#pragma once

#include <chainbase/check/buffer_check.hpp>
#include <chainbase/check/mapped_state.hpp>
#include <chainbase/check/object_slots.hpp>
#include <chainbase/rows/key_reader.hpp>
#include <chainbase/rows/type_layout.hpp>

#include <cstdint>
#include <optional>

namespace chainbase::check {

/// Looks at one type: its pool, ids, each key, and the buffers its objects refer to.
class type_check {
public:
    /// `type` and `buffers` outlive it. Adds the parts "objects", "ids", one for each key, and
    /// "buffers", to `to`.
    type_check(const mapped_state::type& type, buffer_check& buffers, part_report& to);

    /// The objects; null when nothing could be told of them.
    [[nodiscard]] const object_slots* objects() const noexcept {
        return objects_ ? &*objects_ : nullptr;
    }
    [[nodiscard]] const type_schema& schema() const noexcept { return *type_.schema; }
    /// The id that the next object gets.
    [[nodiscard]] std::uint32_t next_id() const noexcept { return next_id_; }
    /// The slot of the object that has this id.
    [[nodiscard]] std::optional<slot_number> find(std::uint32_t id) const noexcept;

private:
    bool check_objects(part_report& to);
    void hurt_altered();
    void check_ids(part_report& to);
    void check_id(std::uint32_t id, std::vector<bool>& by_id, part_report& to);
    void check_container(part_report& to);
    void check_keys(part_report& to);
    void check_references(part_report& to);

    const mapped_state::type& type_;
    buffer_check& buffers_;
    rows::type_layout layout_;
    std::vector<rows::field_type> references_; ///< fields that refer to buffers
    std::optional<object_slots> objects_;
    std::uint32_t next_id_ = 0;
    std::uint32_t known_ids_ = 0; ///< of which the table is in the file
};

} // namespace chainbase::check

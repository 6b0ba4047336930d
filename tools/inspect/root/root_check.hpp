#pragma once

#include <archive/store.hpp>
#include <tools/inspect/root/root_record.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// A contradiction to the state's root.
struct root_fault {
    enum class kind : std::uint8_t {
        record,        ///< an object of the record: root_record::contradictions()
        type,          ///< a type's objects, of which none can be named
        unreadable,    ///< an unreadable object
        other_content, ///< an object whose content differs from the root
        not_in_root,   ///< an object missing in the root
        not_in_state,  ///< an object of the root missing in the state
    };
    static constexpr std::array<std::string_view, 6> names{
        "record", "type", "unreadable", "other_content", "not_in_root", "not_in_state"};

    kind what = kind::record;
    std::string type;
    std::optional<std::uint32_t> id; ///< nothing: the whole type
    std::string text{};              ///< the message
    bool is_archived = false;        ///< the object is only in the archive
    std::string row{};               ///< the object as JSON; empty: missing, or unknown
};

/// A list of faults: counts all, and keeps the first of each kind. One thread at a time.
class root_faults {
public:
    static constexpr std::size_t kinds = root_fault::names.size();

    /// `limit`: how many of each kind are kept; 0: all.
    explicit root_faults(std::uint64_t limit) : limit_(limit) {}

    void add(root_fault one);

    [[nodiscard]] std::uint64_t count(root_fault::kind what) const noexcept {
        return counts_[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::uint64_t total() const noexcept;
    /// The kept faults of a kind, in the order added.
    [[nodiscard]] const std::vector<root_fault>& named(root_fault::kind what) const noexcept {
        return named_[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::vector<root_fault>& named(root_fault::kind what) noexcept {
        return named_[static_cast<std::size_t>(what)];
    }

private:
    std::uint64_t limit_;
    std::array<std::uint64_t, kinds> counts_{};
    std::array<std::vector<root_fault>, kinds> named_;
};

/// What a comparison of all objects with the root has found.
struct root_verification {
    std::uint64_t objects = 0;
    std::uint64_t archived_objects = 0; ///< of these, the ones that are only in the archive
    root_faults faults;
};

/// Hashes all objects of the types that `record` names, in memory and in the archive, and compares
/// them with it: type by type and, where a type differs and the file of leaves is of this root
/// (chainbase/state_root/leaves_file.hpp), object by object.
///
/// Uses `threads` threads; keeps `limit` faults of each kind, 0: all. `archive` may be null: there
/// is none. Throws state_changed, damaged_error when the archive lacks rows, and what reading
/// throws.
[[nodiscard]] root_verification verify_root(unchanging_state& state, const root_record& record,
                                            const archive::store* archive, unsigned threads,
                                            std::uint64_t limit);

} // namespace chainbase::inspect

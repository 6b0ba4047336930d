#pragma once

#include <archive/store.hpp>
#include <chainbase/sha256.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A state, or a file of roots, that is compared with another one.
class bisected_side {
public:
    /// An object; without JSON: it is not there, or cannot be read.
    struct row : inspect::object_row {
        std::string problem; ///< why it cannot be read
    };

    /// Throws what known_roots::read and looking at a state throw.
    explicit bisected_side(const std::filesystem::path& source);

    [[nodiscard]] bool is_state() const noexcept { return state_.has_value(); }
    /// From here on it is looked at as it is at this moment: of a state, throws moved_meanwhile
    /// then and below when it is another one.
    void hold();
    /// Takes a turn.
    void require_held();
    [[nodiscard]] known_roots roots();
    /// Of a state.
    [[nodiscard]] inspect::still_state& held() noexcept { return *still_; }
    /// Of a state: one of its objects, in memory or archived.
    [[nodiscard]] row find(const std::string& type, std::uint32_t id);

private:
    [[nodiscard]] row read(const std::string& type, std::uint32_t id);

    std::optional<known_roots> file_; ///< read once: it may be a pipe
    std::optional<inspect::row_source> state_;
    std::optional<inspect::still_state> still_;
    std::unique_ptr<archive::store> archive_;
    bool is_archive_open_ = false;
};

/// Where two runs of a chain began to differ, and in what.
struct bisection {
    /// The first block with another root.
    struct block {
        std::uint64_t number = 0;
        known_roots::entry a;
        known_roots::entry b;
        /// From this block on all roots are the same again: what differs is in what was kept of
        /// those between, not in the states. Nothing: they are not.
        std::optional<std::uint64_t> same_again;

        /// The block itself did the same: what differs was changed by something else before it.
        /// Nothing: nobody knows.
        [[nodiscard]] std::optional<bool> has_same_writes() const noexcept { return a.wrote_as(b); }
    };
    /// An object that is not the same.
    struct object {
        struct field {
            std::string name;
            std::string a; ///< as in a table
            std::string b;
        };
        std::string type;
        std::uint32_t id = 0;
        std::string a; ///< JSON; empty: not there, or cannot be read
        std::string b;
        std::vector<field> fields;           ///< that differ, if it is in both
        std::vector<std::string> unreadable; ///< why it cannot be read in one of them
    };
    /// Something of a state that is not what its own root says, though no block changed it.
    struct fault {
        std::string kind; ///< as `chainbase-inspect root --verify` has them, or "block_root"
        std::string type;
        std::uint32_t id = 0;
        std::string what;
    };
    /// One of the two.
    struct side {
        std::filesystem::path path;
        bool is_state = false;  ///< else a file of roots
        std::uint64_t head = 0; ///< the last block whose root it has
        /// Objects that were looked at one by one; nothing: they were not.
        std::optional<std::uint64_t> objects;
        /// They could not be: transactions wait on top of the last block, which the root is of.
        bool has_pending = false;
        std::uint64_t fault_count = 0;
        std::vector<fault> faults; ///< the first ones
    };

    side a;
    side b;
    std::uint64_t first_compared = 0; ///< blocks
    std::uint64_t last_compared = 0;
    std::optional<block> differs; ///< nothing: all blocks that both have are the same
    /// A state changed each time that its objects were tried, or has_pending: they were not looked
    /// at.
    bool has_moved = false;
    std::uint64_t object_count = 0; ///< that two states do not have in common, after their heads
    std::vector<object> objects;    ///< the first ones

    [[nodiscard]] bool is_different() const noexcept {
        return differs || object_count != 0 || a.fault_count != 0 || b.fault_count != 0;
    }

    /// Compares the roots of blocks, of two states or files; then what two states differ in, by
    /// their trees, if a root differs or both stand at the same block; and, if nothing differs,
    /// whether the objects of each are what its root says. Of objects at most `limit` are named.
    ///
    /// No turn of a writer is held up longer than inspect::row_source::slice. Throws usage_error
    /// when they have no block in common, are of other chains or commit to other types, and what
    /// looking at a state throws.
    [[nodiscard]] static bisection of(const std::filesystem::path& a,
                                      const std::filesystem::path& b, std::size_t limit);
};

/// For people, and as one JSON object.
[[nodiscard]] std::string to_text(const bisection& found);
[[nodiscard]] std::string to_json(const bisection& found);

} // namespace chainbase::driver

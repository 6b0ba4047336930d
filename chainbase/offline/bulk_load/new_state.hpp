#pragma once

#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/bulk_load/key_loaders.hpp>
#include <chainbase/offline/rows/described_buffers.hpp>
#include <chainbase/offline/rows/type_layout.hpp>
#include <chainbase/offline/rows/type_rows.hpp>
#include <chainbase/segment/segment.hpp>
#include <undo/undo_log.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::bulk_load {

/// Puts the objects of one type into a segment that does not have the type yet. One of them is at
/// work at a time. After an exception the segment must not be used.
class object_loader {
public:
    /// `to` outlives it. Requires that `to` has no session, and makes no checkpoints
    /// meanwhile. Throws damaged_error when the schema does not fit itself, and what
    /// segment::open_type throws.
    object_loader(segment& to, const type_schema& schema);

    /// Adds an object: the bytes of its value, whose texts and vectors are those of `from`. Throws
    /// usage_error when its id was added already, damaged_error when a text is nowhere,
    /// out_of_space_error, limit_error.
    void add(const std::byte* value, const rows::buffer_source& from);
    /// Links all keys, and makes the type known: the end. `next_id` is the one that the next object
    /// gets; at least above all that were added. Throws duplicate_key_error naming key and ids,
    /// usage_error for a key whose order or hash nobody knows, damaged_error when `orders` are not
    /// of these objects, and what `tell` throws, which is called before each key.
    void finish(std::uint32_t next_id, const key_orders& orders,
                const std::function<void()>& tell = {});

    /// As add, for all objects there are, by rising id. Throws damaged_error, too, and what `tell`
    /// throws, which is called now and then with the id that is next.
    void add_all(const rows::type_rows& from,
                 const std::function<void(std::uint32_t id)>& tell = {});

    [[nodiscard]] const type_schema& schema() const noexcept { return schema_; }
    [[nodiscard]] std::uint32_t objects() const noexcept { return end_ - 1; }

private:
    [[nodiscard]] std::byte* node(slot_number slot) const noexcept;
    [[nodiscard]] const std::byte* value(slot_number slot) const noexcept {
        return node(slot) + schema_.value_offset;
    }
    [[nodiscard]] std::uint32_t id(slot_number slot) const noexcept;
    void make_node(slot_number slot);
    void keep_buffers(std::span<std::byte> values, const buffer_layout& of,
                      const rows::buffer_source& from);
    [[nodiscard]] buffer_handle copy_of(buffer_handle theirs, const buffer_layout& elements,
                                        const rows::buffer_source& from);
    void enter_id(std::uint32_t id, slot_number slot);
    void next_batch();
    void write_root(std::uint32_t next_id);
    void fit_files(std::uint32_t next_id);
    [[nodiscard]] slot_number slot_of(std::uint32_t id, const char* key) const;
    /// All slots in the order of a key.
    [[nodiscard]] std::vector<slot_number> order_of(const type_schema::key& key, bool is_unique,
                                                    const key_orders& orders) const;
    [[nodiscard]] std::vector<slot_number> sorted(const type_schema::key& of, bool is_unique) const;
    [[nodiscard]] std::vector<slot_number> ordered(const type_schema::key& of,
                                                   const std::vector<std::uint32_t>& ids) const;
    void load_btrees(const key_orders& orders, const std::function<void()>& tell);
    void load_tables(const key_orders& orders, const std::function<void()>& tell);

    segment& to_;
    type_schema schema_;
    rows::type_layout layout_;
    rows::described_buffers described_;
    type_windows& windows_;
    rows::segment_buffers buffers_;
    std::optional<operation> batch_; ///< in which buffers are made
    std::uint32_t in_batch_ = 0;
    slot_number end_ = 1;      ///< slots at or above are not in use
    std::uint32_t end_id_ = 0; ///< ids at or above were not added
};

/// Where texts and vectors of a segment are, which outlives that.
[[nodiscard]] rows::segment_buffers::files buffers_of(segment& of);

/// Creates a state from its objects alone. It is complete when close() returns; until then, and
/// after an exception, the caller must remove the folder.
class new_state {
public:
    /// Limits and readers' group of the state; as open_options has them.
    struct limits {
        std::size_t window_bytes = open_options::default_window_bytes;
        std::size_t windows = open_options().windows;
        std::string readers_group;
        /// With durability::process, which has no checkpoint of it, it is in the state folder.
        chainbase::durability durability = durability::process;
        std::string memory_folder;
        std::uint64_t expected_bytes = 0;
    };

    /// What it begins with.
    enum class content {
        none,
        checkpoint, ///< the types that were finished when keep() was called last
    };

    /// In `folder`, which is not there, or empty; or which has a checkpoint that keep() or close()
    /// made, and no segment. Throws usage_error when a state is there, and what creating or
    /// restoring one throws.
    new_state(const std::filesystem::path& folder, const limits& of,
              content begins_with = content::none);

    /// Without close(), nothing is brought to storage.
    ~new_state() { memory_.abandon(); }

    /// To fill it by other means than objects.
    [[nodiscard]] segment& memory() noexcept { return memory_; }
    /// Makes a type; the one before is finished. See object_loader for what is thrown.
    [[nodiscard]] object_loader add_type(const type_schema& schema);

    /// Brings the types that are finished to storage, as a checkpoint: they survive a kill and a
    /// loss of power. Requires that no type is unfinished. Throws usage_error with
    /// durability::process; io_error, out_of_space_error: what was kept before still is.
    void keep();
    /// Closes the state at `revision`, with nothing to undo, and waits until everything is on
    /// storage. Throws io_error.
    void close(revision_number revision);

private:
    void announce_pages();

    segment memory_;
    bool has_checkpoint_;
};

} // namespace chainbase::bulk_load

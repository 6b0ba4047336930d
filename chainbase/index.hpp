#pragma once

#include <chainbase/fwd.hpp>
#include <chainbase/id.hpp>
#include <chainbase/object/object_layout.hpp>
#include <chainbase/segment/index_base.hpp>
#include <pool_allocator/btree.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/shared_buffer.hpp>
#include <undo/session_changes.hpp>
#include <undo/undo_log.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace chainbase {

enum class change_kind { created, modified, removed };

/// What a session did to one object.
template <typename T>
struct change {
    change_kind kind;
    chainbase::id<T> id;
    /// The object when the session began (modified and removed), with its strings; a copy outside
    /// the segment.
    std::optional<T> before;
    /// The object as it is (created and modified); valid until the next change.
    const T* now = nullptr;
};

/// All objects of one type: their slots, their ids and their keys.
///
/// Ordered and ranked keys are indexes of one Boost.MultiIndex container whose nodes are the slots
/// of the type's pool; ids and hashed keys are flat tables, btree keys B+-trees. Every change is
/// one operation: it happens whole or not at all, whatever throws.
///
/// Invariants:
///  1. An object is in its pool, the id table and every key's index, or in none of them.
///  2. References stay valid until the object is removed or the type is compacted; undoing the
///     removal brings the object back at the same address.
///  3. Everything that an operation may need is acquired, and every user function is called, before
///     the first word is linked; the exceptions are log room for erasing an entry of a hashed key,
///     which may shift any number of others, and changes of btrees, which make their own room.
///
/// Reading is thread-safe while nobody writes; writing is for one thread, under the write lock.
template <typename T>
class object_index final : public index_base {
    using layout = object_layout<T>;
    using node_layout = typename layout::node;
    using container =
        typename detail::container_of<T, typename layout::tree_keys>::template with<node_layout>;

public:
    /// Takes over the windows of `type`; builds the empty container in a new one, of segment `in`.
    /// `log` is null when only reading.
    object_index(segment* in, undo_log* log, const type_windows& type);

    /// The object of `id`, or null. Throws damaged_error when its entry leads out of the slots.
    [[nodiscard]] const T* find(id<T> id) const {
        if (id.value >= root().next_id) return nullptr;
        const slot_number slot = ids_.at(id.value);
        return slot ? &object_in(slot, "the entry of an id") : nullptr;
    }
    /// The slot of the object whose hashed key K equals `key` (of one that is not unique: the
    /// first), or 0. Throws damaged_error when the table leads out of the slots, or on and on.
    template <std::size_t K, typename Lookup>
    [[nodiscard]] slot_number find_hashed(const Lookup& key) const {
        return find_hashed<K>(key, hash_of<K>(key));
    }

    /// Btree key K of an object.
    template <std::size_t K>
    [[nodiscard]] static btree_wanted btree_key_of(const T& object);
    /// The first or the last of the btree keys K that begin with a lookup value.
    template <std::size_t K, typename Lookup>
    [[nodiscard]] static btree_wanted btree_bound_of(const Lookup& key, bool is_last);

    /// The first object whose leading parts of btree key K equal `key`, or null.
    template <std::size_t K, typename Lookup>
    [[nodiscard]] const T* find_btree(const Lookup& key) const;
    /// The first object of each of these values of ordered, ranked or btree key K, or null; see
    /// database::find_many.
    template <std::size_t K, typename Keys>
    void find_many_btree(const Keys& keys, std::span<const T*> found) const;
    template <std::size_t K, typename Keys>
    void find_many_ordered(const Keys& keys, std::span<const T*> found) const;
    /// As find_hashed() of each key; see database::find_many.
    template <std::size_t K, typename Keys>
    void find_many(const Keys& keys, std::span<const T*> found) const;

    /// Makes an object: `initialise(T&)` fills in what is not default; the id is set already.
    /// Throws duplicate_key_error, limit_error, out_of_space_error, usage_error (the id was
    /// changed), and what `initialise` throws; then nothing happened.
    template <typename Initialise>
    const T& create(Initialise&& initialise) {
        return create_as(next_id(), initialise);
    }
    /// As create, with this id, which no object has. All smaller ones count as given out then.
    /// Throws also usage_error when an object has it.
    template <typename Initialise>
    const T& create_as(id<T> as, Initialise&& initialise) {
        auto call = [&](T& object) { initialise(object); };
        return create_by([](void* with, T& made) { (*static_cast<decltype(call)*>(with))(made); },
                         &call, as.value);
    }
    /// Counts all ids below `next` as given out. Throws out_of_space_error, limit_error; then
    /// nothing happened.
    void skip_ids(id<T> next);
    /// Changes an object of this index. Throws as create does; then the object is unchanged.
    template <typename Change>
    void modify(const T& object, Change&& change) {
        modification step(*this, object);
        change(step.target());
        step.complete();
    }
    /// Removes an object of this index. Throws out_of_space_error; then it is still there.
    void remove(const T& object);
    /// Removes these objects, as one operation. Throws as remove does; then nothing is removed.
    void remove_all(std::span<const T* const> objects);
    /// Removes every object, as one operation.
    void clear();

    [[nodiscard]] std::uint32_t size() const noexcept { return root().pool.live - 1; }
    /// The id that the next object will get.
    [[nodiscard]] id<T> next_id() const noexcept { return id<T>(root().next_id); }

    /// The container's index of ordered or ranked key K.
    template <std::size_t K>
    [[nodiscard]] const auto& tree() const noexcept {
        using tag = typename boost::mp11::mp_at_c<typename T::keys, K>::tag;
        return root().objects.value.template get<tag>();
    }
    /// The table of hashed key K.
    template <std::size_t K>
    [[nodiscard]] const hash_table& table() const noexcept {
        return tables_[table_number<K>()];
    }
    /// The tree of btree key K.
    template <std::size_t K>
    [[nodiscard]] const btree& flat_tree() const noexcept {
        return *btrees_[btree_number<K>()].tree;
    }
    /// The slot that follows in the ring of equal values of a hashed key that is not unique. Throws
    /// damaged_error when that slot's link does not lead back, so every walk around the ring
    /// returns to its start.
    template <std::size_t K>
    [[nodiscard]] slot_number next_equal(slot_number slot) const {
        const slot_number next = links_of<K>(slot).next.load();
        if (!is_slot(next) || links_of<K>(next).previous.load() != slot) [[unlikely]]
            throw_bad_link("a ring of equal keys", next);
        return next;
    }
    [[nodiscard]] const T& value_at(slot_number slot) const noexcept {
        return *reinterpret_cast<const T*>(node_at(slot) + node_layout::value_offset);
    }
    /// The object in a slot number read from the segment. Throws damaged_error naming `what`, the
    /// origin of the number, when no object was ever there.
    [[nodiscard]] const T& object_in(slot_number slot, const char* what = in_table) const {
        if (!is_slot(slot)) [[unlikely]]
            throw_bad_link(what, slot);
        return value_at(slot);
    }

    /// The slot of an object of this index.
    [[nodiscard]] slot_number slot_of(const T& object) const noexcept {
        return static_cast<slot_number>(static_cast<std::size_t>(node_of(object) - nodes_) /
                                        node_layout::node_bytes);
    }
    /// Prefetches all of an object, to be changed, when that is in the slot.
    [[gnu::always_inline]] void prefetch_object(slot_number slot) const noexcept {
        if (slot == 0 || !is_slot(slot)) return;
        const auto* object = reinterpret_cast<const std::byte*>(&value_at(slot));
        for (std::size_t at = 0; at < sizeof(T); at += cache_line)
            __builtin_prefetch(object + at, 1);
        __builtin_prefetch(object + sizeof(T) - 1, 1);
    }

    /// What changed since `begin` was marked in the log.
    [[nodiscard]] std::vector<change<T>> changes(const session_changes& all) const;

    // index_base
    void compact() override;
    [[nodiscard]] maker maker_of_readers() const noexcept override { return make_reader; }
    [[nodiscard]] static std::unique_ptr<index_base> make_reader(const type_windows& type) {
        return std::make_unique<object_index>(nullptr, nullptr, type);
    }

private:
    template <std::size_t K>
    using key_at = boost::mp11::mp_at_c<typename T::keys, K>;
    template <std::size_t K>
    using parts = typename key_at<K>::template parts_of<T>;

    static constexpr std::size_t table_count = layout::tables;
    static constexpr std::size_t cache_line = 64;
    static constexpr const char* in_table = "a hashed key";
    static constexpr const char* in_btree = "a btree key";
    static constexpr std::size_t btree_count = layout::btrees;

    static constexpr bool has_container = layout::trees > 0;

    struct root_words : detail::root_prefix {
        std::array<hash_state, table_count> tables;
        union optional_container {
            optional_container() {}
            ~optional_container() {}
            container value;
        } objects;
    };
    static_assert(sizeof(root_words) <= window::root_capacity, "too many keys for a root block");
    static_assert(sizeof(root_words) % 4 == 0, "the log counts in words of 4 bytes");

    struct list_links {
        logged_word next; ///< slot; the last one refers to the first
        logged_word previous;
    };

    struct ring_place {
        slot_number head = 0; ///< 0: there is no ring yet
        slot_number previous = 0;
        bool is_first = false; ///< the ring begins with it
    };

public:
    static constexpr std::uint32_t root_bytes = sizeof(root_words);

private:
    using hashes = std::array<std::uint32_t, table_count ? table_count : 1>;
    using ring_places = std::array<ring_place, table_count ? table_count : 1>;

    static constexpr std::size_t root_log_bytes = write_barrier::record_bytes(sizeof(root_words));
    static constexpr std::size_t note_bytes = write_barrier::record_bytes(4);
    static constexpr std::size_t free_buffer_bytes = 64; ///< log bytes that freeing one may take
    static constexpr std::size_t create_log_bytes =
        root_log_bytes +
        std::max(write_barrier::record_bytes(node_layout::node_bytes),
                 write_barrier::first_use_bytes(node_layout::node_bytes)) +
        2 * note_bytes + layout::relink_bytes;
    static constexpr std::size_t modify_log_bytes =
        root_log_bytes + write_barrier::record_bytes(sizeof(T)) + 2 * layout::relink_bytes +
        layout::buffers * free_buffer_bytes;
    static constexpr std::size_t remove_log_bytes = root_log_bytes + 3 * note_bytes +
                                                    layout::relink_bytes +
                                                    layout::buffers * free_buffer_bytes;

    [[nodiscard]] root_words& root() const noexcept { return *root_; }
    [[nodiscard]] bool is_slot(slot_number slot) const noexcept {
        return slot < root().pool.high_water;
    }
    template <std::size_t K, typename Key>
    [[nodiscard]] std::uint32_t hash_of(const Key& key) const {
        return parts<K>::hash(key, table<K>().seed());
    }
    [[nodiscard]] std::byte* node_at(slot_number slot) const noexcept {
        return nodes_ + std::size_t{slot} * node_layout::node_bytes;
    }
    [[nodiscard]] std::byte* node_of(const T& object) const noexcept {
        return reinterpret_cast<std::byte*>(const_cast<T*>(&object)) - node_layout::value_offset;
    }
    void require_own(const T& object) const;
    void require_in_slot(const T& object) const;

    void touch_root() noexcept;
    [[nodiscard]] bool is_fresh(slot_number slot) const noexcept {
        return pool_.is_fresh(slot, log().epoch());
    }

    /// The function that initialises a new object, called with `with`. One type for all
    /// initialisers, so that the container's insertion is compiled once for each T.
    using initialiser = void (*)(void* with, T& made);
    const T& create_by(initialiser call, void* with, std::uint32_t number);
    void give_out_ids(std::uint32_t end);
    /// Makes the object of a create_by() in the slot that the container took.
    struct maker;
    void make(void* place, maker& of);
    void declare_slot_fresh(const void* place) noexcept;
    T& link_new(maker& of);

    /// The guard of one modify(): restores the former object unless complete() was called.
    class modification {
    public:
        modification(object_index& index, const T& object);
        modification(const modification&) = delete;
        modification& operator=(const modification&) = delete;
        ~modification();
        [[nodiscard]] T& target() noexcept { return target_; }
        /// Moves the object to where its new keys belong. Throws what modify() throws.
        void complete();

    private:
        object_index& index_;
        T& target_;
        alignas(T) std::byte image_[sizeof(T)];
        operation guard_;
        bool is_completed_ = false;
    };

    [[nodiscard]] bool keys_differ(const T& a, const T& b) const;
    void relink(T& object, const T& before);
    template <std::size_t K>
    void relink_tree(const T& object);
    template <std::size_t K, typename Pointer>
    [[nodiscard]] bool is_in_place(const T& object, Pointer node, Pointer header) const;
    template <std::size_t K>
    [[nodiscard]] static bool comes_before(const T& a, const T& b) {
        return typename key_at<K>::template order_of<T>()(a, b);
    }
    void fetch_paths(const T& object) const;
    void unlink_node(const T& object);
    void remove_within_operation(const T& object);
    void free_buffers(const T& object);

    /// Calls visit(std::integral_constant<std::size_t, K>) for the keys K that are in tables /
    /// trees of the container / btrees.
    template <typename Visitor>
    static void each_table(Visitor&& visit);
    template <typename Visitor>
    static void each_tree(Visitor&& visit);
    template <typename Visitor>
    static void each_btree(Visitor&& visit);
    /// How many tables / btrees / lists the keys before K take.
    template <std::size_t K>
    static constexpr std::size_t table_number();
    template <std::size_t K>
    static constexpr std::size_t btree_number();
    template <std::size_t K>
    static constexpr std::size_t list_number();
    template <std::size_t K>
    [[nodiscard]] list_links& links_of(slot_number slot) const noexcept;
    /// The type of a node as the index of tree key K sees it, and the links in a slot.
    template <std::size_t K>
    using tree_node = typename boost::multi_index::index<
        container,
        typename boost::mp11::mp_at_c<typename T::keys, K>::tag>::type::iterator::node_type;
    template <std::size_t K>
    [[nodiscard]] auto tree_links(slot_number slot) const noexcept {
        return reinterpret_cast<tree_node<K>*>(node_at(slot))->impl();
    }
    template <std::size_t K, typename Lookup>
    [[nodiscard]] slot_number find_hashed(const Lookup& key, std::uint32_t hash) const;
    /// The slot of another object that has the unique key K of this one, or 0.
    template <std::size_t K>
    [[nodiscard]] slot_number find_other(const T& object, std::uint32_t hash) const;
    [[nodiscard]] hashes hashes_of(const T& object) const;
    void reserve_tables();
    void require_unique_hashes(const T& object, const hashes& computed) const;
    [[noreturn]] void throw_duplicate(const T& object) const;
    /// Where an object with this hash of key K stands in the ring of its equals, before it enters.
    /// Calls the user's functions, and throws what these do, and damaged_error.
    template <std::size_t K>
    [[nodiscard]] ring_place find_ring(const T& object, std::uint32_t hash) const;
    /// Requires the place that find_ring() gave, if the key is not unique. Cannot fail.
    template <std::size_t K>
    void enter_table(slot_number slot, std::uint32_t hash, const ring_place& place);
    template <std::size_t K>
    void leave_table(slot_number slot, std::uint32_t hash, const T& as);
    /// As next_equal(), in the other direction.
    template <std::size_t K>
    [[nodiscard]] slot_number previous_equal(slot_number slot) const;
    template <std::size_t K>
    [[nodiscard]] slot_number entry_of(slot_number slot, std::uint32_t hash, const T& as) const;

    /// Appends btree key K of an object to key_bits or key_bytes.
    template <std::size_t K, typename Writer>
    static void append_key(Writer& to, const T& object);
    /// Reads btree key K of the objects in slots.
    template <std::size_t K>
    struct keys_in_slots;
    struct flat_key {
        std::unique_ptr<const btree_keys> keys;
        std::unique_ptr<btree> tree;
    };
    using searches = std::array<btree::search, btree_count ? btree_count : 1>;
    void attach_btrees(const type_windows& type);
    /// As find_btree(), by a search for the key that has got to its leaf.
    template <std::size_t K, typename Lookup>
    [[nodiscard]] const T* first_of(const Lookup& key, btree::search& at_leaf) const;
    [[nodiscard]] searches search_btrees(const T& object) const;
    void unlink_entries(const T& object, const hashes& computed, searches& found);
    /// Throws duplicate_key_error, out_of_space_error, limit_error; the operation must then fail.
    void enter_btrees(const T& object);
    void leave_btrees(slot_number slot, searches& found);
    void relink_btrees(const T& object, const T& before);

    void fill_holes(std::vector<slot_number> holes);
    bool move_last(std::vector<slot_number>& holes, std::size_t& next_hole);
    void relocate(slot_number from, slot_number to);
    [[nodiscard]] T materialise(const session_changes& all, const std::byte* value) const;

    std::byte* nodes_;
    root_words* root_;
    root_block root_block_;
    mutable pool pool_;
    id_table ids_;
    std::vector<hash_table> tables_;
    std::vector<flat_key> btrees_;
};

} // namespace chainbase

#include <chainbase/index.ipp>
#include <chainbase/index_btrees.ipp>
#include <chainbase/index_tables.ipp>

namespace chainbase {

/// Replaces the index of a wrongly declared type, for which the compiler has already reported an
/// error, so that calls on it cause no further errors.
template <typename T>
    requires(!detail::is_declared<T>)
class object_index<T> final : public index_base {
public:
    object_index(segment*, undo_log* log, const type_windows& type) : index_base(log, type) {}
    const T* find(id<T>) const { return nullptr; }
    template <typename Initialise>
    const T& create(Initialise&&) {
        std::abort();
    }
    template <typename Initialise>
    const T& create_as(id<T>, Initialise&&) {
        std::abort();
    }
    void skip_ids(id<T>) {}
    template <typename Change>
    void modify(const T&, Change&&) {}
    void remove(const T&) {}
    void remove_all(std::span<const T* const>) {}
    void clear() {}
    std::uint32_t size() const { return 0; }
    id<T> next_id() const { return {}; }
    std::vector<change<T>> changes(const session_changes&) const { return {}; }
    void compact() override {}
    maker maker_of_readers() const noexcept override { return nullptr; }
};

} // namespace chainbase

#pragma once

#include <pool_allocator/keyed_hash.hpp>
#include <pool_allocator/pool.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace chainbase {

/// The flat table that finds an object's slot from its id: one 4-byte slot number per id ever
/// given, 0 for a removed object. Entries at or above the type's next id are garbage by design
/// (undo does not clear them), so a caller tests the id against next id first.
class id_table {
public:
    explicit id_table(window& window) noexcept : window_(window) {}

    static constexpr window::geometry geometry{window_kind::ids, sizeof(slot_number),
                                               window_header::page_bytes};

    /// The slot of object `id`, 0 if it was removed. Requires id < next id.
    [[nodiscard]] slot_number at(std::uint32_t id) const noexcept { return entry(id); }

    /// Asks for the memory of an entry.
    [[gnu::always_inline]] void prefetch(std::uint32_t id) const noexcept {
        __builtin_prefetch(&entry(id));
    }

    /// Makes room for entry `id`. Throws out_of_space_error, limit_error.
    void reserve(std::uint32_t id) {
        const std::size_t end = window_header::page_bytes + (std::size_t{id} + 1) * entry_bytes;
        if (end > window_.bytes()) window_.grow_to(end);
    }
    /// Enters an id that was never entered before. Requires log room for one record.
    void set_new(std::uint32_t id, slot_number slot) noexcept {
        write_barrier::active().first_use(&entry(id), entry_bytes);
        entry(id) = slot;
    }
    /// Changes the entry of an existing id, through the barrier.
    void set(std::uint32_t id, slot_number slot) noexcept {
        write_barrier::active().record_word(&entry(id));
        entry(id) = slot;
    }

    /// Punches whole pages without a live entry (not on tmpfs) and cuts what lies beyond `next_id`.
    /// Requires that nothing can be undone.
    void trim(std::uint32_t next_id);

    /// How the file's bytes are used; `live` entries are in use.
    [[nodiscard]] usage measure(std::uint32_t live) const noexcept;

private:
    static constexpr std::size_t entry_bytes = sizeof(slot_number);

    [[nodiscard]] slot_number& entry(std::uint32_t id) const noexcept {
        return reinterpret_cast<slot_number*>(window_.base() + window_header::page_bytes)[id];
    }

    window& window_;
};

/// The seed of a hash table's hashes, stored after the header in the header page of its window.
/// Written once, when the table is made.
///
///     0  seed    16
///    16  check    8   the hash of no input: detects an altered seed
struct hash_key_words {
    hash_seed seed;
    std::uint64_t check;

    [[nodiscard]] static hash_key_words of(const hash_seed& seed) noexcept {
        return {seed, keyed_hash(seed).value()};
    }
    [[nodiscard]] bool is_whole() const noexcept { return check == keyed_hash(seed).value(); }
};
static_assert(sizeof(hash_key_words) == 24 && offsetof(hash_key_words, check) == 16);

/// The words of a hash table, kept in its type's root block.
///
///     0  log2_capacity   4   which area is in use
///     4  used            4   entries in it
struct hash_state {
    std::uint32_t log2_capacity;
    std::uint32_t used; ///< entries, one per distinct key
};
static_assert(sizeof(hash_state) == 8 && offsetof(hash_state, used) == 4);

/// One entry of a hash table.
///
///     0  slot   4   0 for none
///     4  hash   4
struct hash_entry {
    slot_number slot;
    std::uint32_t hash;
};
static_assert(sizeof(hash_entry) == 8 && offsetof(hash_entry, hash) == 4);

/// The flat table behind a hashed key: open addressing with linear probing, a power of two of
/// entries, erase by backward shift.
///
/// Hashes are keyed with a random seed of the table, so that nobody who supplies keys can make a
/// run of entries long. A run is what a search walks and an erase shifts and logs. With four fifths
/// of the entries in use, one of L entries has the probability (0.8 e^0.2)^L = e^(-L/43): a run of
/// `longest_run` never occurs. Meeting one means damage: every walk stops there with an error, and
/// no erase logs more than 64 KiB.
///
/// An entry is {slot, 32 bits of hash}; its home is given by the hash's top bits. So growing and
/// erasing read no object, and growing reads and writes in order.
///
/// Every capacity has its own place in the window: the area for 2^k entries lies at byte 8 * 2^k
/// and is as long. Growing fills the next area (a first use: nobody refers to it) and then switches
/// `log2_capacity`, a word of the root block. The smaller area is kept until no session can be
/// undone to it; then release() gives its pages back.
///
/// Reading is thread-safe while nobody writes. One writer, in an operation.
class hash_table final : public kept_memory {
public:
    static constexpr std::uint32_t min_log2 = 9; ///< the first area follows the header page
    static constexpr std::uint32_t max_log2 = 31;
    static constexpr std::size_t entry_bytes = sizeof(hash_entry);
    /// The limit of every walk; a longer run has probability e^-95.
    static constexpr std::uint32_t longest_run = 4096;
    static constexpr window::geometry geometry{window_kind::hashed_key, entry_bytes,
                                               window_header::page_bytes};

    /// Where the area for 2^log2 entries begins in the file; it is as long.
    [[nodiscard]] static constexpr std::size_t area_offset(std::uint32_t log2) noexcept {
        return entry_bytes << log2;
    }
    /// Whether a table of these words, which may hold anything, lies within a file of `bytes`.
    [[nodiscard]] static constexpr bool fits(const hash_state& words,
                                             std::uint64_t bytes) noexcept {
        return words.log2_capacity >= min_log2 && words.log2_capacity <= max_log2 &&
               2 * area_offset(words.log2_capacity) <= bytes;
    }
    /// The entry at which a search for `hash` begins.
    [[nodiscard]] static constexpr std::uint32_t home(std::uint32_t hash,
                                                      std::uint32_t log2) noexcept {
        return hash >> (32 - log2);
    }

    /// `barrier` is null when only reading. Smaller areas left by an earlier process count as kept.
    hash_table(window& window, hash_state& state, write_barrier* barrier);
    ~hash_table() {
        if (barrier_) barrier_->forget(*this);
    }
    /// Requires that the barrier does not know `other` yet: tables are stored once and stay.
    hash_table(hash_table&& other) noexcept = default;
    hash_table& operator=(hash_table&&) = delete;

    /// Stores the seed of a table in its new window, which lies in this address space. Only hashes
    /// computed with this seed may be inserted.
    static void keep_seed(window&, const address_space&, const hash_seed&) noexcept;
    /// The stored seed. Requires that the file has its first page.
    [[nodiscard]] static const hash_key_words& key_words(const window& file) noexcept {
        return *reinterpret_cast<const hash_key_words*>(file.root());
    }
    /// Gives a new table its first area. Throws out_of_space_error.
    static void initialise(window&, hash_state&);

    [[nodiscard]] const hash_seed& seed() const noexcept { return seed_; }

    /// The slot whose entry has `hash` and for which `equal(slot)` holds, else 0. Throws
    /// damaged_error when the search does not end.
    template <typename Equal>
    [[nodiscard]] slot_number find(std::uint32_t hash, Equal&& equal) const {
        const entry* table = entries();
        std::uint32_t i = home(hash);
        for (std::uint32_t step = 0; step < longest_run; ++step, i = next(i)) {
            const entry e = table[i];
            if (e.slot == 0) return 0;
            if (e.hash == hash && equal(e.slot)) return e.slot;
        }
        throw_endless(hash);
    }

    /// Asks for the memory in which find() begins to look.
    [[gnu::always_inline]] void prefetch(std::uint32_t hash) const noexcept {
        __builtin_prefetch(&entries()[home(hash)]);
    }
    /// The slot of the first entry with this hash, very likely that of the object looked up; 0 when
    /// there is none. Reads no object.
    [[nodiscard]] slot_number likely(std::uint32_t hash) const noexcept {
        const entry* table = entries();
        std::uint32_t i = home(hash);
        for (std::uint32_t step = 0; step < longest_run && table[i].slot != 0; ++step, i = next(i))
            if (table[i].hash == hash) return table[i].slot;
        return 0;
    }

    /// Makes room for one more entry, growing if needed. Requires that the root was touched in this
    /// operation. May use log room that was reserved. Throws out_of_space_error, limit_error; then
    /// nothing changed.
    void reserve() {
        const std::uint64_t capacity = std::uint64_t{1} << state_.log2_capacity;
        if (state_.used + 1 > capacity - capacity / 5) grow();
    }
    /// Log bytes that changing one entry takes.
    static constexpr std::size_t store_log_bytes = write_barrier::record_bytes(entry_bytes);

    /// Enters `slot`. Requires reserve(), log room and that no entry with an equal key is there.
    /// Throws damaged_error when there is no place for it; then nothing changed.
    void insert(std::uint32_t hash, slot_number slot);
    /// Removes the entry of `slot`, which may shift every following entry of the run. It reserves
    /// log room as it goes, so room reserved earlier may be used up. Throws out_of_space_error,
    /// limit_error, damaged_error when the entry is not where its hash says or the run does not
    /// end; the operation must then fail.
    void erase(std::uint32_t hash, slot_number slot);
    /// Makes the entry of `slot` refer to `to`. Requires log room. Throws damaged_error when the
    /// entry is not where its hash says; then nothing changed.
    void replace(std::uint32_t hash, slot_number slot, slot_number to);

    /// How many entries there is room for.
    [[nodiscard]] std::size_t capacity() const noexcept { return std::size_t{mask()} + 1; }
    /// The slot of entry `number`, of capacity() ones; 0 when it is not in use.
    [[nodiscard]] slot_number slot_at(std::size_t number) const noexcept {
        return entries()[number].slot;
    }
    [[nodiscard]] std::uint32_t size() const noexcept { return state_.used; }
    /// Frees the smaller areas kept for undo, as far as the file system supports it. Requires that
    /// no session can be undone to them.
    void release() noexcept override;
    /// Calls release() and truncates an area left behind by an undone growth. Throws
    /// io_error.
    void trim();

    /// How the file's bytes are used; entries count as links.
    [[nodiscard]] usage measure() const noexcept;

private:
    using entry = hash_entry;

    [[nodiscard]] entry* area(std::uint32_t log2) const noexcept {
        return reinterpret_cast<entry*>(window_.base() + area_offset(log2));
    }
    [[nodiscard]] entry* entries() const noexcept { return area(state_.log2_capacity); }
    [[nodiscard]] std::uint32_t mask() const noexcept {
        return (std::uint32_t{1} << state_.log2_capacity) - 1;
    }
    [[nodiscard]] std::uint32_t home(std::uint32_t hash) const noexcept {
        return home(hash, state_.log2_capacity);
    }
    [[nodiscard]] std::uint32_t next(std::uint32_t i) const noexcept { return (i + 1) & mask(); }
    [[nodiscard]] std::uint32_t position(std::uint32_t hash, slot_number slot) const;
    [[nodiscard]] std::uint32_t free_place(std::uint32_t hash, std::uint32_t log2) const;
    [[noreturn]] void throw_damaged(std::uint32_t entry, const std::string& what) const;
    [[noreturn]] void throw_endless(std::uint32_t hash) const;
    void store(std::uint32_t i, entry value) noexcept;
    void grow();

    window& window_;
    hash_state& state_;
    write_barrier* barrier_; ///< it may hold the table's address
    hash_seed seed_;
    std::uint32_t smallest_kept_;
};

} // namespace chainbase

#pragma once

#include <chainbase/object.hpp>
#include <chainbase/object/object_layout.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/bench/baselines/segment_store.hpp>

#include <boost/container/deque.hpp>
#include <boost/container/map.hpp>
#include <boost/container/set.hpp>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/identity.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index/ranked_index.hpp>
#include <boost/multi_index_container.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace chainbase::bench {

template <typename T>
using shared_allocator = boost::interprocess::allocator<T, mapped_segment::manager>;

/// The changes of one session in one type, sufficient for its undo. In shared memory.
///
/// Invariants: every id in `new_ids` is >= old_next_id, every other id here is below it; no id is
/// in two of the three; `old_values` are of objects that exist, `removed_values` of such that do
/// not.
template <typename Object>
struct undo_state {
    using values = boost::container::map<std::uint64_t, Object, std::less<std::uint64_t>,
                                         shared_allocator<std::pair<const std::uint64_t, Object>>>;
    using ids = boost::container::set<std::uint64_t, std::less<std::uint64_t>,
                                      shared_allocator<std::uint64_t>>;

    undo_state(const shared_allocator<Object>& memory, std::uint64_t next_id,
               std::int64_t session_revision)
        : old_values(memory), removed_values(memory), new_ids(memory), old_next_id(next_id),
          revision(session_revision) {}

    [[nodiscard]] bool made(std::uint64_t id) const noexcept { return id >= old_next_id; }

    /// Effects: saves what undo needs before the object of `id` is changed or removed.
    void keep_old_value(std::uint64_t id, const Object& object) {
        if (!made(id)) old_values.try_emplace(id, object);
    }
    void keep_removed(std::uint64_t id, const Object& object) {
        if (made(id))
            new_ids.erase(id);
        else if (!move_to_removed(id))
            removed_values.try_emplace(id, object);
    }

    /// Effects: records that the object of `id`, saved by keep_old_value(), was lost.
    void keep_lost(std::uint64_t id) {
        if (made(id))
            new_ids.erase(id);
        else
            move_to_removed(id);
    }

    /// Effects: merges the changes of the next inner session, so that undoing this one undoes both.
    /// Moves the nodes, except of objects that this session modified and the inner one removed.
    void merge(undo_state& inner);

    /// Effects: if there is an old value of this object, which is being removed, turns it into the
    /// removed value. Returns: whether there was one.
    bool move_to_removed(std::uint64_t id);

    values old_values;
    values removed_values;
    ids new_ids;
    std::uint64_t old_next_id;
    std::int64_t revision;
};

/// The sessions of one type. A default block holds two states, so every second session of every
/// type would allocate one; larger blocks make committing twice as fast and cost nothing else.
template <typename Object>
using undo_stack =
    boost::container::deque<undo_state<Object>, shared_allocator<undo_state<Object>>,
                            boost::container::deque_options_t<boost::container::block_size<32U>>>;

/// Effects: the newest session's changes move to the outer one; without one, they are permanent.
template <typename Object>
void squash_newest(undo_stack<Object>& stack) {
    if (stack.size() > 1) stack[stack.size() - 2].merge(stack.back());
    stack.pop_back();
}

/// Effects: drops the states of every session up to `revision`.
template <typename Object>
void commit_up_to(undo_stack<Object>& stack, std::int64_t revision) {
    while (!stack.empty() && stack.front().revision <= revision)
        stack.pop_front();
}

template <typename Object>
void undo_state<Object>::merge(undo_state& inner) {
    // Objects created by this session need no old value: undo removes them.
    inner.old_values.erase(inner.old_values.lower_bound(old_next_id), inner.old_values.end());
    old_values.merge(inner.old_values); // where both have one, the older stays
    for (auto at = inner.removed_values.begin(); at != inner.removed_values.end();) {
        const std::uint64_t id = at->first;
        const bool known = new_ids.erase(id) > 0 || move_to_removed(id);
        at = known ? inner.removed_values.erase(at) : std::next(at);
    }
    removed_values.merge(inner.removed_values);
    new_ids.merge(inner.new_ids);
}

template <typename Object>
bool undo_state<Object>::move_to_removed(std::uint64_t id) {
    const auto old = old_values.find(id);
    if (old == old_values.end()) return false;
    removed_values.try_emplace(id, old->second);
    old_values.erase(old);
    return true;
}

/// The implementation of a type's hashed keys in a classical container.
enum class hashed_keys {
    as_trees,  ///< the usual choice of this family: its node pools cannot serve a bucket array
    as_hashes, ///< Boost's hashed indexes
};

namespace detail {

struct by_object_id;

template <typename Parts>
struct hash_of_parts {
    template <typename Key>
    std::size_t operator()(const Key& key) const {
        return Parts::hash(key, {});
    }
};
template <typename Parts>
struct parts_are_equal {
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
        return Parts::equal(a, b);
    }
};

/// The Boost.MultiIndex specifier of a key of T.
template <typename T, hashed_keys Hashed, typename Key>
struct classical_specifier {
    template <template <typename, typename, typename> class Index>
    using ordered = std::type_identity<
        Index<boost::multi_index::tag<typename Key::tag>, boost::multi_index::identity<T>,
              typename Key::template parts_of<T>::order>>;
    template <template <typename, typename, typename, typename> class Index>
    using hashed = std::type_identity<
        Index<boost::multi_index::tag<typename Key::tag>, boost::multi_index::identity<T>,
              hash_of_parts<typename Key::template parts_of<T>>,
              parts_are_equal<typename Key::template parts_of<T>>>>;

    static auto choose() {
        namespace mi = boost::multi_index;
        constexpr bool unique = is_unique(Key::kind);
        if constexpr (is_hashed(Key::kind) && Hashed == hashed_keys::as_hashes) {
            if constexpr (unique)
                return hashed<mi::hashed_unique>();
            else
                return hashed<mi::hashed_non_unique>();
        } else if constexpr (is_ranked(Key::kind)) {
            if constexpr (unique)
                return ordered<mi::ranked_unique>();
            else
                return ordered<mi::ranked_non_unique>();
        } else {
            if constexpr (unique)
                return ordered<mi::ordered_unique>();
            else
                return ordered<mi::ordered_non_unique>();
        }
    }
    using type = typename decltype(choose())::type;
};

template <typename T, hashed_keys Hashed, typename Keys>
struct classical_container;
template <typename T, hashed_keys Hashed, typename... Keys>
struct classical_container<T, Hashed, keys<Keys...>> {
    using type = boost::multi_index_container<
        T,
        boost::multi_index::indexed_by<
            boost::multi_index::ordered_unique<boost::multi_index::tag<by_object_id>,
                                               boost::multi_index::member<T, id<T>, &T::id>>,
            typename classical_specifier<T, Hashed, Keys>::type...>,
        shared_allocator<T>>;
};

/// Heap bytes of a buffer outside of our segments: its length word, malloc's own word, and
/// rounding.
inline std::uint64_t heap_bytes(const shared_buffer& buffer) noexcept {
    constexpr std::uint64_t length_word = 16, own_word = 8, unit = 16;
    if (buffer.empty()) return 0;
    return (length_word + buffer.size() + own_word + unit - 1) / unit * unit;
}

} // namespace detail

/// The objects of T by one key, with the interface of chainbase's views.
template <typename Index, typename Key>
class classical_view {
    using parts = typename Key::template parts_of<typename Index::value_type>;

public:
    explicit classical_view(const Index& index) noexcept : index_(&index) {}

    [[nodiscard]] auto begin() const noexcept { return index_->begin(); }
    [[nodiscard]] auto end() const noexcept { return index_->end(); }
    [[nodiscard]] std::size_t size() const noexcept { return index_->size(); }

    template <typename... V>
    [[nodiscard]] auto find(const V&... values) const -> const typename Index::value_type* {
        if (!parts::can_hold(values...)) return nullptr;
        const auto found = index_->find(parts::make_lookup(values...));
        return found == index_->end() ? nullptr : &*found;
    }
    template <typename... V>
    [[nodiscard]] auto lower_bound(const V&... values) const {
        return index_->lower_bound(parts::make_bound(values...));
    }
    template <typename... V>
    [[nodiscard]] auto upper_bound(const V&... values) const {
        return index_->upper_bound(parts::make_bound(values...));
    }
    template <typename... V>
    [[nodiscard]] auto equal_range(const V&... values) const {
        return index_->equal_range(parts::make_bound(values...));
    }

private:
    const Index* index_;
};

/// A type-erased type of a classical database: what a session needs of every type.
class classical_type_base {
public:
    classical_type_base() = default;
    classical_type_base(const classical_type_base&) = delete;
    classical_type_base& operator=(const classical_type_base&) = delete;
    virtual ~classical_type_base() = default;

    virtual void start_session(std::int64_t revision) = 0;
    virtual void undo() = 0;
    virtual void squash() = 0;
    virtual void commit(std::int64_t revision) = 0;
    [[nodiscard]] virtual std::size_t size() const = 0;
    /// Bytes of all objects' texts; walks over all objects.
    [[nodiscard]] virtual std::uint64_t heap_bytes() const = 0;
};

/// One type with its undo stack, both in a mapped segment, the traditional way of this family of
/// databases: a session pushes a state; the first change of an object in it copies the object
/// there; undo writes the copies back through the container, one object at a time.
///
/// As in this family, a change or an initialisation that throws leaves its effects until the
/// session is undone; without a session they stay. A change that meets an equal key loses the
/// object: the container drops what it cannot place, and keeping a copy would slow every change.
template <object_type T, hashed_keys Hashed>
class classical_type final : public classical_type_base {
    using container = typename detail::classical_container<T, Hashed, typename T::keys>::type;
    static constexpr bool has_heap_memory = object_layout<T>::buffers != 0;

public:
    classical_type(mapped_segment& segment, std::string name)
        : name_(std::move(name)), memory_(segment.get()),
          objects_(segment.make<container>(memory_)), stack_(segment.make<undo_stack<T>>(memory_)) {
    }
    /// The segment's content is dropped with its file; the texts' heap memory would leak.
    ~classical_type() override {
        if constexpr (has_heap_memory) {
            stack_.clear();
            objects_.clear();
        }
    }

    template <typename Initialise>
    const T& create(Initialise& initialise) {
        const in_place<Initialise> made{next_id_, initialise};
        const auto [at, is_new] = objects_.emplace(made);
        if (!is_new) throw duplicate_key_error(name_ + ": an object with an equal key exists");
        if (!stack_.empty()) stack_.back().new_ids.insert(next_id_);
        ++next_id_;
        return *at;
    }

    template <typename Change>
    void modify(const T& object, Change& change) {
        const std::uint32_t number = object.id.value;
        if (!stack_.empty()) stack_.back().keep_old_value(number, object);
        // an exception passing through would make the container drop the node
        std::exception_ptr failure;
        const bool placed = objects_.modify(objects_.iterator_to(object), [&](T& changed) {
            try {
                change(changed);
            } catch (...) {
                failure = std::current_exception();
            }
        });
        if (failure) std::rethrow_exception(failure);
        if (placed) return;
        if (!stack_.empty()) stack_.back().keep_lost(number);
        throw duplicate_key_error(name_ + ": a change met an equal key");
    }

    void remove(const T& object) {
        if (!stack_.empty()) stack_.back().keep_removed(object.id.value, object);
        objects_.erase(objects_.iterator_to(object));
    }

    [[nodiscard]] const T* find(id<T> id) const {
        const auto found = by_id().find(id);
        return found == by_id().end() ? nullptr : &*found;
    }
    template <typename Tag>
    [[nodiscard]] auto view() const {
        const auto& index = objects_.template get<Tag>();
        return classical_view<std::remove_cvref_t<decltype(index)>, key_called<T, Tag>>(index);
    }
    [[nodiscard]] const auto& by_id() const {
        return objects_.template get<detail::by_object_id>();
    }
    [[nodiscard]] id<T> next_id() const noexcept { return id<T>(next_id_); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    void start_session(std::int64_t revision) override {
        stack_.emplace_back(memory_, next_id_, revision);
    }
    void undo() override;
    void squash() override { squash_newest<T>(stack_); }
    void commit(std::int64_t revision) override { commit_up_to<T>(stack_, revision); }
    [[nodiscard]] std::size_t size() const override { return objects_.size(); }
    [[nodiscard]] std::uint64_t heap_bytes() const override;

private:
    /// Constructs the new object in its node, without a copy.
    template <typename Initialise>
    struct in_place {
        std::uint32_t next_id;
        Initialise& initialise;

        operator T() const {
            T made{};
            made.id = id<T>(next_id);
            initialise(made);
            return made;
        }
    };

    std::string name_;
    shared_allocator<T> memory_;
    container& objects_;
    undo_stack<T>& stack_;
    std::uint32_t next_id_ = 0;
};

template <object_type T, hashed_keys Hashed>
void classical_type<T, Hashed>::undo() {
    const undo_state<T>& session = stack_.back();
    const auto place_of = [&](std::uint64_t number) {
        return objects_.iterator_to(*find(id<T>(static_cast<std::uint32_t>(number))));
    };
    for (const std::uint64_t number : session.new_ids)
        objects_.erase(place_of(number));
    bool placed = true;
    for (const auto& [number, value] : session.old_values)
        placed = objects_.modify(place_of(number), [&](T& object) { object = value; }) && placed;
    for (const auto& [number, value] : session.removed_values)
        placed = objects_.insert(value).second && placed;
    if (!placed) throw duplicate_key_error(name_ + ": undo met an equal key");
    next_id_ = static_cast<std::uint32_t>(session.old_next_id);
    stack_.pop_back();
}

template <object_type T, hashed_keys Hashed>
std::uint64_t classical_type<T, Hashed>::heap_bytes() const {
    std::uint64_t sum = 0;
    if constexpr (has_heap_memory)
        for (const T& object : objects_)
            boost::mp11::mp_for_each<chainbase::detail::members_of<T>>([&](auto member) {
                const auto& value = object.*member.pointer;
                if constexpr (std::derived_from<std::remove_cvref_t<decltype(value)>,
                                                shared_buffer>)
                    sum += detail::heap_bytes(value);
            });
    return sum;
}

/// A traditional database with the interface of chainbase::database, so that the same chain rules
/// run over both: per type a container of Boost.MultiIndex with boost::interprocess::allocator in a
/// mapped file and an undo stack, and sessions that touch every type.
///
/// Objects are chainbase's structs. Their texts are on the process's heap here, which is cheaper
/// for this engine than strings with the segment's allocator.
///
/// For one thread. Calls throw as the database's do (not_found_error, duplicate_key_error), but the
/// effects of a failed change stay until its session is undone.
template <hashed_keys Hashed = hashed_keys::as_trees>
class classical_database {
public:
    /// Undoes its changes unless it was ended; the database must outlive it.
    class session {
    public:
        explicit session(classical_database& of) : of_(&of), revision_(of.revision()) {}
        session(session&& other) noexcept
            : of_(std::exchange(other.of_, nullptr)), revision_(other.revision_) {}
        session& operator=(session&&) = delete;
        ~session() {
            if (of_ != nullptr) of_->undo();
        }
        void undo() { std::exchange(of_, nullptr)->undo(); }
        void squash() { std::exchange(of_, nullptr)->squash(); }
        void push() noexcept { of_ = nullptr; }
        [[nodiscard]] std::int64_t revision() const noexcept { return revision_; }

    private:
        classical_database* of_;
        std::int64_t revision_;
    };

    /// In a sparse file of `bytes` in `directory`, an empty folder.
    classical_database(const std::filesystem::path& directory, std::size_t bytes)
        : segment_(directory, bytes) {}

    template <object_type T>
    void add_type(const std::string& name) {
        const std::size_t number = type_number_<T>;
        if (types_.size() <= number) types_.resize(number + 1);
        types_[number] = std::make_unique<classical_type<T, Hashed>>(segment_, name);
        used_.push_back(types_[number].get());
    }
    /// Registers an unused type; sessions touch it anyway.
    template <object_type T>
    void add_idle_type(const std::string& name) {
        idle_.push_back(std::make_unique<classical_type<T, Hashed>>(segment_, name));
        used_.push_back(idle_.back().get());
    }

    template <typename T, typename Initialise>
    const T& create(Initialise&& initialise) {
        return of<T>().create(initialise);
    }
    template <typename T, typename Change>
    void modify(const T& object, Change&& change) {
        of<T>().modify(object, change);
    }
    template <typename T>
    void remove(const T& object) {
        of<T>().remove(object);
    }
    template <typename T>
    [[nodiscard]] const T* find(id<T> id) const {
        return of<T>().find(id);
    }
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] const T* find(const V&... values) const {
        return view<T, Tag>().find(values...);
    }
    template <typename T>
    [[nodiscard]] const T& get(id<T> id) const {
        if (const T* found = find(id)) return *found;
        throw not_found_error(of<T>().name() + ": there is no object " + std::to_string(id.value));
    }
    template <typename T, typename Tag, typename... V>
    [[nodiscard]] const T& get(const V&... values) const {
        if (const T* found = find<T, Tag>(values...)) return *found;
        throw not_found_error(of<T>().name() + ": there is no object with this key");
    }
    template <typename T, typename Tag>
    [[nodiscard]] auto view() const {
        return of<T>().template view<Tag>();
    }
    /// By id.
    template <typename T>
    [[nodiscard]] const auto& objects() const {
        return of<T>().by_id();
    }
    template <typename T>
    [[nodiscard]] std::size_t count() const {
        return of<T>().size();
    }
    template <typename T>
    [[nodiscard]] id<T> next_id() const {
        return of<T>().next_id();
    }

    [[nodiscard]] session start_session() {
        ++revision_;
        for (classical_type_base* type : used_)
            type->start_session(revision_);
        return session(*this);
    }
    void undo() {
        --revision_;
        for (classical_type_base* type : used_)
            type->undo();
    }
    void squash() {
        --revision_;
        for (classical_type_base* type : used_)
            type->squash();
    }
    void commit(std::int64_t revision) {
        for (classical_type_base* type : used_)
            type->commit(revision);
        committed_ = std::max(committed_, std::min(revision, revision_));
    }
    [[nodiscard]] std::int64_t revision() const noexcept { return revision_; }
    [[nodiscard]] std::int64_t committed_revision() const noexcept { return committed_; }

    /// Of all types.
    [[nodiscard]] std::size_t total_count() const {
        std::size_t sum = 0;
        for (const classical_type_base* type : used_)
            sum += type->size();
        return sum;
    }
    /// In the segment, with the allocator's headers, plus the texts on the heap.
    [[nodiscard]] std::uint64_t held_bytes() const {
        std::uint64_t sum = segment_.used_bytes();
        for (const classical_type_base* type : used_)
            sum += type->heap_bytes();
        return sum;
    }

private:
    static inline std::atomic<std::size_t> types_numbered_{0};
    template <typename T>
    static inline const std::size_t type_number_ = types_numbered_++;

    template <typename T>
    [[nodiscard]] classical_type<T, Hashed>& of() const {
        return static_cast<classical_type<T, Hashed>&>(*types_[type_number_<T>]);
    }

    mapped_segment segment_;
    std::vector<std::unique_ptr<classical_type_base>> types_; ///< by their number in the process
    std::vector<std::unique_ptr<classical_type_base>> idle_;
    std::vector<classical_type_base*> used_;
    std::int64_t revision_ = 0;
    std::int64_t committed_ = 0;
};

} // namespace chainbase::bench

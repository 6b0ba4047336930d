#pragma once

#include <tools/bench/baselines/classical_type.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::bench {

/// A database in the family's manner that offers the calls of chainbase::database, so that the same
/// rules of a chain run over both: a container of Boost.MultiIndex with
/// boost::interprocess::allocator per type, in a mapped file, an undo stack per type, and sessions
/// that touch every type.
///
/// Objects are chainbase's structs. Their texts own memory of the process's heap here, which costs
/// this engine less than strings with the segment's allocator would.
///
/// For one thread. Calls throw as the database's do (not_found_error, duplicate_key_error), but
/// what a failed change did stays until its session is undone.
template <hashed_keys Hashed = hashed_keys::as_trees>
class classical_database {
public:
    /// Undoes itself unless it was ended; the database outlives it.
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
    /// In the segment, with the allocator's headers, and of the texts on the heap.
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
    std::vector<classical_type_base*> used_;
    std::int64_t revision_ = 0;
    std::int64_t committed_ = 0;
};

} // namespace chainbase::bench

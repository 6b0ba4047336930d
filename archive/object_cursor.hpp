#pragma once

#include <archive/detail/archived_keys.hpp>
#include <archive/detail/removed_objects.hpp>
#include <archive/found.hpp>
#include <archive/store.hpp>
#include <chainbase/database.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace chainbase::archive {

/// Walks the objects of a type in the order of one of its ordered keys, those in memory and those
/// in the archive as one sequence, each once. Made by lifecycle::range() and lifecycle::from().
///
///     for (auto at = comments.range<by_author>("alice"); at.valid(); at.next())
///         use(at->get<&comment::created>());
///
/// Holds for the state at the time it was made: no object of the type may be created, changed or
/// removed while it is used, which the state's read lock sees to. Must not outlive its life cycle
/// and the store. One thread at a time.
template <archivable T, typename Tag>
class object_cursor {
    using key = key_called<T, Tag>;
    using view = decltype(std::declval<const database&>().template view<T, Tag>());
    using iterator = typename view::iterator;

public:
    /// From `first` to `last` in memory; in the archive, `rows` as long as their keys start with
    /// `prefix`, if they count.
    object_cursor(const detail::removed_objects<T>& removed, const store& archive, table_id table,
                  iterator first, iterator last, key_cursor rows, byte_buffer prefix)
        : removed_(removed), archive_(archive), table_(table), at_(first), end_(last),
          rows_(std::move(rows)), prefix_(std::move(prefix)) {
        encode_object();
        skip_rows();
        settle();
    }

    /// False behind the last object; what follows requires true.
    [[nodiscard]] bool valid() const noexcept { return current_.has_value(); }
    [[nodiscard]] const found<T>& operator*() const noexcept { return *current_; }
    [[nodiscard]] const found<T>* operator->() const noexcept { return &*current_; }

    /// Throws what reading the store throws: the end is never reached by mistake.
    void next() {
        if (current_->in_memory()) {
            ++at_;
            encode_object();
        } else {
            rows_.next();
            skip_rows();
        }
        settle();
    }

private:
    [[nodiscard]] bool has_row() const {
        return rows_.valid() && starts_with(rows_.key(), prefix_);
    }
    void encode_object() {
        object_key_.clear();
        if (at_ != end_) detail::archived_keys<T>::template append<Tag>(object_key_, *at_);
    }
    void skip_rows() {
        while (has_row() && !removed_.counts(rows_.id()))
            rows_.next();
    }
    void settle() {
        const bool is_row = has_row() && (at_ == end_ || bytes_less()(rows_.key(), object_key_));
        if (is_row)
            current_.emplace(row());
        else if (at_ != end_)
            current_.emplace(*at_);
        else
            current_.reset();
    }
    [[nodiscard]] pinned_row row() const {
        std::optional<pinned_row> found = archive_.find(table_, rows_.id());
        if (found) return *std::move(found);
        throw damaged_error(archive_.name() + ": table \"" + archive_.tables()[table_.value].name +
                            "\", key " + key_name<key>() + ": leads to row " +
                            std::to_string(rows_.id()) +
                            ", which is missing; restore the archive from a backup or rebuild it "
                            "by a replay");
    }

    const detail::removed_objects<T>& removed_;
    const store& archive_;
    table_id table_;
    iterator at_;
    iterator end_;
    byte_buffer object_key_; ///< of *at_
    key_cursor rows_;
    byte_buffer prefix_;
    std::optional<found<T>> current_;
};

} // namespace chainbase::archive

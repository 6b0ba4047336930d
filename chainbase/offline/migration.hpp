#pragma once

#include <chainbase/index.hpp>
#include <chainbase/object/schema_of.hpp>
#include <chainbase/offline/rows/described_buffers.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>
#include <chainbase/state_migration.hpp>

#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase {

/// An object as it was before a migration, by the names of its fields. Valid during the call that
/// it is passed to.
class old_object {
public:
    explicit old_object(const type_schema& layout) : layout_(layout), values_(layout_) {}

    /// For migration: the next object. Throws what object_of_record::read throws.
    void read(archive::bytes_view record) { value_ = values_.read(record); }

    /// Whether it had such a field: states of several ages may be migrated.
    [[nodiscard]] bool has(std::string_view field) const;
    /// The value of a field, which has the bytes of T: a number, an enum, a fixed_string. Throws
    /// usage_error when there is no such field.
    template <typename T>
    [[nodiscard]] T get(std::string_view field) const {
        T copy;
        std::memcpy(&copy, bytes_of(field, sizeof copy), sizeof copy);
        return copy;
    }
    /// Of a shared_string. Throws the same.
    [[nodiscard]] std::string_view text(std::string_view field) const;

private:
    [[nodiscard]] const std::byte* bytes_of(std::string_view field, std::size_t bytes) const;

    type_schema layout_;
    snapshot_file::object_of_record values_;
    std::span<const std::byte> value_;
};

/// Takes a state over whose types were declared otherwise: fields that are new, gone, renamed, or
/// of a wider type, other keys, types with other names.
///
///     chainbase::migration to_now;
///     to_now.type<account>("account").renamed<&account::balance>("amount").dropped("legacy");
///     to_now.type<vote>("vote").computed([](const old_object& was, vote& now) { ... });
///     open_options how;
///     how.migrate = &to_now;                 // only does something if the state needs it
///     database state("state", how);
///
/// Fields are matched by name; new ones are zero or empty, and keys are built as they are declared
/// now. Types that are not named are kept as they are. What is said of renamed and dropped fields
/// applies where the state has them, so one migration serves states of several ages: the fields of
/// each must have a match or be dropped. The new segment is made beside the old one,
/// checked, and takes its place in one step: after a kill the state is what it was, or what it is
/// to be. What a state root recorded is left out, and made anew (committed_state::catch_up). What
/// became of each type is told by `STATE/migrations.json` (past_migration) from then on.
///
/// Thread-safety: as a container.
class migration final : public state_migration {
public:
    template <typename T>
    class migrated_type;

    /// `name`: as database::add_type has it. All types that the program has can be named; those
    /// that are the same are not touched.
    template <typename T>
    migrated_type<T> type(const std::string& name);
    /// The objects of a type may be lost.
    migration& drop_type(const std::string& name);
    /// Blocks that can still be undone become permanent; without it run() refuses where there are
    /// some.
    migration& commit_all() {
        commits_ = true;
        return *this;
    }

    [[nodiscard]] bool is_needed(const catalogue& types) const override;
    /// Throws usage_error when fields would be lost that are not named as dropped, when a type has
    /// rows in an archive and other fields or another name, when a key of a type that changes is
    /// computed by a function, or when the feed has followers; limit_error for a value that does
    /// not fit, duplicate_key_error, locked_error, damaged_error, out_of_space_error, io_error.
    /// Who opens the state next makes a checkpoint of it.
    void run(const std::filesystem::path& state, const open_options& how) override;

    /// The same for a snapshot that is loaded: sets types, rules, renamed and dropped types. This
    /// outlives the loading.
    void add_to(snapshot_file::loading_options& how, const snapshot_file::manifest& from) const;

private:
    struct change {
        type_schema now;
        std::set<std::string> was{}; ///< its former names
        snapshot_file::migration_rules rules{};
        std::function<void(const old_object&, std::span<std::byte>)> compute{};

        [[nodiscard]] snapshot_file::migration_rules rules_for(const type_schema& from) const;
    };
    class in_place;

    [[nodiscard]] const change* of(const std::string& old_type) const;

    std::deque<change> types_;
    std::set<std::string> dropped_;
    bool commits_ = false;
};

/// How one type is migrated. Refers to its migration.
template <typename T>
class migration::migrated_type {
public:
    explicit migrated_type(change& of) : of_(&of) {}

    /// A former name of the type, which may have had several.
    migrated_type& was(const std::string& name) {
        of_->was.insert(name);
        return *this;
    }
    /// The field's former name.
    template <auto Member>
    migrated_type& renamed(const std::string& was) {
        of_->rules.renamed[detail::field_name<T, Member>()] = was;
        return *this;
    }
    /// The content of a former field may be lost.
    migrated_type& dropped(const std::string& field) {
        of_->rules.dropped.insert(field);
        return *this;
    }
    /// Computes fields of each object, of which all others are set. It must not change the id, nor
    /// touch a text or a vector of `now`: what they were is in `was`.
    migrated_type& computed(std::function<void(const old_object& was, T& now)> f) {
        of_->compute = [f = std::move(f)](const old_object& was, std::span<std::byte> object) {
            f(was, *reinterpret_cast<T*>(object.data()));
        };
        return *this;
    }

private:
    change* of_;
};

template <typename T>
migration::migrated_type<T> migration::type(const std::string& name) {
    types_.push_back({schema_of<T>(name)});
    types_.back().now.root_bytes = object_index<T>::root_bytes;
    return migrated_type<T>(types_.back());
}

} // namespace chainbase

#pragma once

#include <chainbase/object/schema.hpp>
#include <tools/sink/table/ddl.hpp>
#include <tools/sink/table/table.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::sink {

/// The tables of a state's types, by the numbers that the feed gives these.
///
/// One thread at a time, also while others read; the tables keep their addresses, and can be read
/// in any thread.
class known_tables {
public:
    /// `distribute`: "TYPE:FIELD" each, by which rows are distributed in place of the id.
    /// `history`: types whose histories are kept, or "all". Throws usage_error for a word of
    /// another form.
    explicit known_tables(const std::vector<std::string>& distribute = {},
                          const std::vector<std::string>& history = {});

    /// Takes the types behind those that it has. Returns the tables of these. Throws usage_error
    /// when a field to distribute by is not there, or cannot be used.
    std::vector<const table*> take(const std::deque<type_schema>& types);
    [[nodiscard]] bool has_all(const std::deque<type_schema>& types) const noexcept {
        return types.size() <= types_.size();
    }

    /// Of the type with this number; null: it has none.
    [[nodiscard]] const table* of(std::uint32_t type) const noexcept {
        return type < by_number_.size() ? by_number_[type] : nullptr;
    }
    [[nodiscard]] std::vector<const table*> all() const;
    /// The column by which rows are distributed.
    [[nodiscard]] std::size_t distribution(const table& of) const;
    /// Whether objects of the type can be removed from the archive.
    [[nodiscard]] bool has_removed(const table& of) const;

    /// An object of such a type says that one of `target` was removed from the archive.
    struct removal {
        std::uint32_t target;
        std::size_t id_at; ///< in the record
    };
    [[nodiscard]] std::optional<removal> removal_by(std::uint32_t type) const;

    /// Throws usage_error when a type is named that has no table.
    void require_named() const;
    /// What tables are made from: a line of the options, and all types as `catalogue.json` has
    /// them.
    [[nodiscard]] std::string made_from() const;
    /// Those that a database has. `text`: what made_from() was.
    [[nodiscard]] std::vector<const table*> made_in(const std::string& text,
                                                    const std::string& database) const;
    /// Throws usage_error naming database and difference when tables were made from types that are
    /// not as these, or with other options. `text`: what made_from() was.
    void require_same(const std::string& text, const std::string& database) const;

private:
    [[nodiscard]] std::string options() const;

    std::map<std::string, std::string, std::less<>> fields_; ///< to distribute by, of types
    std::set<std::string> history_;
    std::deque<type_schema> types_;
    std::deque<table> tables_;
    std::vector<const table*> by_number_;
    std::map<const table*, std::size_t> distribution_;
};

} // namespace chainbase::sink

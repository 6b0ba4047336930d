#pragma once

#include <chainbase/bulk_load/key_loaders.hpp>
#include <chainbase/schema.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// The first line of a dump: of which types it is.
struct dump_head {
    struct type {
        type_schema schema;
        std::uint32_t next_id; ///< when it began
    };

    std::int64_t revision = 0; ///< when it began
    std::vector<type> types;   ///< by name
    bool has_archive = false;  ///< rows of the archive are among its rows

    [[nodiscard]] std::string line() const;
    /// What a line of `file` says. Throws damaged_error when that is no dump, format_error when it
    /// is one of another version.
    [[nodiscard]] static dump_head of(const std::string& line, const std::string& file);
    [[nodiscard]] bool has_types_of(const dump_head& other) const;
};

/// The orders of a type's keys as lines of a dump, for keys whose order cannot be told from the
/// objects; an order of many objects takes several lines.
///
///     {"key":"account.by_total","ids":[7,3,...]}
///     {"key":"token.by_tag","seed":[1,2],"ids":[7,3,...],"hashes":[...],"follows":[false,true,...]}
///
/// `seed`: what the hashes are keyed with. `follows`: has the key of the one before. Throws what
/// `write` throws.
void write_orders(const std::string& type, const bulk_load::key_orders& orders,
                  const std::function<void(std::string_view line)>& write);

/// Whether a line of a dump is one of these.
[[nodiscard]] inline bool is_key_line(std::string_view line) noexcept {
    return line.starts_with(R"({"key":")");
}

/// The keys of a type, as "by_total, by_tag", of which only its program can tell the order or the
/// hashes; empty if there are none. Throws damaged_error.
[[nodiscard]] std::string computed_keys(const type_schema& schema);

/// Where a dump goes: stdout, or a file that another call can go on with.
class dump_file {
public:
    /// How far a file got.
    struct standing {
        std::string head;         ///< its first line
        std::uint64_t rows = 0;   ///< whole lines after it
        std::string type;         ///< of the last one; empty if there is none
        std::uint32_t id = 0;     ///< of the last one
        bool is_complete = false; ///< it has its last line
    };

    /// stdout
    dump_file() noexcept;
    /// A fresh file. Throws usage_error when there is one of that name, io_error.
    explicit dump_file(const std::filesystem::path& file);
    /// One that a dump was begun in, cut after its last whole line. Throws io_error, and
    /// damaged_error, with the offset, when it is no dump.
    dump_file(const std::filesystem::path& file, standing& found);

    /// Writes lines. Throws io_error, out_of_space_error.
    void write(std::string_view lines);
    /// Brings them to storage, if it is a file. Throws io_error.
    void finish();

private:
    struct close {
        void operator()(std::FILE* file) const noexcept;
    };

    std::string name_;
    std::unique_ptr<std::FILE, close> file_;
};

} // namespace chainbase::inspect

#pragma once

#include <chainbase/object/schema.hpp>
#include <chainbase/offline/bulk_load/key_loaders.hpp>

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

/// The first line of a dump, which lists its types.
struct dump_head {
    struct type {
        type_schema schema;
        std::uint32_t next_id; ///< when the dump began
    };

    std::int64_t revision = 0; ///< when the dump began
    std::vector<type> types;   ///< by name
    bool has_archive = false;  ///< it includes rows of the archive

    [[nodiscard]] std::string line() const;
    /// Parses the first line of `file`. Throws damaged_error when it is no dump, format_error for
    /// another version.
    [[nodiscard]] static dump_head of(const std::string& line, const std::string& file);
    [[nodiscard]] bool has_types_of(const dump_head& other) const;
};

/// The order of a type's keys as lines of a dump, for keys whose order cannot be derived from the
/// objects; a long order takes several lines.
///
///     {"key":"account.by_total","ids":[7,3,...]}
///     {"key":"token.by_tag","seed":[1,2],"ids":[7,3,...],"hashes":[...],"follows":[false,true,...]}
///
/// `seed`: the key of the hashes. `follows`: the entry has the same key as the one before. Throws
/// what `write` throws.
void write_orders(const std::string& type, const bulk_load::key_orders& orders,
                  const std::function<void(std::string_view line)>& write);

/// Whether a line of a dump is a key line.
[[nodiscard]] inline bool is_key_line(std::string_view line) noexcept {
    return line.starts_with(R"({"key":")");
}

/// The keys of a type, as "by_total, by_tag", whose order or hashes only its program can compute;
/// empty if there are none. Throws damaged_error.
[[nodiscard]] std::string computed_keys(const type_schema& schema);

/// The output of a dump: stdout, or a file that another call can resume.
class dump_file {
public:
    /// The progress of a dump in a file.
    struct standing {
        std::string head;         ///< its first line
        std::uint64_t end = 0;    ///< end of the lines to keep
        std::uint64_t rows = 0;   ///< complete lines after the head
        std::string type;         ///< type of the last row; empty if there is none
        std::uint32_t id = 0;     ///< id of the last row
        bool is_complete = false; ///< its last line is there
    };

    /// stdout
    dump_file() noexcept;
    /// A new file. Throws usage_error when the name exists, io_error.
    explicit dump_file(const std::filesystem::path& file);
    /// Reads the progress of an unfinished dump. Keys after the last row of a type are not kept:
    /// they are written again. Throws io_error, and damaged_error with the offset when it is no
    /// dump.
    [[nodiscard]] static standing progress_of(const std::filesystem::path& file);
    /// Resumes an unfinished dump, cut to the lines to keep. Throws io_error.
    dump_file(const std::filesystem::path& file, const standing& found);

    /// Writes lines. Throws io_error, out_of_space_error.
    void write(std::string_view lines);
    /// Syncs a file. Throws io_error.
    void finish();

private:
    struct close {
        void operator()(std::FILE* file) const noexcept;
    };

    std::string name_;
    std::unique_ptr<std::FILE, close> file_;
};

} // namespace chainbase::inspect

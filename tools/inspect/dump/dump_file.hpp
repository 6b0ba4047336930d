#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::inspect {

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

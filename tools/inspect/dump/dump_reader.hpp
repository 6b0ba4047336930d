#pragma once

#include <chainbase/bulk_load/key_loaders.hpp>
#include <tools/inspect/dump/dump_head.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <istream>
#include <string>

namespace chainbase::inspect {

/// A dump, read line by line: the head, then of each type its rows and the orders of its keys, then
/// the end. One thread at a time.
class dump_reader {
public:
    /// Reads the first line of `file`, or of stdin if that is "-". Throws io_error, damaged_error
    /// when it is no dump, format_error when it is one of another version.
    explicit dump_reader(const std::string& file);

    [[nodiscard]] const dump_head& head() const noexcept { return head_; }

    /// The next row of a type, as JSON; null when there is none. Throws damaged_error, with the
    /// number of the line, for what is no line of a dump.
    [[nodiscard]] const nlohmann::json* next_row(const std::string& type);
    /// The orders that follow the rows of a type. Throws as next_row does.
    [[nodiscard]] bulk_load::key_orders orders(const std::string& type);

    /// The last line.
    struct tail {
        std::int64_t revision;
        bool moved; ///< the objects are of different blocks
    };
    /// Throws damaged_error when the dump is not whole: there is no such line yet, or it counts
    /// other rows than there were.
    [[nodiscard]] tail end();

    /// "FILE: line 17", which was read last.
    [[nodiscard]] std::string place() const;

private:
    void read_line();
    [[noreturn]] void refuse(const std::string& why) const;

    std::string name_;
    std::ifstream file_;
    std::istream& in_;
    dump_head head_;
    std::string text_;    ///< of the line that was read last
    nlohmann::json line_; ///< as JSON; null when there was none
    bool is_taken_ = true;
    std::uint64_t number_ = 0;
    std::uint64_t rows_ = 0;
};

} // namespace chainbase::inspect

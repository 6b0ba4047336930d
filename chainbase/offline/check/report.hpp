#pragma once

#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/fwd.hpp>
#include <pool_allocator/window.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The findings of a check, as data for reports.
namespace chainbase::check {

/// A deviation from what the engine writes.
struct finding {
    std::string file;                         ///< within the state's folder; empty: none of them
    std::optional<std::uint64_t> offset;      ///< in the file, of the word that is wrong
    std::string what;                         ///< in words
    std::optional<slot_number> slot = {};     ///< of the object or buffer it is about
    std::optional<std::uint32_t> object = {}; ///< its id
};

/// The result of checking one part of a state. Not thread-safe.
struct part_report {
    /// The number of findings kept per part; further ones are only counted.
    static constexpr std::size_t most_findings = 100;

    struct figure {
        std::string what;
        std::uint64_t number = 0;
    };

    std::string name; ///< "header", "undo_log", "buffers.16", "account", "by_name"
    std::string type; ///< if it is a type or belongs to one
    std::string key;  ///< if it is the structure of one
    std::vector<figure> figures;
    std::vector<std::string> not_checked; ///< what could not be, and why
    std::vector<std::string> refused;     ///< files that opening refuses for their owner or mode
    std::vector<finding> findings;        ///< the first ones
    std::uint64_t found = 0;              ///< how many there are in all, without those of `parts`
    double seconds = 0;
    std::vector<part_report> parts;

    void add(finding one) {
        if (found++ < most_findings) findings.push_back(std::move(one));
    }
    /// As add, of a place in a window's file.
    void add(const window& file, std::uint64_t offset, std::string what) {
        add({file_of(file), offset, std::move(what)});
    }
    void count(std::string what, std::uint64_t number) {
        figures.push_back({std::move(what), number});
    }
    /// Findings of this part and of those within it.
    [[nodiscard]] std::uint64_t found_in_all() const noexcept {
        std::uint64_t sum = found;
        for (const part_report& part : parts)
            sum += part.found_in_all();
        return sum;
    }
    /// What was not checked of this part and of those within it.
    [[nodiscard]] std::uint64_t not_checked_in_all() const noexcept {
        std::uint64_t sum = not_checked.size();
        for (const part_report& part : parts)
            sum += part.not_checked_in_all();
        return sum;
    }
    /// What is refused of this part and of those within it.
    [[nodiscard]] std::vector<std::string> refused_in_all() const {
        std::vector<std::string> all = refused;
        for (const part_report& part : parts)
            for (std::string& one : part.refused_in_all())
                all.push_back(std::move(one));
        return all;
    }
    /// Adds a part; the reference is valid until the next one is added.
    part_report& enter(std::string called) {
        part_report part;
        part.name = std::move(called);
        part.type = type;
        parts.push_back(std::move(part));
        return parts.back();
    }

    [[nodiscard]] static std::string file_of(const window& file) {
        return "segment/" + file.name();
    }
};

/// A finding of what a layer below says of a file in `folder`: "FILE: offset N: what". `file` is
/// the one it is about if that does not say it.
[[nodiscard]] finding located(const std::filesystem::path& folder, std::string file,
                              std::string said);

/// Measures the time that a part takes, until destroyed.
class stopwatch {
public:
    explicit stopwatch(part_report& of) noexcept : of_(of) {}
    stopwatch(const stopwatch&) = delete;
    stopwatch& operator=(const stopwatch&) = delete;
    ~stopwatch() { of_.seconds = std::chrono::duration<double>(clock::now() - begin_).count(); }

private:
    using clock = std::chrono::steady_clock;

    part_report& of_;
    clock::time_point begin_ = clock::now();
};

using rows::copy_at;
using rows::readable;

/// Where the words of a window's root block begin in its file.
inline constexpr std::uint64_t root_offset = sizeof(window_header);

} // namespace chainbase::check

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase {

/// Who holds and awaits the lock between processes, at about one moment. Takes nothing and waits
/// for nothing, so it works where all others hang.
struct lock_report {
    enum class doing {
        idle,    ///< neither of the others
        waiting, ///< a writer for readers to leave; a reader for the writer
        inside,  ///< writing, reading
    };
    struct of_writer {
        std::uint32_t process = 0; ///< who opened the state for writing last; 0: nobody yet
        bool is_alive = false;     ///< somebody has it open for writing
        doing what = doing::idle;  ///< of one who died: where that was
        double seconds = 0;        ///< since it came to that, unless it is idle
    };
    struct of_reader {
        std::uint32_t slot = 0;
        std::uint32_t process = 0; ///< its number where it runs
        std::uint32_t thread = 0;  ///< that had the slot last
        std::string name;          ///< of the process
        bool is_alive = false;
        doing what = doing::idle;
        double seconds = 0; ///< since it asked for what it is waiting for or inside of
    };

    of_writer writer;
    std::vector<of_reader> readers; ///< by slot; those that nobody has are left out

    /// Of the state in a folder. Throws format_error when none is there, io_error, damaged_error.
    [[nodiscard]] static lock_report read(const std::filesystem::path& state);
};

} // namespace chainbase

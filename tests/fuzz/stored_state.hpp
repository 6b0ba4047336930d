#pragma once

#include <tests/fuzz/patches.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace chainbase::test {

/// The files of a state's folder, to be written again and again; pages of zeros are holes.
class stored_state {
public:
    struct file {
        std::uint64_t bytes = 0;
        std::map<std::uint64_t, std::string> pages; ///< by offset, 4 KiB each or the file's end
        std::vector<std::uint64_t> places;          ///< of the pages that were not zeros
    };

    stored_state() = default;
    /// Reads what is there.
    explicit stored_state(const std::filesystem::path& folder);

    /// Makes the folder what was stored.
    void write(const std::filesystem::path& folder) const;

    /// Names relative to the folder; a patch means them in this order.
    [[nodiscard]] const std::string& name(std::size_t number) const { return names_[number]; }
    [[nodiscard]] std::size_t count() const noexcept { return names_.size(); }
    [[nodiscard]] file& at(const std::string& name) { return files_.at(name); }

    /// Changes the file number `one.file`: its bytes, or its length. Pages of zeros count only
    /// where there is nothing else.
    void apply(const patches::patch& one);

private:
    std::vector<std::string> names_;
    std::map<std::string, file> files_;
};

} // namespace chainbase::test

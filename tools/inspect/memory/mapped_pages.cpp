#include <pool_allocator/base/decimal.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>

#include <fstream>
#include <sstream>
#include <string>

namespace chainbase::inspect {

namespace {

/// "7f00-7f10 rw-s 00000000 00:17 5    /dev/shm/a b": five words, then a name to the line's end.
/// Empty if the line begins no mapping.
std::string name_in(const std::string& line) {
    std::istringstream from(line);
    std::string addresses;
    std::string word;
    from >> addresses;
    if (addresses.find('-') == std::string::npos) return {};
    for (int i = 0; i < 4; ++i)
        from >> word;
    std::string name;
    std::getline(from >> std::ws, name);
    return name;
}

bool begins_mapping(const std::string& line) {
    const std::string first = line.substr(0, line.find(' '));
    return !first.empty() && first.back() != ':';
}

/// "Rss:     12 kB"
void add_figure(const std::string& line, mapped_pages& to) {
    std::istringstream from(line);
    std::string name;
    std::string figure;
    from >> name >> figure;
    const std::uint64_t bytes = decimal_in(figure).value_or(0) * 1024;
    if (name == "Rss:") to.resident += bytes;
    if (name == "ShmemPmdMapped:") to.shmem_pmd_mapped += bytes;
    if (name == "FilePmdMapped:") to.file_pmd_mapped += bytes;
    if (name == "AnonHugePages:") to.anon_huge_pages += bytes;
}

} // namespace

std::optional<mapped_pages> pages_mapped_by(pid_t process, const std::filesystem::path& folder,
                                            const std::filesystem::path& root) {
    std::ifstream from(root / "proc" / std::to_string(process) / "smaps");
    mapped_pages found;
    bool is_within = false;
    for (std::string line; std::getline(from, line);) {
        if (begins_mapping(line)) {
            is_within = std::filesystem::path(name_in(line)).parent_path() == folder;
            found.mappings += is_within ? 1 : 0;
        } else if (is_within) {
            add_figure(line, found);
        }
    }
    if (found.mappings == 0) return {};
    return found;
}

} // namespace chainbase::inspect

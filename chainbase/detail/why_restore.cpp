#include <chainbase/detail/segment_header.hpp>
#include <chainbase/detail/why_restore.hpp>

#include <filesystem>
#include <optional>

namespace chainbase::detail {

std::string why_restore(const segment_place& place) {
    if (!place.why_foreign().empty()) return place.why_foreign();
    if (!std::filesystem::exists(place.folder())) return "its segment is not there";
    const std::optional<segment_header> found = header_in(place.folder());
    if (!found) return {};
    const bool is_of_this_boot = boot_of(*found) == boot_id();
    if (is_of_this_boot || (found->clean == 1 && found->synced == 1)) return {};
    if (found->clean == 1 && found->generation == 0) return {}; // nobody promised anything about it
    return found->clean == 1 ? "the machine restarted after it was closed"
                             : "the machine restarted while it was open";
}

} // namespace chainbase::detail

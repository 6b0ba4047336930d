#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/memory/segment_files.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

constexpr const char* names_of_a_state[] = {"lock", "segment", "segment.json", "checkpoint"};

constexpr const char* way_out = "; `chainbase-inspect info` says what the next opening does";

} // namespace

bool is_state(const fs::path& folder) {
    return std::any_of(
        std::begin(names_of_a_state), std::end(names_of_a_state),
        [&](const char* name) { return fs::exists(fs::symlink_status(folder / name)); });
}

fs::path segment_folder(const fs::path& state) {
    if (!is_state(state))
        throw format_error(state.string() + ": no chainbase state is there; check the path");
    const segment_place place(state);
    if (!place.why_foreign().empty())
        throw unclean_error(state.string() + ": " + place.why_foreign() + way_out);
    if (!fs::exists(place.folder()))
        throw unclean_error(place.folder().string() + ": is not there" + way_out);
    return place.folder();
}

segment_header segment_header_in(const fs::path& folder) {
    const fs::path file = folder / "header";
    const std::optional<segment_header> found = detail::header_in(folder);
    if (!found)
        throw damaged_error(file.string() +
                            ": offset 0: not the header of a chainbase state, or damaged" +
                            way_out);
    if (found->format != segment_header::current_format)
        throw format_error(file.string() + ": format " + std::to_string(found->format) +
                           ", this program reads " +
                           std::to_string(segment_header::current_format) +
                           "; look at it with the program of that version");
    return *found;
}

bool is_of_another_boot(const segment_header& header) {
    const bool is_on_storage = header.clean == 1 && header.synced == 1;
    return detail::boot_of(header) != detail::boot_id() && !is_on_storage;
}

} // namespace chainbase::inspect

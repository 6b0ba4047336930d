#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/database.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>
#include <tools/inspect/state/named_state.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

using checkpoint::publication;
using checkpoint::published;

constexpr std::string_view mark = "@checkpoint";

struct parsed_name {
    std::string state;
    std::optional<std::uint64_t> generation; ///< none: the newest
};

/// Nothing for what names no checkpoint.
std::optional<parsed_name> parse(const std::string& name) {
    const std::size_t at = name.rfind(mark);
    if (at == std::string::npos || at == 0 || fs::exists(name)) return std::nullopt;
    parsed_name found{name.substr(0, at), std::nullopt};
    const std::string_view rest = std::string_view(name).substr(at + mark.size());
    if (rest.empty()) return found;
    std::uint64_t generation = 0;
    const char* const end = rest.data() + rest.size();
    if (rest.front() != ':') return std::nullopt;
    const auto [stop, problem] = std::from_chars(rest.data() + 1, end, generation);
    if (problem != std::errc() || stop != end)
        throw usage_error(name + ": \"" + std::string(rest.substr(1)) +
                          "\" is no generation of a checkpoint: a whole number (`info` lists "
                          "them)");
    found.generation = generation;
    return found;
}

const publication* with(const published& all, std::optional<std::uint64_t> generation) {
    if (!generation) return all.newest();
    for (const publication* one : {all.newest(), all.older()})
        if (one && one->generation == *generation) return one;
    return nullptr;
}

[[noreturn]] void fail_missing(const fs::path& state, const published& all,
                               std::optional<std::uint64_t> generation) {
    std::string known;
    for (const publication* one : {all.newest(), all.older()})
        if (one) known += fmt::format("{}{}", known.empty() ? "" : ", ", one->generation);
    if (!all.why().empty()) throw damaged_error(all.why());
    throw usage_error(fmt::format("{} has no checkpoint{}; it has {}", state.string(),
                                  generation ? fmt::format(" {}", *generation) : "",
                                  known.empty() ? "none" : known));
}

std::uint64_t bytes_of(const publication& one) {
    std::uint64_t bytes = 0;
    for (const publication::file& file : one.files)
        bytes += file.bytes;
    return bytes;
}

/// As the state was left at the checkpoint; then closed, so that all can look at it.
void make_state(const fs::path& checkpoints, const publication& from, const fs::path& state) {
    private_folder::make_within(state);
    const fs::path segment = state / "segment";
    checkpoint::restore_publication(disk::of_system(), checkpoints, from, segment);
    segment_header header = detail::fresh_header(from.window_bytes, from.windows);
    header.identity = from.state;
    const std::string boot = detail::boot_id();
    std::memcpy(header.boot, boot.data(), boot.size());
    detail::write_header(segment, header);
    static_cast<void>(open_private(state / "lock", file_use::create)); // where a segment is, it is
    open_options how;
    how.sync = false;
    how.promise = durability::process;
    how.advise = false;
    database(state, how).close();
}

} // namespace

named_state::named_state(const std::string& name) : origin_(name), folder_(name) {
    const auto found = parse(name);
    if (!found) return;
    origin_ = found->state;
    restore(found->generation);
}

/// Beside a writer a checkpoint may be replaced while it is read: then the newest one is another.
void named_state::restore(std::optional<std::uint64_t> generation) {
    constexpr int attempts = 10;
    const fs::path checkpoints = origin_ / "checkpoint";
    for (int attempt = 1;; ++attempt) {
        const published all(disk::of_system(), checkpoints);
        const publication* const wanted = with(all, generation);
        if (!wanted) fail_missing(origin_, all, generation);
        restored_ =
            std::make_unique<temporary_folder>(temporary_folder::place_for(bytes_of(*wanted)));
        folder_ = restored_->path() / "state";
        try {
            return make_state(checkpoints, *wanted, folder_);
        } catch (const damaged_error&) {
            const published now(disk::of_system(), checkpoints);
            if (attempt == attempts || with(now, wanted->generation)) throw;
        }
    }
}

std::string named_state::name_of(const fs::path& state, std::uint64_t generation) {
    return fmt::format("{}{}:{}", state.string(), mark, generation);
}

} // namespace chainbase::inspect

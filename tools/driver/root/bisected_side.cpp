#include <pool_allocator/error.hpp>
#include <tools/driver/root/bisected_side.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/rows/object_row.hpp>

namespace chainbase::driver {

bisected_side::bisected_side(const std::filesystem::path& source) {
    if (known_roots::is_file(source))
        file_ = known_roots::of_file(source);
    else
        state_.emplace(source);
}

void bisected_side::hold() {
    if (state_) still_.emplace(*state_);
}

void bisected_side::require_held() {
    if (still_) still_->take_turn([] {});
}

known_roots bisected_side::roots() {
    return file_ ? *file_ : known_roots::of_state(*state_);
}

bisected_side::row bisected_side::find(const std::string& type, std::uint32_t id) {
    try {
        return read(type, id);
    } catch (const error& problem) {
        return {{}, problem.what()};
    }
}

bisected_side::row bisected_side::read(const std::string& type, std::uint32_t id) {
    if (!is_archive_open_) archive_ = inspect::open_archive(*state_);
    is_archive_open_ = true;
    auto found = inspect::object_row::find(*state_, archive_.get(), type, id);
    if (!found) return {};
    return {*std::move(found), {}};
}

} // namespace chainbase::driver

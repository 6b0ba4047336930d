#pragma once

#include <archive/store.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/inspect/rows/object_row.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

/// A state, or a file of roots, that is compared with another one.
class bisected_side {
public:
    /// An object; without JSON: it is not there, or cannot be read.
    struct row : inspect::object_row {
        std::string problem; ///< why it cannot be read
    };

    /// Throws what known_roots::read and looking at a state throw.
    explicit bisected_side(const std::filesystem::path& source);

    [[nodiscard]] bool is_state() const noexcept { return state_.has_value(); }
    /// From here on it is looked at as it is at this moment: of a state, throws moved_meanwhile
    /// then and below when it is another one.
    void hold();
    /// Takes a turn.
    void require_held();
    [[nodiscard]] known_roots roots();
    /// Of a state.
    [[nodiscard]] inspect::still_state& held() noexcept { return *still_; }
    /// Of a state: one of its objects, in memory or archived.
    [[nodiscard]] row find(const std::string& type, std::uint32_t id);

private:
    [[nodiscard]] row read(const std::string& type, std::uint32_t id);

    std::optional<known_roots> file_; ///< read once: it may be a pipe
    std::optional<inspect::row_source> state_;
    std::optional<inspect::still_state> still_;
    std::unique_ptr<archive::store> archive_;
    bool is_archive_open_ = false;
};

} // namespace chainbase::driver

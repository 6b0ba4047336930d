#pragma once

#include <undo/undo_log.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace chainbase {

/// The change of one object between the begin of a session and now.
struct touched_object {
    std::uint32_t window; ///< index of the window its type's objects live in
    std::uint32_t id;
    bool existed;                  ///< when the session began
    bool exists;                   ///< now
    const std::byte* value_before; ///< where its value lay then; read it through before()
};

/// The objects that changed since a session began, and the bytes from that time; computed from the
/// log alone, in time and memory proportional to it.
///
/// Valid until the next operation or the end of the session.
class session_changes {
public:
    /// Reads the log from its tail down to `begin`, the position of a session's mark.
    session_changes(const undo_log& log, log_position begin);

    /// Every object touched, net of what cancels out (created and removed again), by window and id.
    [[nodiscard]] const std::vector<touched_object>& objects() const noexcept { return objects_; }

    /// Copies the bytes that were at `address` when the session began.
    void before(const std::byte* address, std::span<std::byte> out) const;

private:
    static constexpr std::size_t page_bytes = 4096;
    using page = std::array<std::byte, page_bytes>;

    void put_back(const std::byte* address, std::span<const std::byte> bytes);
    page& page_of(std::uintptr_t address);

    std::vector<touched_object> objects_;
    std::unordered_map<std::uintptr_t, std::unique_ptr<page>> pages_;
};

/// An object, by where its type's objects live.
struct object_place {
    std::uint32_t window; ///< its index
    std::uint32_t id;

    friend constexpr auto operator<=>(object_place, object_place) = default;
};

/// The objects that were created, modified or removed since a session began at `begin`, each once,
/// in order; including objects whose net change is nothing. Cheaper than session_changes, since no
/// former content is reconstructed. Throws std::bad_alloc. Between operations.
[[nodiscard]] std::vector<object_place> touched_objects(const undo_log& log, log_position begin);

} // namespace chainbase

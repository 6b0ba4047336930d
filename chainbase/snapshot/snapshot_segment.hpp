#pragma once

#include <chainbase/locks/snapshot_slots.hpp>
#include <chainbase/segment/mapped_segment.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <chainbase/snapshot/snapshot_pages.hpp>
#include <undo/before_images.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase {

/// The segment of a state as it was at the end of one block.
class snapshot_segment final : public mapped_segment {
public:
    /// What a page is that cannot be had any more (class snapshot_pages).
    enum class lost_page { ends_the_read, is_zeros };

    /// The newest snapshot of the state in a folder. Throws what opening it read-only throws,
    /// busy_error, limit_error, and too_old_error when each became too old before it was there.
    [[nodiscard]] static std::unique_ptr<snapshot_segment>
    take(const std::filesystem::path& state, const open_options& options = {},
         lost_page what = lost_page::ends_the_read);
    explicit snapshot_segment(std::filesystem::path state, const open_options& options = {},
                              lost_page what = lost_page::ends_the_read);

    [[nodiscard]] const block_end& block() const noexcept { return images_->from(); }
    [[nodiscard]] std::chrono::steady_clock::time_point taken() const noexcept { return taken_; }
    [[nodiscard]] const before_images& images() const noexcept { return *images_; }
    /// Whether another snapshot that began now would show the same. One that could not announce
    /// itself does not notice that the segment was replaced.
    [[nodiscard]] bool is_newest() const noexcept {
        return images_->is_newest() && (!slot_ || slot_->replacements() == replacements_);
    }
    [[nodiscard]] snapshot_pages& pages() const noexcept { return *pages_; }
    /// Moves on to the newest block. Returns false where it cannot, and this one is of no use any
    /// more: the segment was replaced, got a type, or outgrew the addresses that were reserved.
    /// Throws what taking one throws. Requires that no thread reads, and ends the validity of what
    /// was read; pages beyond `most_bytes` are given back.
    [[nodiscard]] bool renew(std::uint64_t most_bytes);
    /// Throws schema_error, usage_error when the state has no such type.
    [[nodiscard]] const type_windows& find_type(const type_schema& schema) {
        return find_or_create_type(schema);
    }
    [[nodiscard]] const type_windows* find_type(const std::string& name) const noexcept;
    [[nodiscard]] const open_options& options() const noexcept { return options_; }

private:
    void begin();
    void announce();
    [[nodiscard]] bool move_on();
    void begin_again();
    void map();
    [[nodiscard]] std::unique_ptr<address_space> reserve_addresses() override;
    [[nodiscard]] bool has_room() const;

    open_options options_;
    std::chrono::steady_clock::time_point taken_;
    std::uint64_t replacements_ = 0;    ///< of the segment, before it was opened
    std::uint64_t types_added_ = 0;     ///< to it, before its catalogue was read
    std::optional<snapshot_slot> slot_; ///< empty where this process may not announce anything
    std::optional<before_images> images_;
    mutable std::optional<snapshot_pages> pages_; ///< memory that fills itself
};

} // namespace chainbase

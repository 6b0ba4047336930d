#pragma once

#include <chainbase/checkpoint/checkpointer.hpp>
#include <chainbase/checkpoint/prior_sync.hpp>
#include <chainbase/checkpoint/redo_log.hpp>
#include <chainbase/checkpoint/service.hpp>
#include <chainbase/open_options.hpp>
#include <chainbase/segment/mapped_segment.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace chainbase {

/// The checkpoints of a state that is open for writing, and its redo log (durability::commit): made
/// of what is mapped, by a thread of their own.
class segment_checkpoints {
public:
    struct source {
        const mapped_segment& of;
        undo_log& log;
        const open_options& options;
        disk& on;
        std::filesystem::path folder;
        checkpoint::prior_sync& before;
        std::uint64_t generation; ///< of the checkpoint that the state was closed with; 0: none
    };
    /// Takes over the checkpoints in the folder. What `source` refers to outlives it. Throws
    /// usage_error when they are of another state, io_error.
    explicit segment_checkpoints(const source& from);

    [[nodiscard]] checkpoint::outcome now() { return service_.now(); }
    void wait_until_durable() { service_.wait_until_durable(); }
    void wait_until_idle() { service_.wait_until_idle(); }
    [[nodiscard]] checkpoint::history so_far() const { return service_.so_far(); }
    /// What a checkpoint has as catalogue.json: by the writer, between operations.
    void set_catalogue(std::string text) noexcept { catalogue_ = std::move(text); }

    /// Whether a checkpoint or a block was made since it was constructed, or the checkpoint that
    /// the state was closed with is not the newest any more. Waits for the checkpoint in progress.
    [[nodiscard]] bool have_changed();
    /// Whether the newest checkpoint is the one of this generation.
    [[nodiscard]] bool has_newest_of(std::uint64_t generation) const noexcept;

private:
    [[nodiscard]] std::unique_ptr<checkpoint::redo_log> redo_log() const;
    [[nodiscard]] checkpoint::checkpointer::source captured() const;

    source from_;
    std::string catalogue_; ///< as it is written: captures come more often than types
    checkpoint::checkpointer maker_;
    checkpoint::service service_;
};

/// Whether a page that checkpoints capture was written since the state was opened.
[[nodiscard]] bool has_written_pages(const mapped_segment& of);

} // namespace chainbase

#pragma once

#include <archive/store.hpp>
#include <pool_allocator/base/process_of_origin.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace chainbase::python {

/// Ends long work when Python has a signal to handle. Call look() between its steps, without the
/// GIL.
class interruption {
public:
    /// Throws what the handler of the signal raised. At most once in 50 ms it takes the GIL.
    void look() {
        const auto now = clock::now();
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(50);
        handle_signals();
    }

private:
    using clock = std::chrono::steady_clock;
    static void handle_signals(); ///< in module.cpp

    clock::time_point next_ = clock::now() + std::chrono::milliseconds(50);
};

/// What state_changed means for a block.
inline constexpr const char* block_is_gone =
    "this block cannot be read any more: it was undone, or more was changed since than the log "
    "keeps for readers (snapshot_log_bytes); take another one with at_block()";

/// A state that Python reads: its newest block, or one block of it.
///
/// What throws state_changed throws it only for one block: that cannot be read any more.
/// Thread-safe. Does nothing in a fork of the process that opened it (usage_error).
class opened {
public:
    /// A state or a checkpoint by its name (named_state), or the folder of a snapshot, of which a
    /// temporary state is made. Throws what row_source and snapshot_file::load throw.
    explicit opened(const std::string& name);
    ~opened();
    opened(const opened&) = delete;
    opened& operator=(const opened&) = delete;

    /// The same state as of its newest block. Throws what opening it throws, busy_error.
    [[nodiscard]] std::shared_ptr<opened> at_block() const;

    /// Calls that run end as if it were open; later ones throw usage_error.
    void close();
    [[nodiscard]] bool is_closed() const;

    /// What a call reads. As long as it is held, the state stays open. Throws usage_error when this
    /// was closed, or in a fork.
    class reading {
    public:
        [[nodiscard]] inspect::row_source& source() const noexcept { return *source_; }
        [[nodiscard]] bool is_block() const noexcept { return still_.has_value(); }
        /// Of one block only.
        [[nodiscard]] inspect::unchanging_state& still() { return still_.value(); }
        /// Begins a call: of a state, that reads its newest block.
        void begin() {
            if (!is_block()) source_->to_newest_block();
        }
        /// row_source::take_turn; throws state_changed when it is not the block any more.
        void take_turn(const std::function<void()>& look) {
            is_block() ? still_->take_turn(look) : source_->take_turn(look);
        }
        /// The archive with all that was handed over until now; null: there is none. Takes turns.
        /// Throws as inspect::open_whole_archive, of this type.
        [[nodiscard]] std::shared_ptr<const archive::store> archive_of(const std::string& type);

    private:
        friend class opened;
        std::shared_ptr<void> lasting_; ///< of a temporary state: its folder
        std::shared_ptr<inspect::row_source> source_;
        std::optional<inspect::unchanging_state> still_;

        std::mutex archive_mutex_;
        std::shared_ptr<const archive::store> archive_;
        std::uint64_t handed_over_ = 0; ///< of all types, when it was opened
        bool is_archive_known_ = false;
    };
    [[nodiscard]] std::shared_ptr<reading> now() const;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Whether it is the folder of a state, and not a checkpoint or a snapshot.
    [[nodiscard]] bool is_state() const noexcept { return is_state_; }

private:
    opened(const opened& of, std::shared_ptr<reading> what);

    std::string name_;
    bool is_state_ = false;
    process_of_origin origin_;
    mutable std::mutex mutex_;
    std::shared_ptr<reading> now_;
};

} // namespace chainbase::python

#pragma once

#include <archive/memory_store.hpp>
#include <chainbase/database.hpp>

#include <tests/archive/heap_store.hpp>
#include <tests/archive/note.hpp>

#include <filesystem>
#include <memory>
#include <optional>

namespace chainbase::test {

enum class engine {
    rocksdb,
    memory,
    heap ///< the naive one that others are compared with
};

/// A store of any engine in a folder, and what it needs.
class any_store {
public:
    any_store(engine which, std::filesystem::path folder,
              const archive::store_options& options = {})
        : which_(which), folder_(std::move(folder)), options_(options) {
        open();
    }

    [[nodiscard]] archive::store& operator*() noexcept { return *rows_; }
    [[nodiscard]] archive::store* operator->() noexcept { return rows_.get(); }

    /// Closes and opens it; what goes with the process stays open.
    void reopen() {
        if (which_ == engine::heap) return;
        close();
        open();
    }
    void close() {
        rows_.reset();
        if (state_) state_->close();
        state_.reset();
    }

private:
    void open() {
        if (which_ == engine::rocksdb) {
            rows_ = archive::open_store(folder_, options_);
        } else if (which_ == engine::memory) {
            state_.emplace(folder_, small_state());
            rows_ = std::make_unique<archive::memory_store>(*state_);
        } else {
            rows_ = std::make_unique<heap_store>();
        }
    }

    engine which_;
    std::filesystem::path folder_;
    archive::store_options options_;
    std::optional<database> state_;
    std::unique_ptr<archive::store> rows_;
};

} // namespace chainbase::test

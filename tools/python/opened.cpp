#include <chainbase/offline/snapshot_file/loading.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/python/opened.hpp>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

namespace chainbase::python {

namespace fs = std::filesystem;

namespace {

/// A state made of a snapshot.
class loaded_snapshot {
public:
    explicit loaded_snapshot(const fs::path& snapshot) : loaded_snapshot(reader(snapshot)) {}

    [[nodiscard]] fs::path state() const { return folder_.path() / "state"; }

private:
    using reader = snapshot_file::folder_reader;

    /// Rows take about as many bytes in a state as unpacked, keys as many again.
    explicit loaded_snapshot(const reader& from)
        : folder_(inspect::temporary_folder::place_for(2 * from.manifest().bytes())) {
        snapshot_file::loading_options how;
        how.threads = std::max(1U, std::thread::hardware_concurrency());
        interruption signals;
        how.tell = [&](std::uint64_t, std::uint64_t) { signals.look(); };
        snapshot_file::load(from, state(), how);
    }

    inspect::temporary_folder folder_;
};

bool is_snapshot(const fs::path& folder) {
    std::error_code ignored;
    return !inspect::is_state(folder) && fs::is_regular_file(folder / "manifest", ignored);
}

} // namespace

opened::opened(const std::string& name) : name_(name), now_(std::make_shared<reading>()) {
    if (is_snapshot(name)) {
        const auto loaded = std::make_shared<loaded_snapshot>(name);
        now_->lasting_ = loaded;
        now_->source_ = std::make_shared<inspect::row_source>(loaded->state());
        return;
    }
    now_->source_ = std::make_shared<inspect::row_source>(name);
    is_state_ = now_->source_->origin() == fs::path(name);
}

opened::opened(const opened& of, std::shared_ptr<reading> what)
    : name_(of.name_), is_state_(of.is_state_), now_(std::move(what)) {}

/// What the parent of a fork has open is not the child's to close.
opened::~opened() {
    if (!origin_.is_here()) leak(std::make_unique<std::shared_ptr<reading>>(std::move(now_)));
}

std::shared_ptr<opened> opened::at_block() const {
    const auto from = now();
    const auto block = std::make_shared<reading>();
    block->lasting_ = from->lasting_;
    const bool stays = !is_state_ || from->source_->is_rolled_back();
    block->source_ = stays ? from->source_ : std::make_shared<inspect::row_source>(name_);
    const auto began = inspect::attempt_while_unchanged([&] {
        block->still_.emplace(*block->source_);
        return true;
    });
    if (!began)
        throw busy_error(name_ + ": its writer changes objects all the time and not in blocks, so "
                                 "there is none to read; try again when it is idle");
    return std::shared_ptr<opened>(new opened(*this, block));
}

std::shared_ptr<opened::reading> opened::now() const {
    origin_.require_here(name_);
    const std::lock_guard alone(mutex_);
    if (now_) return now_;
    throw usage_error(name_ + ": was closed; open it again");
}

void opened::close() {
    std::shared_ptr<reading> last;
    {
        const std::lock_guard alone(mutex_);
        last = std::move(now_);
    }
    if (last && !origin_.is_here())
        leak(std::make_unique<std::shared_ptr<reading>>(std::move(last)));
}

bool opened::is_closed() const {
    const std::lock_guard alone(mutex_);
    return now_ == nullptr;
}

/// One that was opened before does not show what was handed over since.
std::shared_ptr<const archive::store> opened::reading::archive_of(const std::string& type) {
    std::uint64_t all = 0;
    std::uint64_t of_type = 0;
    for (const auto& [name, count] : inspect::objects_handed_over(*source_)) {
        all += count;
        if (name == type) of_type = count;
    }
    const std::lock_guard alone(archive_mutex_);
    if (!is_archive_known_ || all != handed_over_) {
        archive_ = inspect::open_archive(*source_);
        handed_over_ = all;
        is_archive_known_ = true;
    }
    inspect::require_rows(*source_, archive_.get(), type, of_type);
    return archive_;
}

} // namespace chainbase::python

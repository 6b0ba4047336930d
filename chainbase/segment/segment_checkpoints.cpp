#include <chainbase/segment/segment_checkpoints.hpp>

namespace chainbase {

namespace {

constexpr std::uint64_t page_bytes = page_tracker::page_bytes;

/// In pages of the page tracker.
std::uint64_t first_page_of(const window& file) {
    return std::uint64_t{file.index()} * (file.limit() / page_bytes);
}

} // namespace

segment_checkpoints::segment_checkpoints(const source& from)
    : from_(from), catalogue_(from.of.types().text()),
      maker_(from.on, from.folder, from.of.header().identity, from.of.addresses().pages()),
      service_(
          maker_, [this] { return captured(); }, from.log, from.options.checkpoints, from.before,
          redo_log()) {
    if (has_newest_of(from.generation)) return;
    // What another process changed is not known.
    from.of.each_window([&](const window& file) {
        from.of.addresses().pages().mark_maybe_changed(first_page_of(file),
                                                       file.bytes() / page_bytes);
    });
}

bool segment_checkpoints::has_newest_of(std::uint64_t generation) const noexcept {
    const checkpoint::publication* newest = maker_.done().newest();
    return newest && newest->generation == generation;
}

std::unique_ptr<checkpoint::redo_log> segment_checkpoints::redo_log() const {
    if (from_.options.durability != durability::commit) return nullptr;
    auto published = checkpoint::redo_log::published_blocks::of(maker_.done());
    if (maker_.done().newest() && !has_newest_of(from_.generation))
        published.next = checkpoint::redo_log::no_block;
    return std::make_unique<checkpoint::redo_log>(from_.on, from_.folder,
                                                  from_.of.header().identity, from_.of.addresses(),
                                                  from_.log, from_.before, published);
}

checkpoint::checkpointer::source segment_checkpoints::captured() const {
    checkpoint::checkpointer::source now;
    from_.of.each_window([&](const window& file) {
        if (&file != &from_.of.log_file()) now.windows.push_back(&file);
    });
    now.log = &from_.log;
    now.catalogue = catalogue_;
    now.window_bytes = from_.of.header().window_bytes;
    now.windows_reserved = from_.of.header().windows;
    return now;
}

bool segment_checkpoints::have_changed() {
    service_.wait_until_idle();
    if (from_.generation != 0 && !has_newest_of(from_.generation)) return true;
    const checkpoint::history made = so_far();
    if (made.made + made.failed != 0) return true;
    return made.redo && made.redo->blocks + made.redo->failed + made.redo->waiting_bytes != 0;
}

bool has_written_pages(const mapped_segment& of) {
    bool is_written = false;
    of.each_window([&](const window& file) {
        if (&file == &of.log_file()) return;
        is_written = is_written || of.addresses().pages().has_written(first_page_of(file),
                                                                      file.bytes() / page_bytes);
    });
    return is_written;
}

} // namespace chainbase

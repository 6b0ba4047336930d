#include <chainbase/checkpoint/checkpointer.hpp>
#include <chainbase/checkpoint/redo_files.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <undo/undo_log.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

namespace chainbase::checkpoint {

namespace {

const trace::site capturing("checkpoint.capture");
const trace::site writing_pages("checkpoint.write");
const trace::counter pages_copied_ahead("checkpoint.pages_copied_ahead");

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
}

bool is_zero(std::span<const std::byte, page_bytes> content) noexcept {
    return content[0] == std::byte{0} &&
           std::memcmp(content.data(), content.data() + 1, content.size() - 1) == 0;
}

template <typename Visitor>
void each_slot(const page_table& of, Visitor&& visit) {
    for (const placed_page& one : of.all())
        visit(one.slot);
    for (const placed_page& one : of.leaves())
        visit(one.slot);
}

} // namespace

checkpointer::checkpointer(disk& on, std::filesystem::path folder, const slot_file::identity& state,
                           page_tracker& pages)
    : on_(on), folder_(std::move(folder)), state_(state), pages_(pages),
      published_((on.make_folder(folder_), on), folder_) {
    on_.sync_folder(folder_.parent_path());
    published_.require_of(state);
}

// --- by the writer ---

void checkpointer::capture(const source& of) {
    const trace::span timed(capturing);
    const auto begin = clock::now();
    publication next;
    next.state = state_;
    const std::uint64_t newest = published_.newest() ? published_.newest()->generation : 0;
    next.generation = std::max(newest, set_aside_) + 1;
    next.revision = of.log->revision();
    next.committed = of.log->committed_revision();
    next.time = std::time(nullptr);
    next.redo = of.redo;
    next.window_bytes = of.window_bytes;
    next.windows = of.windows_reserved;
    next.catalogue = of.catalogue;
    const auto described = [&](const window& file) {
        const std::uint64_t each = of.window_bytes / page_bytes;
        return captured_window{&file, file.name(), file.index(), file.bytes(), file.index() * each};
    };
    std::vector<captured_window> windows;
    for (const window* file : of.windows)
        windows.push_back(described(*file));
    decltype(log_pages_) log_pages;
    of.log->each_live_range([&](std::uint64_t offset, std::uint64_t bytes) {
        for (std::uint64_t at = offset; at < offset + bytes; at += page_bytes) {
            log_pages.emplace_back(at / page_bytes, std::make_unique<page>());
            std::memcpy(log_pages.back().second->data(), of.log->file().base() + at, page_bytes);
        }
    });
    // Nothing fails from here on.
    next_ = std::move(next);
    windows_ = std::move(windows);
    log_ = described(of.log->file());
    log_pages_ = std::move(log_pages);
    kept_.clear();
    copied_.clear();
    copied_ahead_ = 0;
    lost_ = false;
    writer_ = std::this_thread::get_id();
    known_ = 0;
    for (const captured_window& one : windows_)
        known_ += pages_.capture(one.first, one.pages(), *this);
    of.log->forget_what_was_logged();
    pause_ = seconds_since(begin);
}

std::unique_ptr<page> checkpointer::fresh_page() {
    if (spare_.empty()) return std::make_unique<page>();
    std::unique_ptr<page> one = std::move(spare_.back());
    spare_.pop_back();
    return one;
}

/// Pages truncated from the file in the meantime read as zeros, like holes.
void checkpointer::read_copied(std::uint64_t number, page& into) const {
    const std::size_t there =
        copied_window_->read_to_end(number * page_bytes - copied_first_, into);
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(there), into.end(), std::byte{0});
}

/// Also called by the writer: it does not throw and does not wait for the disk.
void checkpointer::keep(std::uint64_t number, bool is_known) noexcept {
    const bool is_writer = std::this_thread::get_id() == writer_;
    const std::lock_guard lock(kept_mutex_);
    try {
        copied_.emplace_back(number, is_known);
        kept_page one{number, is_known, fresh_page()};
        if (is_writer)
            std::memcpy(one.content->data(), pages_.address(number), page_bytes);
        else // through the file: reading a hole through memory would fill it
            read_copied(number, *one.content);
        kept_.push_back(std::move(one));
    } catch (const std::exception&) {
        lost_ = true; // the checkpoint fails; the state goes on
    }
    if (!is_writer) return;
    ++copied_ahead_;
    pages_copied_ahead.add();
}

// --- by the other thread ---

std::optional<outcome> checkpointer::write(prior_sync& before) {
    const trace::span timed(writing_pages);
    const auto begin = clock::now();
    outcome result;
    result.generation = next_.generation;
    result.revision = next_.revision;
    result.pause_seconds = pause_;
    try {
        if (!slots_) load();
        if (is_set_aside_) {
            forget();
            return std::nullopt;
        }
        write_all(result, before);
    } catch (...) {
        forget();
        throw;
    }
    result.copied_ahead = copied_ahead_;
    result.seconds = seconds_since(begin);
    return result;
}

void checkpointer::write_all(outcome& result, prior_sync& before) {
    replaced_.clear();
    slots_->reserve(known_ + log_pages_.size());
    for (const captured_window& one : windows_)
        write_window(one, result);
    write_log(result);
    std::uint64_t leaves = 0;
    for (const auto& [name, table] : tables_)
        leaves += table.changed_leaves();
    slots_->reserve(leaves);
    for (auto& [name, table] : tables_)
        table.write_leaves(*slots_, replaced_);
    result.pages += leaves;
    slots_->sync();
    before.call();
    publish(result);
}

/// Reloads the state on disk, replacing what a failed attempt left in memory.
void checkpointer::load() {
    published_.confirm();
    while (published_.newest()) {
        try {
            load_newest();
            return;
        } catch (const damaged_error& e) {
            spdlog::error("checkpoint {} is damaged and set aside; pages that the one before it "
                          "does not have are written again: {}",
                          published_.newest()->generation, e.what());
            set_aside_ = std::max(set_aside_, published_.newest()->generation);
            is_set_aside_ = true; // set first, in case the next call fails
            published_.set_newest_aside();
        }
    }
    // Pages that no publication names are left from an unfinished first checkpoint, or from one
    // that was set aside.
    const std::filesystem::path file = folder_ / "pages";
    on_.remove(file);
    slots_ = std::make_unique<slot_file>(on_, file, state_, disk::mode::create);
    on_.sync_folder(folder_);
    tables_.clear();
    outlived_.clear();
}

void checkpointer::load_newest() {
    const std::filesystem::path file = folder_ / "pages";
    if (!on_.exists(file)) throw damaged_error(file.string() + ": missing");
    auto slots = std::make_unique<slot_file>(on_, file, state_, disk::mode::write);
    on_.sync_folder(folder_); // also for a file that another process created
    tables_.clear();
    outlived_.clear();
    for (const publication::file& one : published_.newest()->files) {
        const auto [at, added] = tables_.emplace(one.name, page_table(one, *slots));
        each_slot(at->second, [&](slot number) { slots->use(number); });
    }
    if (const publication* older = published_.older()) {
        try {
            for (const publication::file& one : older->files)
                each_slot(page_table(one, *slots), [&](slot number) {
                    const bool is_shared = slots->is_used(number);
                    slots->use(number); // throws for a slot that the file does not have
                    if (!is_shared) outlived_.push_back(number);
                });
        } catch (const damaged_error& e) {
            spdlog::warn("checkpoint {} is damaged, and will be replaced: {}", older->generation,
                         e.what());
        }
    }
    slots_ = std::move(slots);
}

void checkpointer::write_window(const captured_window& one, outcome& result) {
    constexpr std::uint64_t batch = 256; // pages: a MiB
    page_table& table = tables_[one.name];
    table.resize(one.pages(), replaced_);
    copied_window_ = one.from;
    copied_first_ = one.first * page_bytes;
    for (std::uint64_t page = 0; page < one.pages(); page += batch) {
        pages_.copy(one.first + page, std::min(batch, one.pages() - page));
        write_kept(table, one, result);
    }
    write_kept(table, one, result);
}

/// Only pages of this window; the writer may have copied pages of others.
void checkpointer::write_kept(page_table& table, const captured_window& of, outcome& result) {
    std::vector<kept_page> now;
    {
        const std::lock_guard lock(kept_mutex_);
        if (lost_)
            throw io_error("a page of the segment could not be copied; free memory, or check the "
                           "disk of the segment");
        const auto is_here = [&](const kept_page& one) {
            return one.number - of.first < of.pages();
        };
        const auto others = std::ranges::partition(kept_, is_here).begin();
        now.assign(std::make_move_iterator(kept_.begin()), std::make_move_iterator(others));
        kept_.erase(kept_.begin(), others);
    }
    std::ranges::sort(now, {}, &kept_page::number);
    for (const kept_page& one : now)
        put(table, one.number - of.first, *one.content, one.is_known, result);
    const std::lock_guard lock(kept_mutex_);
    for (kept_page& one : now)
        if (spare_.size() < 1024) spare_.push_back(std::move(one.content));
}

/// Log content that cannot be undone any more is not needed: the checkpoint stores zeros for it.
void checkpointer::write_log(outcome& result) {
    page_table& table = tables_[log_.name];
    table.resize(log_.pages(), replaced_);
    std::vector<bool> live(log_.pages());
    for (const auto& [number, content] : log_pages_) {
        live[number] = true;
        put(table, number, *content, false, result);
    }
    for (std::uint64_t number = 0; number < live.size(); ++number) {
        if (live[number]) continue;
        replaced_.push_back(table.at(number).slot);
        table.set(number, {});
    }
}

void checkpointer::put(page_table& table, std::uint64_t number,
                       std::span<const std::byte, page_bytes> content, bool is_known,
                       outcome& result) {
    const placed_page before = table.at(number);
    placed_page after;
    if (!is_zero(content)) after.sum = slots_->sum_of(content);
    const bool is_same = before.sum == after.sum && (before.slot == 0) == (after.sum == 0);
    if (!is_known && is_same) return;
    if (after.sum != 0) {
        slots_->reserve(1);
        after.slot = slots_->take();
        slots_->write(after.slot, content);
        ++result.pages;
    }
    replaced_.push_back(before.slot);
    table.set(number, after);
}

void checkpointer::publish(outcome& result) {
    next_.files.clear();
    std::uint64_t leaves = 0;
    const auto add = [&](const captured_window& one) {
        next_.files.push_back({one.name, one.index, one.bytes, tables_[one.name].leaves()});
        leaves += next_.files.back().leaves.size();
    };
    add(log_);
    for (const captured_window& one : windows_)
        add(one);
    result.bytes = result.pages * page_bytes + leaves * sizeof(placed_page);
    published_.publish(std::move(next_));
    for (const slot one : std::exchange(outlived_, std::exchange(replaced_, {})))
        slots_->free(one);
}

/// Without a redo log no blocks follow the checkpoint, whatever files others left.
void checkpointer::remove_obsolete_redo() {
    std::uint64_t needed = UINT64_MAX;
    for (const publication* one : {published_.newest(), published_.older()})
        if (one && one->redo != 0) needed = std::min(needed, one->redo);
    remove_redo_before(on_, folder_, needed);
}

/// After a failure: captured pages count as changed again, and the files are reloaded.
void checkpointer::forget() noexcept {
    for (const captured_window& one : windows_)
        pages_.release(one.first, one.pages());
    const std::lock_guard lock(kept_mutex_);
    for (const auto& [number, is_known] : copied_)
        pages_.give_back(number, is_known);
    // It is unknown which page was lost, or which pages the newest checkpoint lacks.
    if (std::exchange(is_set_aside_, false) || lost_) mark_all_changed();
    kept_.clear();
    tables_.clear();
    slots_.reset();
}

void checkpointer::mark_all_changed() noexcept {
    for (const captured_window& one : windows_)
        pages_.mark_maybe_changed(one.first, one.pages());
}

} // namespace chainbase::checkpoint

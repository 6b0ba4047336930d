#include <chainbase/checkpoint/checkpointer.hpp>
#include <chainbase/checkpoint/redo_files.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/trace.hpp>
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
    const publication* newest = published_.newest();
    if (newest && newest->state != state)
        throw usage_error(folder_.string() + ": holds the checkpoint of another state; put the "
                                             "folder of this state in its place, or move it away");
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

/// By the writer, too: so without an exception, and the disk is not waited for.
void checkpointer::keep(std::uint64_t number, bool is_known) noexcept {
    const bool is_writer = std::this_thread::get_id() == writer_;
    const std::lock_guard lock(kept_mutex_);
    try {
        copied_.emplace_back(number, is_known);
        kept_page one{number, is_known, fresh_page()};
        if (is_writer)
            std::memcpy(one.content->data(), pages_.address(number), page_bytes);
        else // through the file: reading a hole through memory would fill it
            copied_window_->read(number * page_bytes - copied_first_, *one.content);
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

/// What is there on the disk, in place of what an attempt that failed left in memory.
void checkpointer::load() {
    published_.confirm();
    while (published_.newest()) {
        try {
            load_newest();
            return;
        } catch (const damaged_error& e) {
            spdlog::error("checkpoint {} is damaged and set aside, what is not in the one before "
                          "is written anew: {}",
                          published_.newest()->generation, e.what());
            set_aside_ = std::max(set_aside_, published_.newest()->generation);
            is_set_aside_ = true; // first: also when the next call fails
            published_.set_newest_aside();
        }
    }
    // Pages that no publication names are what an unfinished first checkpoint left, or of one that
    // was set aside.
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
    on_.sync_folder(folder_); // also of a file that another process made
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
                    slots->use(number); // throws for one that the file does not have
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

/// Those of this window; the writer may have copied pages of others.
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

/// What cannot be undone any more is not needed: in the checkpoint it is zero.
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

/// What follows a checkpoint without a redo log has none, whatever others left.
void checkpointer::remove_redone() {
    std::uint64_t needed = UINT64_MAX;
    for (const publication* one : {published_.newest(), published_.older()})
        if (one && one->redo != 0) needed = std::min(needed, one->redo);
    remove_redo_before(on_, folder_, needed);
}

/// After a failure: what was captured counts as changed, and the files are looked at again.
void checkpointer::forget() noexcept {
    for (const captured_window& one : windows_)
        pages_.release(one.first, one.pages());
    const std::lock_guard lock(kept_mutex_);
    for (const auto& [number, is_known] : copied_)
        pages_.give_back(number, is_known);
    // It is not known which page was lost, or which are not in what is the newest checkpoint now.
    if (std::exchange(is_set_aside_, false) || lost_) suspect_all();
    kept_.clear();
    tables_.clear();
    slots_.reset();
}

void checkpointer::suspect_all() noexcept {
    for (const captured_window& one : windows_)
        pages_.suspect(one.first, one.pages());
}

} // namespace chainbase::checkpoint

#include <pool_allocator/base/error.hpp>
#include <tools/driver/standby/feed_mirror.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace chainbase::driver {

using feed::feed_file_header;
using feed::feed_position;
using feed::feed_record;

namespace fs = std::filesystem;

namespace {

fs::path made_folder(disk& on, const fs::path& folder) {
    on.make_folder(folder);
    return folder;
}

} // namespace

feed_mirror::feed_mirror(const fs::path& folder, bool is_new)
    : on_(disk::of_system()), folder_(feed::feed_folder(folder)),
      lock_(made_folder(on_, folder) / "lock", /*create=*/true) {
    lock_.announce();
    if (is_new) remove_tree(folder_);
    on_.make_folder(folder_);
    if (!on_.exists(folder_ / "head")) return;
    const auto state = feed::feed_head(on_, folder_).state();
    head_.emplace(on_, folder_, state);
    reader_.emplace(on_, folder_, state);
    whole_ = end_ = head_->end();
    has_place_ = whole_ != 0;
}

void feed_mirror::begin(const checkpoint::slot_file::identity& state, const std::string& name,
                        const feed::feed_cursor::state& at) {
    // What says that it has begun is made last.
    if (!feed::feed_cursor::exists(on_, folder_, name))
        feed::feed_cursor(on_, folder_, name, disk::mode::create, at.at).set(at);
    if (head_ && head_->state() == state) return;
    head_.emplace(on_, folder_, state);
    reader_.emplace(on_, folder_, state);
}

std::optional<feed_position> feed_mirror::resume() {
    end_ = whole_;
    file_.reset();
    return has_place_ ? std::optional(whole_) : std::nullopt;
}

void feed_mirror::put(const feed_part_message& part) {
    if (!file_ || part.file != first_)
        part.place == part.file ? begin_file(part.file) : open_file(part.file);
    if (part.place != end_)
        throw damaged_error(fmt::format("{}: bytes from place {} on, where those of {} are next",
                                        folder_.string(), part.place, end_));
    file_->write(end_ - first_, part.content);
    end_ += part.content.size();
    const feed_position was = whole_;
    while (has_next())
        whole_ = record_.end;
    if (whole_ == was) return;
    file_->sync();
    head_->set_end(whole_);
}

void feed_mirror::open_file(feed_position first) {
    if (!on_.exists(feed::entries_file(folder_, first)))
        throw damaged_error(fmt::format("{}: bytes of a file that begins at place {}, which did "
                                        "not begin here",
                                        folder_.string(), first));
    file_ = on_.open(feed::entries_file(folder_, first), disk::mode::write);
    first_ = first;
}

void feed_mirror::begin_file(feed_position first) {
    if (has_place_ && (end_ != whole_ || first < whole_))
        throw damaged_error(fmt::format("{}: a file that begins at place {}, while what came ends "
                                        "at {}, of which {} is whole",
                                        folder_.string(), first, end_, whole_));
    on_.remove(feed::entries_file(folder_, first));
    file_ = on_.open(feed::entries_file(folder_, first), disk::mode::create);
    on_.sync_folder(folder_);
    first_ = whole_ = end_ = first;
    has_place_ = true;
    reader_.emplace(on_, folder_, head_->state()); // it may have had one of that name open
}

/// Whether another whole entry came: then it is in record_.
bool feed_mirror::has_next() {
    const std::uint64_t within = std::max<std::uint64_t>(whole_ - first_, sizeof(feed_file_header));
    const feed_position here = first_ + within;
    feed_record head{};
    if (end_ < here + sizeof head) return false;
    const bool is_read =
        file_->read(within, std::as_writable_bytes(std::span(&head, 1))) == sizeof head;
    const std::uint64_t seed = feed_file_header::make(head_->state(), first_).sum;
    const bool is_right =
        is_read && head.sum == head.sum_in(seed, here) && head.bytes <= feed_record::most_bytes;
    if (is_right && end_ - here < head.bytes) return false;
    if (!is_right || !reader_->read(whole_, record_))
        throw damaged_error(reader_->place(whole_) + ": what came is no entry of this feed");
    return true;
}

void feed_mirror::prune(const fs::path& folder, feed_position behind) {
    disk& on = disk::of_system();
    const fs::path files = feed::feed_folder(folder);
    const std::vector<feed_position> all = feed::entries_files(on, files);
    for (std::size_t i = 0; i + 1 < all.size() && all[i + 1] <= behind; ++i)
        on.remove(feed::entries_file(files, all[i]));
}

} // namespace chainbase::driver

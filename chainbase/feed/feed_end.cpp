#include <chainbase/feed/feed_end.hpp>
#include <pool_allocator/base/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace chainbase::feed {

namespace {

constexpr std::size_t written_at_once = std::size_t{1} << 20;
constexpr std::size_t most_blocks = 100'000; ///< that a restored state may be behind

} // namespace

feed_end::feed_end(disk& on, std::filesystem::path folder,
                   const checkpoint::slot_file::identity& state, std::uint64_t file_bytes,
                   feed_position visible)
    : on_(on), folder_(std::move(folder)), state_(state), file_bytes_(file_bytes) {
    const std::vector<feed_position> files = entries_files(on_, folder_);
    if (files.empty()) return;
    scan(files[files.size() - std::min<std::size_t>(2, files.size())]);
    const feed_position last = files.back();
    if (at_ == last && visible <= at_) damage_.clear(); // a crash while it was made
    if (at_ < visible && damage_.empty())
        damage_ = place(at_) + ": not the entry that was there, up to " + std::to_string(visible);
    if (at_ < last || !damage_.empty()) { // what is there stays as it is
        const auto length = on_.open(entries_file(folder_, last), disk::mode::read)->bytes();
        at_ = std::max({at_, visible, last + std::max<std::uint64_t>(length, 1)});
        if (damage_.empty()) damage_ = place(last) + ": no entry leads there";
        return;
    }
    file_ = on_.open(entries_file(folder_, last), disk::mode::write);
    first_ = last;
    seed_ = feed_file_header::make(state_, first_).sum;
    file_->resize(at_ - first_);
    if (at_ == first_) begin_file();
}

/// Reads what begins at a file, as far as it is whole.
void feed_end::scan(feed_position from) {
    scanned_from_ = at_ = from;
    feed_reader reader(on_, folder_, state_);
    try {
        for (feed_reader::record one; reader.read(at_, one); at_ = one.end)
            note(one);
    } catch (const damaged_error& problem) {
        damage_ = problem.what();
    } catch (const format_error& problem) {
        damage_ = problem.what();
    }
}

bool feed_end::reach_back() {
    const std::vector<feed_position> files = entries_files(on_, folder_);
    const auto oldest = std::ranges::lower_bound(files, scanned_from_);
    const auto more = std::min(oldest - files.begin(), files.end() - oldest);
    if (more == 0 || blocks_.size() >= most_blocks) return false;
    const feed_position end = at_;
    auto newer = std::exchange(blocks_, {});
    scan(*(oldest - more));
    if (at_ == end && damage_.empty()) return true;
    if (damage_.empty()) damage_ = place(at_) + ": not the entry that was there";
    blocks_ = std::move(newer);
    at_ = end;
    return false;
}

std::string feed_end::place(feed_position at) const {
    return feed_reader(on_, folder_, state_).place(at);
}

void feed_end::note(const feed_reader::record& one) {
    const feed_position end = one.end;
    const feed_position begin = end - one.head.bytes;
    const block_name name{one.head.revision, one.head.serial};
    switch (one.head.what) {
    case feed_record::types:
        types_.assign(reinterpret_cast<const char*>(one.body.data()), one.body.size());
        if (blocks_.empty()) blocks_.push_back({name, 0, begin, end});
        break;
    case feed_record::begin:
        blocks_.assign(1, {name, 0, begin, end});
        note_irreversible(name);
        break;
    case feed_record::block:
        blocks_.push_back({name, one.head.body_sum, begin, end});
        break;
    case feed_record::pop:
        if (!blocks_.empty()) blocks_.pop_back();
        break;
    default:
        note_irreversible(name);
    }
    if (blocks_.size() > most_blocks) blocks_.pop_front();
}

void feed_end::note_irreversible(const block_name& newest) {
    irreversible_ = newest.revision;
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                    [&](const block& one) { return one.name == newest; });
    if (found != blocks_.rend()) irreversible_end_ = found->end;
}

void feed_end::begin(const block_name& base, std::string_view why) {
    blocks_.assign(1, {base, 0, 0, 0});
    if (!file_) make_file(at_);
    append(feed_record::begin, base, 0, std::as_bytes(std::span(why)));
    blocks_.back().end = at();
    note_irreversible(base);
    damage_.clear();
}

void feed_end::set_types(const catalogue& all) {
    std::string text = all.text();
    if (text == types_) return;
    types_ = std::move(text);
    const block_name name = blocks_.empty() ? block_name{-1, 0} : blocks_.back().name;
    if (file_) append(feed_record::types, name, 0, std::as_bytes(std::span(types_)));
}

void feed_end::add(const entry& one) {
    const block_name name{one.revision, one.serial};
    switch (one.what) {
    case entry::kind::block:
        body_.clear();
        encode(one, body_);
        blocks_.push_back({name, archive::hash_of(body_), at(), 0});
        append(feed_record::block, name, words_of(one), body_);
        blocks_.back().end = at();
        break;
    case entry::kind::pop:
        body_.clear();
        encode(one, body_);
        append(feed_record::pop, name, words_of(one), body_);
        if (!blocks_.empty()) blocks_.pop_back();
        break;
    case entry::kind::irreversible:
        append(feed_record::irreversible, name, 0, {});
        note_irreversible(name);
        while (blocks_.size() > most_blocks && blocks_.front().name.revision < irreversible_)
            blocks_.pop_front();
        break;
    }
    if (at() - first_ >= file_bytes_) {
        sync();
        make_file(at_);
    } else if (buffer_.size() >= written_at_once) {
        flush();
    }
}

void feed_end::pop() {
    flush();
    feed_reader reader(on_, folder_, state_);
    feed_reader::record found;
    const block last = blocks_.back();
    if (last.sum == 0 || !reader.read(last.begin, found))
        throw damaged_error(reader.place(last.begin) + ": not the entry of revision " +
                            std::to_string(last.name.revision) + " that was there");
    entry undone{entry::kind::block, last.name.revision, last.name.serial, {}, {}};
    try {
        decode(found, undone);
    } catch (const damaged_error& problem) {
        throw damaged_error(reader.place(last.begin) + ": " + problem.what());
    }
    add(pop_of(undone));
}

void feed_end::make_file(feed_position first) {
    on_.make_folder(folder_);
    const std::filesystem::path name = entries_file(folder_, first);
    file_ = on_.open(name, disk::mode::create);
    first_ = first;
    try {
        begin_file();
    } catch (...) { // on a full disk there would be one more each time
        file_.reset();
        on_.remove(name);
        throw;
    }
    on_.sync_folder(folder_);
}

void feed_end::begin_file() {
    const feed_file_header header = feed_file_header::make(state_, first_);
    seed_ = header.sum;
    at_ = first_;
    const auto bytes = std::as_bytes(std::span(&header, 1));
    buffer_.assign(bytes.begin(), bytes.end());
    const block_name name = blocks_.empty() ? block_name{} : blocks_.back().name;
    append(feed_record::types, name, 0, std::as_bytes(std::span(types_)));
    flush();
    file_->sync();
}

void feed_end::append(feed_record::kind what, const block_name& name, std::uint64_t changes,
                      std::span<const std::byte> body) {
    feed_record head{sizeof(feed_record) + body.size(),
                     what,
                     name.serial,
                     name.revision,
                     changes,
                     archive::hash_of(body),
                     0};
    head.sum = head.sum_in(seed_, at());
    const auto bytes = std::as_bytes(std::span(&head, 1));
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    buffer_.insert(buffer_.end(), body.begin(), body.end());
}

void feed_end::flush() {
    if (buffer_.empty()) return;
    file_->write(at_ - first_, buffer_);
    at_ += buffer_.size();
    buffer_.clear();
}

void feed_end::sync() {
    flush();
    if (!file_ || synced_ == at_) return;
    file_->sync();
    synced_ = at_;
}

void feed_end::remove_before(feed_position needed, std::uint64_t most) {
    const std::vector<feed_position> files = entries_files(on_, folder_);
    needed = std::min(needed, irreversible_end_);
    std::size_t first = 0;
    while (first + 2 < files.size() && (files[first + 1] <= needed || at() - files[first] > most))
        on_.remove(entries_file(folder_, files[first++]));
}

void end_feed(disk& on, const std::filesystem::path& state, std::string_view why) {
    const std::filesystem::path folder = feed_folder(state);
    feed_head head(on, folder, feed_head(on, folder).state());
    constexpr std::uint64_t any = UINT64_MAX; // bytes of a file: no other one is begun
    feed_end end(on, folder, head.state(), any, head.end());
    if (end.blocks().empty()) return;
    end.begin(end.blocks().back().name, why);
    end.sync();
    head.set_end(end.at());
}

} // namespace chainbase::feed

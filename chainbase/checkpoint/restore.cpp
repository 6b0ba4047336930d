#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/checkpoint/redo_files.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace chainbase::checkpoint {

namespace fs = std::filesystem;

namespace {

const trace::site restoring("checkpoint.restore");

/// A file of the segment while it is filled. Written, not mapped: mapping would cost a fault and a
/// cleared page for each page. On a disk page by page, since the kernel makes large pages of what
/// is written at once, and later writes them back whole (disk_pages.hpp).
class filled_file {
public:
    filled_file(const fs::path& file, std::uint64_t bytes)
        : file_(disk::of_system().open(file, disk::mode::create)),
          at_once_(is_memory(file) ? SIZE_MAX : page_bytes) {
        grow_to(bytes);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    void write(std::uint64_t offset, std::span<const std::byte> content) {
        for (std::size_t at = 0; at < content.size();) {
            const std::size_t length = std::min(at_once_, content.size() - at);
            file_->write(offset + at, content.subspan(at, length));
            at += length;
        }
    }
    /// Throws out_of_space_error, io_error.
    void grow_to(std::uint64_t bytes) {
        file_->reserve(bytes_, bytes - bytes_);
        bytes_ = bytes;
    }

private:
    std::unique_ptr<disk_file> file_;
    std::size_t at_once_;
    std::uint64_t bytes_ = 0;
};

/// The files of a segment by window.
using filled_files = std::map<std::uint64_t, filled_file>;

/// The destination of a slot's content.
struct wanted_page {
    checkpoint::slot slot;
    std::uint64_t sum;
    filled_file* file;
    std::uint64_t page;

    [[nodiscard]] bool follows(const wanted_page& other) const noexcept {
        return file == other.file && page == other.page + 1;
    }
};

/// Reads adjacent slots in one call.
class slot_reader {
public:
    explicit slot_reader(const slot_file& from) : from_(from), buffer_(batch * page_bytes) {}

    /// `wanted` is in the order of slots. Calls visit(a part of them, its contents).
    template <typename Visitor>
    void read(std::span<const wanted_page> wanted, Visitor&& visit) {
        for (std::size_t count = 0; !wanted.empty(); wanted = wanted.subspan(count)) {
            count = 1;
            while (count < wanted.size() && count < batch &&
                   wanted[count].slot == wanted[0].slot + count)
                ++count;
            const std::span content = std::span(buffer_).first(count * page_bytes);
            from_.read(wanted[0].slot, content);
            visit(wanted.first(count), std::span<const std::byte>(content));
        }
    }

private:
    static constexpr std::size_t batch = 256;

    const slot_file& from_;
    std::vector<std::byte> buffer_;
};

std::string place_of(const slot_file& file, slot number) {
    return file.file().string() + ": offset " + std::to_string(std::uint64_t{number} * page_bytes) +
           ": the page's checksum does not match";
}

slot_file open_slots(disk& on, const fs::path& folder, const publication& of) {
    const fs::path file = folder / "pages";
    if (!on.exists(file)) throw damaged_error(file.string() + ": missing");
    return {on, file, of.state, disk::mode::read};
}

/// Creates all files, filled with zeros, and lists the pages to copy into them. Throws
/// damaged_error.
std::vector<wanted_page> reserve_files(const slot_file& slots, const publication& from,
                                       const fs::path& into, filled_files& files) {
    std::vector<wanted_page> wanted;
    for (const publication::file& one : from.files) {
        const page_table table(one, slots);
        filled_file& file = files.try_emplace(one.index, into / one.name, one.bytes).first->second;
        for (std::uint64_t page = 0; page < table.pages(); ++page)
            if (const placed_page at = table.at(page); at.slot != 0)
                wanted.push_back({at.slot, at.sum, &file, page});
    }
    std::ranges::sort(wanted, {}, &wanted_page::slot);
    return wanted;
}

void write_to_files(std::span<const wanted_page> pages, std::span<const std::byte> contents) {
    for (std::size_t begin = 0; begin < pages.size();) {
        std::size_t end = begin + 1;
        while (end < pages.size() && pages[end].follows(pages[end - 1]))
            ++end;
        pages[begin].file->write(pages[begin].page * page_bytes,
                                 contents.subspan(begin * page_bytes, (end - begin) * page_bytes));
        begin = end;
    }
}

/// Throws damaged_error.
std::uint64_t fill(const slot_file& slots, const publication& from, const fs::path& into,
                   filled_files& files, const progress& tell) {
    const std::vector<wanted_page> wanted = reserve_files(slots, from, into, files);
    const std::uint64_t all = wanted.size() * page_bytes;
    std::uint64_t done = 0;
    std::uint64_t told = 0;
    slot_reader(slots).read(wanted, [&](auto pages, std::span<const std::byte> contents) {
        for (std::size_t i = 0; i < pages.size(); ++i)
            if (slots.sum_of(contents.subspan(i * page_bytes).first<page_bytes>()) != pages[i].sum)
                throw damaged_error(place_of(slots, pages[i].slot));
        write_to_files(pages, contents);
        done += contents.size();
        if (!tell || done * 100 / all == told) return;
        told = done * 100 / all;
        tell(done, all);
    });
    return all;
}

/// Why the block cannot be applied to the files; empty if it can. Changes nothing.
std::string obstacle_to(const redo_block& block, const filled_files& files,
                        std::uint64_t window_bytes) {
    std::map<std::uint64_t, std::uint64_t> longer;
    for (const redo_block::length& one : block.lengths()) {
        const bool is_ours = one.bytes == 0 || files.contains(one.window);
        if (!is_ours || one.bytes % page_bytes != 0 || one.bytes > window_bytes)
            return "window " + std::to_string(one.window) + " has no " + std::to_string(one.bytes) +
                   " bytes";
        longer[one.window] = one.bytes;
    }
    for (const redo_block::change& one : block.changes()) {
        const std::uint64_t window = one.offset / window_bytes;
        const auto file = files.find(window);
        const bool is_ours = file != files.end(); // an empty change needs a file, too
        const std::uint64_t length = !is_ours                  ? 0
                                     : longer.contains(window) ? longer.at(window)
                                                               : file->second.bytes();
        if (!is_ours || one.offset % window_bytes + one.bytes > length)
            return "a change at offset " + std::to_string(one.offset % window_bytes) +
                   " of window " + std::to_string(window) + " is outside of its file";
    }
    return {};
}

void put_over(const redo_block& block, filled_files& files, std::uint64_t window_bytes) {
    for (const redo_block::length& one : block.lengths())
        if (one.bytes != 0 && one.bytes > files.at(one.window).bytes())
            files.at(one.window).grow_to(one.bytes);
    for (const redo_block::change& one : block.changes())
        files.at(one.offset / window_bytes)
            .write(one.offset % window_bytes, {block.bytes_of(one), one.bytes});
}

/// Applies blocks up to the last complete one.
void redo(disk& on, const fs::path& folder, const publication& from, filled_files& files,
          restored& result) {
    result.revision = from.revision;
    result.blocks = 0;
    result.end_of_blocks.clear();
    result.lost_blocks = false;
    if (from.redo == 0) return;
    redo_reader log(on, folder, from.state, from.redo);
    redo_block block;
    for (std::string place = log.place(); log.next(block); place = log.place()) {
        const std::string obstacle = obstacle_to(block, files, from.window_bytes);
        if (!obstacle.empty()) {
            result.end_of_blocks = place + ": " + obstacle;
            result.lost_blocks = true;
            return;
        }
        put_over(block, files, from.window_bytes);
        result.revision = block.revision();
        ++result.blocks;
    }
    result.end_of_blocks = log.why();
    result.lost_blocks = log.is_damaged();
}

/// Restores everything but the redo log's blocks. Returns how many bytes were read.
std::uint64_t fill_folder(disk& on, const fs::path& folder, const publication& from,
                          const fs::path& into, filled_files& files, const progress& tell) {
    remove_tree(into);
    private_folder::make_within(into);
    const std::uint64_t bytes = fill(open_slots(on, folder, from), from, into, files, tell);
    replace_file(into / "catalogue.json", from.catalogue);
    return bytes;
}

void restore_one(disk& on, const fs::path& folder, const publication& from, const fs::path& into,
                 const progress& tell, restored& result) {
    filled_files files;
    result.bytes = fill_folder(on, folder, from, into, files, tell);
    redo(on, folder, from, files, result);
    result.from = from;
}

} // namespace

restored restore(disk& from, const fs::path& folder, const fs::path& into, const progress& tell) {
    const trace::span timed(restoring);
    const auto begin = std::chrono::steady_clock::now();
    const published found(from, folder);
    restored result;
    result.damage = found.why();
    for (const publication* one : {found.newest(), found.older()}) {
        if (!one) continue;
        try {
            restore_one(from, folder, *one, into, tell, result);
            result.seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            return result;
        } catch (const damaged_error& e) {
            if (!result.damage.empty()) result.damage += "; ";
            result.damage += e.what();
            if (one == found.newest()) result.unusable = found.newest_path();
        } catch (...) {
            try_to_remove_tree(into); // the first failure is reported
            throw;
        }
    }
    remove_tree(into);
    throw damaged_error(folder.string() + ": holds no checkpoint that is whole (" +
                        (result.damage.empty() ? "none was published" : result.damage) +
                        "); restore the folder from a copy, or replay into a new one");
}

void restore_publication(disk& from, const fs::path& folder, const publication& of,
                         const fs::path& into) {
    filled_files files;
    fill_folder(from, folder, of, into, files, {});
}

std::uint64_t check_blocks(disk& from, const fs::path& folder, const publication& after,
                           const std::function<void(const std::string&)>& found) {
    if (after.redo == 0) return 0;
    redo_reader log(from, folder, after.state, after.redo);
    redo_block block;
    std::uint64_t blocks = 0;
    while (log.next(block))
        ++blocks;
    if (log.is_damaged()) found(log.why());
    return blocks;
}

namespace {

constexpr int most_rounds = 100;
constexpr std::size_t batch = 256; // adjacent slots are read in one call

/// The copy of `pages`; slots keep their numbers.
class page_copy {
public:
    page_copy(disk& on, const fs::path& from, const fs::path& to, const slot_file::identity& state)
        : slots_(on, from, state, disk::mode::read), to_(on.open(to, disk::mode::create)),
          buffer_(batch * page_bytes) {
        page header;
        slots_.read(0, header);
        to_->write(0, header);
    }

    /// Copies the slots of a publication that are not copied yet. Throws damaged_error when a page
    /// does not match its sum; slots copied before stay copied.
    void add(const publication& of, const progress& tell) {
        std::vector<placed_page> wanted = wanted_by(of);
        std::ranges::sort(wanted, {}, &placed_page::slot);
        const std::uint64_t all = wanted.size() * page_bytes;
        for (std::size_t begin = 0; begin < wanted.size();) {
            const std::size_t end = end_of_run(wanted, begin);
            copy(std::span(wanted).subspan(begin, end - begin));
            begin = end;
            if (tell) tell(begin * page_bytes, all);
        }
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return copied_.size() * page_bytes; }
    void sync() { to_->sync(); }

private:
    void want(placed_page one, std::vector<placed_page>& wanted) const {
        const auto had = copied_.find(one.slot);
        if (one.slot == 0 || (had != copied_.end() && had->second == one.sum)) return;
        wanted.push_back(one);
    }

    [[nodiscard]] std::vector<placed_page> wanted_by(const publication& of) const {
        std::vector<placed_page> wanted;
        for (const publication::file& file : of.files) {
            const page_table table(file, slots_);
            for (const placed_page& leaf : table.leaves())
                want(leaf, wanted);
            for (const placed_page& one : table.all())
                want(one, wanted);
        }
        return wanted;
    }

    static std::size_t end_of_run(const std::vector<placed_page>& wanted, std::size_t begin) {
        std::size_t end = begin + 1;
        while (end < wanted.size() && end - begin < batch &&
               wanted[end].slot == wanted[end - 1].slot + 1)
            ++end;
        return end;
    }

    /// Only compared pages are written.
    void copy(std::span<const placed_page> run) {
        const std::span content = std::span(buffer_).first(run.size() * page_bytes);
        slots_.read(run.front().slot, content);
        for (std::size_t i = 0; i < run.size(); ++i)
            if (slots_.sum_of(content.subspan(i * page_bytes).first<page_bytes>()) != run[i].sum)
                throw damaged_error(slots_.file().string() + ": offset " +
                                    std::to_string(std::uint64_t{run[i].slot} * page_bytes) +
                                    ": the page's checksum does not match");
        to_->write(std::uint64_t{run.front().slot} * page_bytes, content);
        for (const placed_page& one : run)
            copied_[one.slot] = one.sum;
    }

    slot_file slots_;
    std::unique_ptr<disk_file> to_;
    std::vector<std::byte> buffer_;
    std::unordered_map<slot, std::uint64_t> copied_;
};

const publication& newest_of(const published& found, const fs::path& folder) {
    if (const publication* newest = found.newest()) return *newest;
    if (!found.why().empty()) throw damaged_error(folder.string() + ": " + found.why());
    throw format_error(folder.string() + ": there is no checkpoint; to have one, open the state "
                                         "with `--durability checkpoint` (durability::checkpoint)");
}

/// Whether the publication still owns the slots that it names.
bool is_published(disk& on, const fs::path& folder, const publication& one) {
    const published now(on, folder);
    const auto is = [&](const publication* other) {
        return other != nullptr && other->generation == one.generation;
    };
    return is(now.newest()) || is(now.older());
}

void write_publication(disk& on, const fs::path& into, const publication& one) {
    const std::vector<std::byte> content = one.encode();
    const auto file = on.open(into / "published.0", disk::mode::create);
    file->write(0, content);
    file->sync();
    on.sync_folder(into);
}

} // namespace

copied copy_newest(disk& on, const fs::path& folder, const fs::path& into, const progress& tell) {
    std::optional<page_copy> pages;
    for (int round = 1; round <= most_rounds; ++round) {
        const published found(on, folder);
        publication newest = newest_of(found, folder);
        if (!pages) pages.emplace(on, folder / "pages", into / "pages", newest.state);
        try {
            pages->add(newest, tell);
        } catch (const damaged_error&) {
            if (is_published(on, folder, newest)) throw;
            continue; // its slots were reused: the next attempt copies only the difference
        }
        pages->sync();
        newest.redo = 0;
        write_publication(on, into, newest);
        return {std::move(newest), pages->bytes()};
    }
    throw io_error(folder.string() + ": its writer replaced both checkpoints during each of " +
                   std::to_string(most_rounds) +
                   " attempts to copy one; try again, or have it make checkpoints less often "
                   "(--checkpoint-interval)");
}

} // namespace chainbase::checkpoint

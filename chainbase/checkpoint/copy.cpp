#include <chainbase/checkpoint/copy.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace chainbase::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr int most_rounds = 100;
constexpr std::size_t batch = 256; // slots that lie side by side are read in one call

/// The copy of `pages`, in which a slot has the number that it has there.
class page_copy {
public:
    page_copy(disk& on, const fs::path& from, const fs::path& to, const slot_file::identity& state)
        : slots_(on, from, state, disk::mode::read), to_(on.open(to, disk::mode::create)),
          buffer_(batch * page_bytes) {
        page header;
        slots_.read(0, header);
        to_->write(0, header);
    }

    /// Copies what a publication names and is not copied yet. Throws damaged_error when a page is
    /// not what it is said to be; what was copied by then counts.
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

    /// Nothing is written that was not compared.
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
    throw format_error(folder.string() + ": no checkpoint is there; to have one open the state "
                                         "with `--durability checkpoint` (durability::checkpoint)");
}

/// Whether the slots that it names are still its own.
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
            continue; // its slots were used again: the next round has only the difference to copy
        }
        pages->sync();
        newest.redo = 0;
        write_publication(on, into, newest);
        return {std::move(newest), pages->bytes()};
    }
    throw io_error(folder.string() + ": its writer replaced both checkpoints during each of " +
                   std::to_string(most_rounds) +
                   " attempts to copy one; try again, or have it make them less often "
                   "(--checkpoint-interval)");
}

} // namespace chainbase::checkpoint

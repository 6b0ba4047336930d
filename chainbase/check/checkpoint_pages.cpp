#include <chainbase/check/checkpoint_pages.hpp>
#include <chainbase/checkpoint/page_table.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace chainbase::check {

namespace {

using checkpoint::page_bytes;
using checkpoint::publication;

constexpr std::size_t batch = 256; // slots that lie side by side are read in one call

struct wanted_page {
    checkpoint::placed_page at;
    const publication::file* of;
    std::uint64_t page;
};

class page_reader {
public:
    page_reader(const checkpoint::slot_file& slots, const publication& of,
                const std::function<void(finding)>& found)
        : slots_(slots), of_(of), found_(found), buffer_(batch * page_bytes) {}

    /// The pages of a file that its leaves name, as far as those are whole.
    void add(const publication::file& file) {
        publication::file whole = file;
        for (std::size_t leaf = 0; leaf < whole.leaves.size(); ++leaf) {
            const std::uint64_t first = leaf * checkpoint::page_table::pages_of_a_leaf;
            if (file.leaves[leaf].slot == 0) continue;
            ++read_;
            if (is_whole(file.leaves[leaf])) continue;
            tell(file.leaves[leaf].slot,
                 fmt::format("where segment/{} has its pages from offset {} on", file.name,
                             first * page_bytes));
            whole.leaves[leaf] = {};
        }
        const checkpoint::page_table table(whole, slots_);
        for (std::uint64_t page = 0; page < table.pages(); ++page)
            if (table.at(page).slot != 0) wanted_.push_back({table.at(page), &file, page});
    }

    /// Returns how many pages and leaves there are.
    std::uint64_t read_all() {
        std::ranges::sort(wanted_, {}, [](const wanted_page& one) { return one.at.slot; });
        for (std::size_t begin = 0; begin < wanted_.size();) {
            std::size_t end = begin + 1;
            while (end < wanted_.size() && end - begin < batch &&
                   wanted_[end].at.slot == wanted_[begin].at.slot + (end - begin))
                ++end;
            read(std::span(wanted_).subspan(begin, end - begin));
            begin = end;
        }
        return read_ + wanted_.size();
    }

private:
    [[nodiscard]] bool is_whole(const checkpoint::placed_page& one) const {
        try {
            checkpoint::page content;
            slots_.read(one.slot, one.sum, content);
            return true;
        } catch (const damaged_error&) {
            return false;
        }
    }
    void read(std::span<const wanted_page> run) {
        std::vector<bool> whole(run.size());
        try {
            slots_.read(run.front().at.slot, std::span(buffer_).first(run.size() * page_bytes));
            for (std::size_t i = 0; i < run.size(); ++i)
                whole[i] = slots_.sum_of(std::span<const std::byte, page_bytes>(
                               buffer_.data() + i * page_bytes, page_bytes)) == run[i].at.sum;
        } catch (const damaged_error&) { // one of them cannot be read
            for (std::size_t i = 0; i < run.size(); ++i)
                whole[i] = is_whole(run[i].at);
        }
        for (std::size_t i = 0; i < run.size(); ++i)
            if (!whole[i])
                tell(run[i].at.slot, fmt::format("the page of segment/{} at offset {}",
                                                 run[i].of->name, run[i].page * page_bytes));
    }
    void tell(checkpoint::slot slot, const std::string& what) const {
        found_({"checkpoint/pages", std::uint64_t{slot} * page_bytes,
                fmt::format("checkpoint {}, {}: its checksum does not match, or the file ends "
                            "before",
                            of_.generation, what)});
    }

    const checkpoint::slot_file& slots_;
    const publication& of_;
    const std::function<void(finding)>& found_;
    std::vector<std::byte> buffer_;
    std::vector<wanted_page> wanted_;
    std::uint64_t read_ = 0; ///< leaves
};

} // namespace

std::uint64_t read_pages(disk& on, const std::filesystem::path& folder, const publication& of,
                         const std::function<void(finding)>& found) {
    const std::filesystem::path file = folder / "pages";
    if (!on.exists(file)) throw damaged_error(file.string() + ": missing");
    const checkpoint::slot_file slots(on, file, of.state, disk::mode::read);
    page_reader reader(slots, of, found);
    for (const publication::file& one : of.files)
        reader.add(one);
    return reader.read_all();
}

} // namespace chainbase::check

// The patched files of a state: it opens, or an engine exception gives the reason. If only summed
// bytes were patched, an opened state has all objects in place.
//
// Flags: bits 0 and 1, which state (closed, killed in a session, killed in an operation); 2,
// correct the header's checksum; 3, those of the windows; 4, remove the sum over the root blocks of
// a closed state; 5, also patch the type's schema and correct its hash.

#include <chainbase/segment/catalogue.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>

#include <boost/crc.hpp>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <tests/fuzz/notes.hpp>
#include <tests/fuzz/patches.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace chainbase::test {

namespace {

constexpr std::uint64_t page_bytes = 4096;

void require(bool works, const fs::path& file) {
    if (!works) throw std::runtime_error("cannot write " + file.string());
}

} // namespace

/// The files of a state's folder, to be written repeatedly; pages of zeros are holes.
class stored_state {
public:
    struct file {
        std::uint64_t bytes = 0;
        std::map<std::uint64_t, std::string> pages; ///< by offset, 4 KiB each or the file's end
        std::vector<std::uint64_t> places;          ///< offsets of the pages other than zeros
    };

    stored_state() = default;
    /// Reads the folder.
    explicit stored_state(const std::filesystem::path& folder) {
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            if (!entry.is_regular_file()) continue;
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string content{std::istreambuf_iterator<char>(in), {}};
            file one{content.size(), {}, {}};
            for (std::uint64_t at = 0; at < content.size(); at += page_bytes) {
                std::string page = content.substr(at, page_bytes);
                if (page.find_first_not_of('\0') == std::string::npos) continue;
                one.pages.emplace(at, std::move(page));
                one.places.push_back(at);
            }
            const std::string name = fs::relative(entry.path(), folder).string();
            names_.push_back(name);
            files_.emplace(name, std::move(one));
        }
        std::sort(names_.begin(), names_.end());
    }

    /// Restores the folder's stored content.
    void write(const std::filesystem::path& folder) const {
        for (const auto& [name, content] : files_) {
            const fs::path path = folder / name;
            fs::create_directories(path.parent_path());
            const int to = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            require(to >= 0 && ::ftruncate(to, static_cast<off_t>(content.bytes)) == 0, path);
            for (const auto& [at, page] : content.pages) {
                if (at >= content.bytes) break;
                const std::size_t length = std::min<std::uint64_t>(page.size(), content.bytes - at);
                require(::pwrite(to, page.data(), length, static_cast<off_t>(at)) >= 0, path);
            }
            ::close(to);
        }
    }

    /// Names relative to the folder; patches number the files in this order.
    [[nodiscard]] const std::string& name(std::size_t number) const { return names_[number]; }
    [[nodiscard]] std::size_t count() const noexcept { return names_.size(); }
    [[nodiscard]] file& at(const std::string& name) { return files_.at(name); }

    /// Changes the file number `one.file`: its bytes, or its length. Prefers pages other than
    /// zeros.
    void apply(const patches::patch& one) {
        file& to = files_.at(names_[one.file % names_.size()]);
        const std::uint64_t at = to.places.empty() ? 0 : to.places[one.page % to.places.size()];
        if (one.content.empty()) {
            to.bytes = std::min(to.bytes, at + one.byte);
            return;
        }
        std::string& page = to.pages[at];
        if (page.size() < one.byte + one.content.size()) page.resize(one.byte + one.content.size());
        std::copy(one.content.begin(), one.content.end(), page.begin() + one.byte);
        page.resize(std::min<std::uint64_t>(page.size(), page_bytes));
        to.bytes = std::max(to.bytes, std::min(at + page.size(), at + page_bytes));
    }

private:
    std::vector<std::string> names_;
    std::map<std::string, file> files_;
};

} // namespace chainbase::test

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// A state at one moment.
struct seed_state {
    stored_state files;
    std::uint64_t digest = 0; ///< of the opened state
};

struct fixture {
    scratch_folder folder;
    std::array<seed_state, 3> seeds;
    catalogue types;
    fs::path state = folder / "state";

    fixture() {
        const fs::path made = folder / "made";
        {
            database db(made, quick_options());
            db.add_type<note>("note");
            write_notes(db, 0, 12);
            auto block = db.start_session();
            write_notes(db, 12, 16);
            block.push();
            auto session = db.start_session();
            const auto change = [](note& one) {
                one.weight = 7;
                one.title = "changed " + std::to_string(one.id.value);
            };
            for (std::uint32_t i = 0; i < 16; ++i)
                db.modify(db.get(id<note>(i)), change);
            seeds[1].files = stored_state(made);
            db.modify(db.get(id<note>(3)), [&](note& one) {
                one.title = std::string(40, 'x');
                seeds[2].files = stored_state(made);
            });
        }
        seeds[0].files = stored_state(made);
        types = catalogue::read(made / "segment");
        for (seed_state& seed : seeds) {
            seed.files.write(state);
            database db(state, quick_options());
            db.add_type<note>("note");
            seed.digest = digest_of_notes(db);
        }
    }
};

fixture& all() {
    static fixture only;
    return only;
}

template <typename T>
void put(std::string& page, std::size_t at, T value) {
    std::memcpy(page.data() + at, &value, sizeof value);
}

/// The sum at the end of both kinds of headers: CRC-32 of the bytes before it.
void seal(std::string& page, std::size_t summed) {
    if (page.size() < summed + 4) return;
    boost::crc_32_type crc;
    crc.process_bytes(page.data(), summed);
    put(page, summed, static_cast<std::uint32_t>(crc.checksum()));
}

void seal_files(stored_state& files, const patches& how) {
    for (std::size_t i = 0; i < files.count(); ++i) {
        stored_state::file& one = files.at(files.name(i));
        if (one.pages.empty()) continue;
        std::string& first = one.pages.begin()->second;
        const bool is_header = files.name(i) == "segment/header";
        if (is_header && how.flag(4) && first.size() >= 44) put(first, 40, std::uint32_t{0});
        if (is_header && how.flag(2)) seal(first, 32);
        if (!is_header && how.flag(3) && files.name(i) != "segment/catalogue.json") seal(first, 60);
    }
}

/// Replaces a number of the schema.
void patch_schema(catalogue::entry& type, const patches::patch& one) {
    const auto value = static_cast<std::uint32_t>(one.number());
    type_schema& schema = type.schema;
    std::vector<std::uint32_t*> numbers{
        &type.first_window,   &schema.value_bytes, &schema.node_bytes, &schema.link_bytes,
        &schema.value_offset, &schema.root_bytes,  &schema.tables};
    for (type_schema::field& field : schema.fields) {
        numbers.push_back(&field.offset);
        numbers.push_back(&field.bytes);
    }
    *numbers[one.byte % numbers.size()] = value;
}

void store_catalogue(stored_state& files, const std::string& text) {
    stored_state::file& to = files.at("segment/catalogue.json");
    to = {};
    to.bytes = text.size();
    for (std::size_t at = 0; at < text.size(); at += 4096)
        to.pages.emplace(at, text.substr(at, 4096));
}

/// Applies the input. Returns whether all changed bytes are summed.
bool apply_input(stored_state& files, patches input) {
    bool is_summed = true;
    catalogue::entry type = all().types.entries().front();
    bool is_other_type = false;
    while (const auto one = input.next()) {
        const std::string& name = files.name(one->file % files.count());
        if (name == "segment/catalogue.json" && input.flag(5)) {
            patch_schema(type, *one);
            is_other_type = true;
            continue;
        }
        files.apply(*one);
        const bool is_head = name == "segment/header" ||
                             (!one->content.empty() && one->byte + one->content.size() <= 64 &&
                              one->page == 0 && name != "segment/catalogue.json");
        is_summed = is_summed && (is_head || name == "lock");
    }
    if (is_other_type) {
        catalogue other;
        other.add(type);
        store_catalogue(files, other.text());
        is_summed = false;
    }
    seal_files(files, input);
    return is_summed;
}

void look(const fs::path& state) {
    open_options options = quick_options(open_mode::read_only);
    options.allow_unclean = true;
    segment opened(state, options);
    if (opened.words().sequence % 2 == 0) (void)segment_statistics::read(opened);
}

void open_for_writing(const fs::path& state, const std::uint64_t* expected) {
    database db(state, quick_options());
    (void)db.statistics();
    db.add_type<note>("note");
    (void)db.count<note>();
    if (expected && digest_of_notes(db) != *expected) std::abort(); // opened with another content
    db.close();
}

void refused_or_not(void (*call)(const fs::path&, const std::uint64_t*), const fs::path& state,
                    const std::uint64_t* expected) {
    try {
        call(state, expected);
    } catch (const error&) { // expected
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    spdlog::set_level(spdlog::level::off);
    fixture& from = all();
    const patches input(data, size);
    const seed_state& seed = from.seeds[input.flags() % 4 % 3];
    stored_state files = seed.files;
    const bool is_summed = apply_input(files, input);
    fs::remove_all(from.state);
    files.write(from.state);
    refused_or_not([](const fs::path& state, const std::uint64_t*) { look(state); }, from.state,
                   nullptr);
    refused_or_not(open_for_writing, from.state, is_summed ? &seed.digest : nullptr);
    return 0;
}

#include <fcntl.h>
#include <sys/stat.h>
#include <tests/fuzz/stored_state.hpp>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace chainbase::test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t page_bytes = 4096;

void require(bool works, const fs::path& file) {
    if (!works) throw std::runtime_error("cannot write " + file.string());
}

} // namespace

stored_state::stored_state(const fs::path& folder) {
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

void stored_state::write(const fs::path& folder) const {
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

void stored_state::apply(const patches::patch& one) {
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

} // namespace chainbase::test

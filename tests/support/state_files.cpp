#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/base/error.hpp>

#include <fcntl.h>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/state_files.hpp>
#include <unistd.h>

#include <fstream>
#include <utility>

namespace chainbase::test {

namespace fs = std::filesystem;

void write_at(const fs::path& file, std::size_t offset, const std::string& bytes) {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

state_image::state_image(const fs::path& folder) : folder_(folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string name = fs::relative(entry.path(), folder).string();
        if (entry.path().filename() == "readers") continue;
        if (entry.is_directory())
            folders_.insert(name);
        else
            files_[name] = read_all(entry.path());
    }
}

void state_image::restore() const {
    const state_image now(folder_);
    for (const std::string& name : now.folders_)
        if (!folders_.contains(name)) fs::remove_all(folder_ / name);
    for (const auto& [name, content] : now.files_)
        if (!files_.contains(name)) fs::remove(folder_ / name);
    for (const std::string& name : folders_)
        fs::create_directory(folder_ / name);
    for (const auto& [name, content] : files_) {
        const auto there = now.files_.find(name);
        if (there == now.files_.end() || there->second != content)
            write_all(folder_ / name, content);
    }
    claim_segment();
}

void state_image::claim_segment() const {
    const fs::path header = folder_ / "segment" / "header";
    if (!fs::exists(header) || !detail::header_in(header.parent_path())) return;
    const file_descriptor file(::open(header.c_str(), O_RDWR | O_CLOEXEC));
    detail::claim_header(file, header);
    files_["segment/header"] = read_all(header);
}

attempt attempt_in_child(const std::function<void()>& work) {
    const scratch_folder place;
    const auto file = place / "said";
    const ending end = run_process([&] {
        ::alarm(60);
        std::string said;
        try {
            work();
        } catch (const error& e) {
            said = e.what();
            expect(said.size() > 20, "says little: " + said);
        }
        write_all(file, said);
    });
    expect(!end.killed, "killed");
    const std::string said = read_all(file);
    return {said.empty() ? verdict::works : verdict::refused, said};
}

} // namespace chainbase::test

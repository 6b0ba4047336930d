#include <tests/failure/state_image.hpp>
#include <tests/support/mismatch.hpp>

#include <fstream>
#include <sstream>
#include <utility>

namespace chainbase::test {

namespace fs = std::filesystem;

std::string read_all(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    if (in.peek() != std::ifstream::traits_type::eof()) all << in.rdbuf();
    return std::move(all).str();
}

void write_all(const fs::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
}

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
}

namespace {

constexpr std::uint32_t objects = 20;

} // namespace

sample_state::sample_state() : path(folder / "state") {
    database db(path, quick_options());
    db.add_type<card>("thing");
    for (std::uint32_t k = 0; k < objects; ++k)
        db.create<card>([&](card& c) {
            c.key = k * 7;
            c.group = k % 3;
            c.value = k;
        });
    auto block = db.start_session();
    db.remove(db.get(id<card>(3)));
    block.push();
}

void sample_state::open_and_compare() const {
    database db(path, quick_options());
    db.add_type<card>("thing");
    expect(db.revision() == 1 && db.committed_revision() == 0, "revision");
    db.undo_all();
    expect(db.count<card>() == objects, "count");
    for (std::uint32_t k = 0; k < objects; ++k) {
        const card* found = db.find<card, by_key>(k * 7);
        expect(found && found->id.value == k && found->value == k, "object");
    }
    for (std::uint32_t g = 0; g < 3; ++g) {
        const auto group = db.view<card, by_group>().equal_range(g);
        expect(std::distance(group.begin(), group.end()) == (objects + 2 - g) / 3, "group");
    }
}

verdict open_maltreated(const sample_state& state, std::string* said) {
    const state_image before(state.path);
    try {
        state.open_and_compare();
        return verdict::works;
    } catch (const error& e) {
        if (said) *said = e.what();
        expect(std::string(e.what()).size() > 20, std::string("says little: ") + e.what());
    }
    // Opening itself failed, or adding the type to what had opened (which then was closed again).
    const state_image after(state.path);
    for (const auto& [name, content] : before.files()) {
        const auto now = after.files().find(name);
        expect(now != after.files().end(), name + ": is gone");
        expect(now->second == content, name + ": was changed by a failed open");
    }
    expect(after == before, "something was added");
    return verdict::refused;
}

} // namespace chainbase::test

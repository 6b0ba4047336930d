#include <pool_allocator/error.hpp>

#include <stdlib.h>
#include <sys/wait.h>
#include <tests/opening/note.hpp>
#include <tests/opening/sample.hpp>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace fs = std::filesystem;
using chainbase::database;

namespace {

constexpr std::uint32_t settled = 35;
constexpr std::uint32_t pushed = 5;

std::string title_of(std::uint32_t i) {
    return std::string(i % 9 == 8 ? 5000 : 3 + i, 't') + std::to_string(i);
}

const char* author_of(std::uint32_t i) {
    return i % 3 == 0 ? "ann" : "ben";
}

void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
}

void write_notes(database& db, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i)
        write_note(db, title_of(i), i / 2, author_of(i));
}

void fill(database& db) {
    db.add_type<note>("note");
    write_notes(db, 0, settled);
    auto block = db.start_session();
    write_notes(db, settled, settled + pushed);
    block.push();
}

void compare(const database& db, std::uint32_t count) {
    require(db.count<note>() == count, "another number of notes");
    std::uint32_t by_ann = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const note* found = db.find(chainbase::id<note>(i));
        require(found && found->weight == i / 2 && found->title.view() == title_of(i), "by id");
        require(db.find<note, by_title>(title_of(i)) == found, "by title");
        by_ann += found->author == "ann";
    }
    std::uint32_t at = 0;
    for (const note& n : db.view<note, by_weight>())
        require(n.weight == at++ / 2, "by weight");
    require(at == count, "a number by weight");
    const auto ann = db.view<note, by_author>().equal_range("ann");
    require(std::distance(ann.begin(), ann.end()) == by_ann, "by author");
}

} // namespace

own_folder::own_folder() {
    const bool shared = ::access("/dev/shm", W_OK) == 0;
    const fs::path parent = shared ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string name = (parent / "chainbase-opening-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
}

own_folder::~own_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

folder_content content_of(const fs::path& folder) {
    folder_content found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        std::string content = "/";
        if (entry.is_regular_file()) {
            std::ifstream in(entry.path(), std::ios::binary);
            content.assign(std::istreambuf_iterator<char>(in), {});
        }
        found[fs::relative(entry.path(), folder).string()] = std::move(content);
    }
    return found;
}

void restore(const fs::path& folder, const folder_content& content) {
    for (const auto& [name, bytes] : content_of(folder))
        if (!content.contains(name) || (bytes == "/") != (content.at(name) == "/"))
            fs::remove_all(folder / name);
    const folder_content now = content_of(folder);
    for (const auto& [name, bytes] : content) {
        const auto there = now.find(name);
        if (there != now.end() && there->second == bytes) continue;
        if (bytes == "/")
            fs::create_directory(folder / name);
        else
            std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << bytes;
    }
}

outcome run_apart(const std::function<void()>& work) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    if (child == 0) {
        alarm(60); // a loop counts as a crash
        outcome::kind how = outcome::kind::works;
        std::string said;
        try {
            work();
        } catch (const chainbase::error& e) {
            how = outcome::kind::refused;
            said = e.what();
        } catch (const std::exception& e) {
            how = outcome::kind::wrong;
            said = e.what();
        }
        const auto written = write(ends[1], said.data(), std::min<std::size_t>(said.size(), 4000));
        _exit(written < 0 ? 99 : static_cast<int>(how));
    }
    close(ends[1]);
    outcome result;
    std::array<char, 4096> part;
    for (ssize_t n; (n = read(ends[0], part.data(), part.size())) > 0;)
        result.said.append(part.data(), static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        result.how = static_cast<outcome::kind>(WEXITSTATUS(status));
    else
        result.said = strsignal(WTERMSIG(status));
    return result;
}

void make_closed(const fs::path& state) {
    database db(state, small_windows());
    fill(db);
}

void make_abandoned(const fs::path& state) {
    const outcome made = run_apart([&] {
        database db(state, small_windows());
        fill(db);
        auto session = db.start_session();
        for (std::uint32_t i = 0; i < settled + pushed; ++i)
            db.modify(db.get(chainbase::id<note>(i)), [&](note& n) {
                n.weight = 1000 - i;
                n.title = "changed " + std::to_string(i);
            });
        _exit(0); // nothing is closed
    });
    require(made.how == outcome::kind::works, "no state was made");
}

void open_and_compare(const fs::path& state) {
    database db(state, small_windows());
    db.add_type<note>("note");
    require(db.revision() == 1 && db.committed_revision() == 0, "another revision");
    compare(db, settled + pushed);
    db.undo_all();
    compare(db, settled);
    write_notes(db, settled, settled + pushed);
    compare(db, settled + pushed);
}

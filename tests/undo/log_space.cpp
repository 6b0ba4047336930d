// The space of the log and the space that undo releases: bounded, and returned.

#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tests/support/one_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

// The log's chunks are used again: its file grows with what can be undone, not with what was done.

namespace {

void touch_many(one_type<card>& s, std::uint32_t round) {
    for (const card& c : s.db.objects<card>())
        s.db.modify(c, [&](card& t) {
            t.value = round;
            t.group = round % 50;
        });
}

} // namespace

TEST_CASE("blocks that are committed at a lag reuse the log") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 2000; ++k)
        s.add(k);
    std::uint64_t settled = 0;
    for (std::uint32_t block = 1; block <= 200; ++block) {
        auto session = s.db.start_session();
        touch_many(s, block);
        session.push();
        s.db.commit(s.db.revision() - 5);
        if (block == 30) settled = s.db.memory().log_file().bytes();
    }
    CHECK(s.db.memory().log_file().bytes() == settled);
    s.db.commit(s.db.revision());
    CHECK(s.db.memory().log()->bytes_in_use() == 0);
    s.db.compact();
    CHECK(s.db.memory().log_file().bytes() <= settled);
}

TEST_CASE("sessions that are undone or squashed reuse the log") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 2000; ++k)
        s.add(k);
    std::uint64_t settled = 0;
    for (std::uint32_t block = 1; block <= 100; ++block) {
        auto outer = s.db.start_session();
        touch_many(s, block);
        auto inner = s.db.start_session();
        touch_many(s, block + 1000);
        if (block % 2)
            inner.undo();
        else
            inner.squash();
        if (block % 3)
            outer.undo();
        else
            outer.squash();
        if (block == 10) settled = s.db.memory().log_file().bytes();
    }
    CHECK(s.db.memory().log_file().bytes() == settled);
}

TEST_CASE("the parts of a state's bytes sum to the files' lengths") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 3000; ++k)
        s.add(k);
    auto session = s.db.start_session();
    touch_many(s, 1);
    for (std::uint32_t k = 0; k < 3000; k += 3)
        s.db.remove(*s.at(k));
    const auto all = segment_statistics::read(s.db.memory());
    std::uint64_t sum = all.header + all.log.total;
    for (const auto& buffers : all.buffers)
        sum += buffers.bytes.total;
    for (const auto& type : all.types)
        sum += type.total().total;
    CHECK(sum == all.total);
    const usage used = all.types[0].total();
    CHECK(used.header + used.links + used.values + used.slack + used.punched == used.total);
    CHECK(all.log.header + all.log.values + all.log.slack == all.log.total);
    std::uint64_t files = segment::header_bytes;
    for (const auto& entry : std::filesystem::directory_iterator(s.folder / "state/segment"))
        if (entry.path().filename() != "header" && entry.path().filename() != "catalogue.json")
            files += entry.file_size();
    CHECK(files == all.total);
    CHECK(all.consistent);
    CHECK(all.sessions == 1);
}

TEST_CASE("areas of a hash table count as punched when they are, not while undo needs them") {
    one_type<card> s;
    const auto punched = [&] {
        return segment_statistics::read(s.db.memory()).types[0].tables.punched;
    };
    auto session = s.db.start_session();
    for (std::uint32_t k = 0; k < 3000; ++k)
        s.add(k);
    CHECK(punched() == 0);
    session.push();
    s.db.commit(s.db.revision());
    const auto given_back = punched();
    CHECK(given_back > 0);
    database reader(s.folder / "state", quick_options(open_mode::read_only));
    CHECK(segment_statistics::read(reader.memory()).types[0].tables.punched == given_back);
}

// A file system that cannot punch holes: space is not released, and everything else works.

namespace {

enum ending { works, fails, not_allowed };

/// From now on every fallocate of this process that punches fails with EOPNOTSUPP.
bool forbid_punching() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FALLOC_FL_PUNCH_HOLE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

ending run_without_punching(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
        if (!forbid_punching()) _exit(not_allowed);
        try {
            work();
        } catch (const std::exception&) {
            _exit(fails);
        }
        _exit(works);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? static_cast<ending>(WEXITSTATUS(status)) : fails;
}

void expect(bool holds) {
    if (!holds) throw std::logic_error("not as expected");
}

/// The tables of the hashed keys outgrow their areas, in a session and out of one.
void outgrow_tables() {
    one_type<card> s;
    auto block = s.db.start_session();
    for (std::uint32_t k = 0; k < 2000; ++k)
        s.add(k);
    block.push();
    s.db.commit(1);
    expect(s.db.committed_revision() == 1 && !s.db.memory().log()->has_session());
    for (std::uint32_t k = 2000; k < 5000; ++k)
        s.add(k);
    auto undone = s.db.start_session();
    for (std::uint32_t k = 5000; k < 9000; ++k)
        s.add(k);
    undone.undo();
    expect(s.count() == 5000);
    for (std::uint32_t k = 0; k < 5000; k += 2)
        s.db.remove(*s.at(k));
    s.db.compact();
    for (std::uint32_t k = 0; k < 5000; ++k)
        expect((s.at(k) != nullptr) == (k % 2 == 1));
}

} // namespace

TEST_CASE("where holes cannot be punched, growing, committing and compacting still work") {
    const ending how = run_without_punching(outgrow_tables);
    if (how == not_allowed)
        WARN("skipped: may not filter system calls");
    else
        CHECK(how == works);
}

// compact() gives the space of freed strings and of the log back to the file system, and what was
// given back can be used again.

namespace {

struct labels {
    labels() : db(folder / "state", quick_options()) { db.add_type<label>("label"); }

    void add(const std::string& text) {
        const label& made = db.create<label>([&](label& l) { l.text = std::string_view(text); });
        texts[made.id.value] = text;
    }
    /// Of the size asked for, and no two alike.
    std::string text_of(std::size_t bytes) {
        std::string text = std::to_string(++made);
        text.resize(bytes, static_cast<char>('a' + made % 26));
        return text;
    }
    void remove(std::uint32_t number) {
        db.remove(*db.find(id<label>(number)));
        texts.erase(number);
    }
    [[nodiscard]] bool is_whole() const {
        for (const auto& [number, text] : texts) {
            const label* found = db.find(id<label>(number));
            if (!found || found->text.view() != text || db.find<label, by_text>(text) != found)
                return false;
        }
        return db.count<label>() == texts.size();
    }
    [[nodiscard]] std::filesystem::path file(const char* name) const {
        return folder / "state/segment" / name;
    }
    [[nodiscard]] std::uintmax_t length(const char* name) const {
        return std::filesystem::file_size(file(name));
    }
    [[nodiscard]] std::uint64_t held(const char* name) const {
        struct stat status{};
        REQUIRE(stat(file(name).c_str(), &status) == 0);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    [[nodiscard]] snapshot now() { return snapshot(db.memory()); }

    scratch_folder folder;
    database db;
    std::map<std::uint32_t, std::string> texts;
    std::size_t made = 0;
};

constexpr std::size_t page = 4096;

} // namespace

TEST_CASE("a free tail of a buffer class is cut, and the free slots that stay are used first") {
    labels s;
    for (int i = 0; i < 2000; ++i)
        s.add(s.text_of(1000)); // of class 1024
    const auto before = s.length("buffers.1024");
    for (std::uint32_t n = 500; n < 2000; ++n)
        s.remove(n);
    for (std::uint32_t n = 0; n < 500; n += 2)
        s.remove(n);
    s.db.compact();
    CHECK(s.length("buffers.1024") <= page + 502 * 1024 + page);
    CHECK(s.length("buffers.1024") < before / 2);
    CHECK(s.is_whole());
    const auto length = s.length("buffers.1024");
    for (int i = 0; i < 250; ++i)
        s.add(s.text_of(1000));
    CHECK(s.length("buffers.1024") == length);
    CHECK(s.is_whole());
    const snapshot settled = s.now();
    s.db.compact();
    CHECK(s.length("buffers.1024") == length);
    CHECK(s.is_whole());
    CHECK(s.now() == settled);
}

TEST_CASE("a free list that was threaded anew is what it was when the operation is rolled back") {
    labels s;
    for (int i = 0; i < 20; ++i)
        s.add(s.text_of(1000));
    for (std::uint32_t n = 1; n < 18; ++n)
        s.remove(n);
    const snapshot before = s.now();
    {
        const operation unfinished(*s.db.memory().log(), 0);
        s.db.memory().buffers().prepare_trim();
        CHECK(s.now() != before);
    }
    CHECK(s.now() == before);
}

TEST_CASE("a class that is empty again keeps no more than its header page") {
    labels s;
    for (int i = 0; i < 20; ++i)
        s.add(s.text_of(60'000));
    for (std::uint32_t n = 0; n < 20; ++n)
        s.remove(n);
    s.db.compact();
    CHECK(s.length("buffers.65536") == page);
    s.add(s.text_of(60'000));
    CHECK(s.is_whole());
}

TEST_CASE("pages within large free buffers are given back, and are there again when used") {
    labels s;
    for (int i = 0; i < 20; ++i)
        s.add(s.text_of(65'536));
    for (std::uint32_t n = 0; n < 19; ++n)
        s.remove(n); // all but the last one
    s.db.compact();
    CHECK(s.length("buffers.65536") >= 20 * 65'536);
    CHECK(s.held("buffers.65536") <= 22 * page + 65'536 + 65'536); // slot 0 was never used
    CHECK(s.is_whole());
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        const auto kept = s.texts;
        for (int i = 0; i < 19; ++i)
            s.add(s.text_of(65'000));
        CHECK(s.is_whole());
        CHECK(s.held("buffers.65536") >= 20 * 65'536);
        s.texts = kept;
    }
    CHECK(s.now() == before);
    CHECK(s.is_whole());
}

TEST_CASE("page runs: the last free one is cut, others are punched") {
    labels s;
    for (int i = 0; i < 10; ++i)
        s.add(s.text_of(400'000));
    for (const std::uint32_t n : {1U, 2U, 5U, 8U, 9U})
        s.remove(n);
    s.db.compact();
    const std::uintmax_t run = (400'000 + page - 1) / page * page;
    CHECK(s.length("buffers.runs") == page + 8 * run);
    CHECK(s.held("buffers.runs") <= page + 5 * run + 2 * page + 2 * page);
    CHECK(s.is_whole());
    const auto length = s.length("buffers.runs");
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        const auto kept = s.texts;
        s.add(s.text_of(800'000)); // the two that merged
        s.add(s.text_of(300'000)); // a part of the third
        CHECK(s.length("buffers.runs") == length);
        CHECK(s.held("buffers.runs") >= page + 5 * run + 1'100'000);
        CHECK(s.is_whole());
        s.texts = kept;
    }
    CHECK(s.now() == before);
    for (const auto& [number, text] : std::map(s.texts))
        s.remove(number);
    s.db.compact();
    CHECK(s.length("buffers.runs") == page);
}

TEST_CASE("strings of all sizes survive compaction again and again") {
    labels s;
    random_source random(test_seed(31));
    for (int round = 0; round < 25; ++round) {
        for (int i = 0; i < 120; ++i)
            s.add(s.text_of(random.below(20) == 0 ? 4 * page + random.below(200'000)
                                                  : 12 + random.below(2000)));
        for (const auto& [number, text] : std::map(s.texts))
            if (random.below(3) != 0) s.remove(number);
        s.db.compact();
        REQUIRE(s.is_whole());
        const usage used = s.db.memory().buffers().measure();
        REQUIRE(used.header + used.links + used.values + used.slack + used.punched == used.total);
    }
}

TEST_CASE("an empty log keeps one chunk, wherever it ended") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 3000; ++k)
        s.add(k);
    const auto touch_all = [&](std::uint32_t value) {
        for (const card& c : s.db.objects<card>())
            s.db.modify(c, [&](card& t) { t.value = value; });
    };
    for (std::uint32_t block = 1; block <= 60; ++block) {
        auto session = s.db.start_session();
        touch_all(block);
        session.push();
        s.db.commit(s.db.revision() - 40);
    }
    const undo_log& log = *s.db.memory().log();
    CHECK(s.db.memory().log_file().bytes() > 2 * undo_log::chunk_bytes);
    s.db.commit(s.db.revision());
    s.db.compact();
    CHECK(s.db.memory().log_file().bytes() == page + undo_log::chunk_bytes);
    CHECK(log.bytes_in_use() == 0);
    const snapshot before = s.now();
    for (int round = 0; round < 3; ++round) {
        auto session = s.db.start_session();
        for (std::uint32_t block = 0; block < 20; ++block) {
            auto inner = s.db.start_session();
            touch_all(1000 + block);
            inner.push();
        }
        session.undo();
        CHECK(s.now() == before);
        s.db.compact();
        CHECK(s.db.memory().log_file().bytes() == page + undo_log::chunk_bytes);
    }
}

TEST_CASE("a run that could not be taken stays free, also when the modifier goes on") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.window_bytes = std::size_t{8} << 20;
    database db(folder / "state", options);
    db.add_type<label>("label");
    const auto add = [&](std::size_t bytes, char c) -> const label& {
        return db.create<label>([&](label& l) { l.text = std::string(bytes, c); });
    };
    const label& other = add(100, 'o');
    db.remove(add(3'000'000, 'a'));
    const auto length = std::filesystem::file_size(folder / "state/segment/buffers.runs");
    auto session = db.start_session();
    for (int i = 0; db.memory().log()->bytes_in_use() < std::size_t{5} << 20; ++i)
        db.modify(other,
                  [&](label& l) { l.text = std::string(60'000, static_cast<char>('a' + i % 20)); });
    bool caught = false;
    db.modify(other, [&](label& l) {
        l.uses = 7;
        try {
            l.text = std::string(3'000'000, 'b'); // its old content does not fit the log
        } catch (const limit_error&) {
            caught = true;
        }
    });
    CHECK(caught);
    CHECK(other.uses == 7);
    session.push();
    db.commit(db.revision());
    add(3'000'000, 'c');
    CHECK(std::filesystem::file_size(folder / "state/segment/buffers.runs") == length);
}

#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace chainbase::test {

namespace fs = std::filesystem;

namespace {

void add_types(database& db) {
    db.add_type<account>("account");
    db.add_type<post>("post");
    db.add_type<token>("token");
    db.add_type<marker>("marker"); // stays empty
}

// Numbered by id, so that no two objects there are have the same number.
void create_account(database& db, std::uint32_t number) {
    db.create<account>([&](account& a) {
        a.name = std::string_view(std::to_string(number));
        a.number = number;
        a.group = number % 7;
    });
}

void create_post(database& db, std::uint32_t number, const std::string& body) {
    db.create<post>([&](post& p) {
        p.author = "author-" + std::to_string(number % 10);
        p.permlink = "permlink-" + std::to_string(number);
        p.body = body;
    });
}

/// Changes of random kinds, in sessions that are undone or pushed.
class activity {
public:
    explicit activity(database& db) : db_(db) {}

    void one_block() {
        auto block = db_.start_session();
        for (std::uint32_t i = random_.below(60); i-- > 0;)
            change();
        if (random_.chance(200)) return; // undone
        block.push();
        if (db_.revision() > 8) db_.commit(db_.revision() - 8);
        if (random_.chance(4)) compact();
    }

private:
    void change() {
        switch (random_.below(4)) {
        case 0:
            return create_account(db_, db_.next_id<account>().value);
        case 1:
            return create_post(db_, db_.next_id<post>().value, random_text(random_));
        case 2:
            return modify_some();
        default:
            return remove_some();
        }
    }
    template <typename T>
    const T* some() {
        const auto objects = db_.objects<T>();
        if (objects.empty()) return nullptr;
        const std::uint32_t oldest = objects.begin()->id.value;
        const auto found = objects.lower_bound(id<T>(oldest + random_.below(2000)));
        return found == objects.end() ? &*objects.begin() : &*found;
    }
    void modify_some() {
        if (const account* found = some<account>())
            db_.modify(*found, [&](account& a) { a.balance += random_.below(1000); });
        if (const post* found = some<post>())
            db_.modify(*found, [&](post& p) { p.body = random_text(random_); });
    }
    void remove_some() {
        if (const account* found = some<account>()) db_.remove(*found);
        if (const post* found = some<post>()) db_.remove(*found);
    }
    void compact() {
        db_.commit(db_.revision());
        db_.compact();
    }

    database& db_;
    random_source random_{test_seed(20)};
};

/// Runs until the pipe at `leash` is closed; says so on `ready` once it is at work.
void write_until_told(const fs::path& state, int leash, int ready) {
    database db(state, quick_options());
    add_types(db);
    activity work(db);
    work.one_block();
    if (::write(ready, "", 1) != 1) throw std::runtime_error("nobody waits for this writer");
    char byte;
    while (::read(leash, &byte, 1) < 0 && errno == EAGAIN)
        work.one_block();
}

} // namespace

sample_counts build_sample_state(const fs::path& state) {
    const sample_counts counts;
    database db(state, quick_options());
    add_types(db);
    random_source random(test_seed(7));
    for (std::uint32_t i = 0; i < counts.accounts; ++i)
        create_account(db, i);
    for (std::uint32_t i = 0; i < counts.tokens; ++i)
        db.create<token>([&](token& t) { t.code = i; });
    for (std::uint32_t i = 0; i < counts.removed_tokens; ++i)
        db.remove(db.get(id<token>(i)));
    for (std::uint32_t i = 0; i < counts.posts; ++i)
        create_post(db, i, random_text(random));
    for (std::int64_t r = 1; r <= counts.revision; ++r) {
        auto block = db.start_session();
        db.modify(*db.objects<account>().begin(), [](account& a) { ++a.balance; });
        block.push();
    }
    db.commit(counts.irreversible);
    return counts;
}

void compact_sample_state(const fs::path& state) {
    database db(state, quick_options());
    add_types(db);
    db.commit(db.revision());
    db.compact();
}

void remove_sample_posts(const fs::path& state) {
    database db(state, quick_options());
    add_types(db);
    for (const std::size_t pages : {20, 40, 30})
        db.create<post>([&](post& p) {
            p.permlink = "pages-" + std::to_string(pages);
            p.body = std::string(pages * 4096, 'x');
        });
    const std::uint32_t end = db.next_id<post>().value;
    for (std::uint32_t number = 0; number < end; ++number)
        if (number % 3 == 0 || number == end - 2) db.remove(db.get(id<post>(number)));
    db.commit(db.revision());
}

std::int64_t reopen_sample_state(const fs::path& state) {
    database db(state, quick_options());
    add_types(db);
    return db.revision();
}

writer_process::writer_process(const fs::path& state) {
    int leash[2];
    int ready[2];
    if (::pipe2(leash, O_NONBLOCK | O_CLOEXEC) != 0 || ::pipe2(ready, O_CLOEXEC) != 0)
        throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process");
    if (process_ == 0) {
        ::close(leash[1]);
        ::close(ready[0]);
        try {
            write_until_told(state, leash[0], ready[1]);
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    ::close(leash[0]);
    ::close(ready[1]);
    leash_ = leash[1];
    char byte;
    const bool started = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    if (!started) throw std::runtime_error("the writer did not start");
}

bool writer_process::stop() {
    ::close(std::exchange(leash_, -1));
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void writer_process::kill() noexcept {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL); // before the leash goes, which would let it close its state
    ::waitpid(std::exchange(process_, -1), nullptr, 0);
    ::close(std::exchange(leash_, -1));
}

} // namespace chainbase::test

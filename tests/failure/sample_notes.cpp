#include <tests/failure/killed_chain.hpp>
#include <tests/failure/note.hpp>
#include <tests/failure/sample_notes.hpp>
#include <tests/failure/state_image.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <iterator>

namespace chainbase::test {

namespace {

constexpr std::uint32_t settled = 35;
constexpr std::uint32_t pushed = 5;

std::string title_of(std::uint32_t i) {
    return std::string(i % 9 == 8 ? 5000 : 3 + i, 't') + std::to_string(i);
}

const char* author_of(std::uint32_t i) {
    return i % 3 == 0 ? "ann" : "ben";
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
    expect(db.count<note>() == count, "another number of notes");
    std::uint32_t by_ann = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const note* found = db.find(id<note>(i));
        expect(found && found->weight == i / 2 && found->title.view() == title_of(i), "by id");
        expect(db.find<note, by_title>(title_of(i)) == found, "by title");
        by_ann += found->author == "ann";
    }
    std::uint32_t at = 0;
    for (const note& n : db.view<note, by_weight>())
        expect(n.weight == at++ / 2, "by weight");
    expect(at == count, "a number by weight");
    const auto ann = db.view<note, by_author>().equal_range("ann");
    expect(std::distance(ann.begin(), ann.end()) == by_ann, "by author");
}

} // namespace

void make_closed(const std::filesystem::path& state) {
    database db(state, quick_options());
    fill(db);
}

void make_abandoned(const std::filesystem::path& state) {
    const ending made = run_process([&] {
        database db(state, quick_options());
        fill(db);
        auto session = db.start_session();
        for (std::uint32_t i = 0; i < settled + pushed; ++i)
            db.modify(db.get(id<note>(i)), [&](note& n) {
                n.weight = 1000 - i;
                n.title = "changed " + std::to_string(i);
            });
        ::raise(SIGKILL); // nothing is closed
    });
    expect(made.killed, "the writer did not die");
}

void make_restarted(const std::filesystem::path& state) {
    open_options options = quick_options();
    options.promise = durability::checkpoint;
    database db(state, options);
    fill(db);
    db.make_checkpoint();
    (void)db.memory().log()->start_session(); // without a guard, which would outlive the log
    write_notes(db, settled + pushed, settled + 2 * pushed);
    db.abandon();
    constexpr std::size_t boot = offsetof(segment_header, boot);
    write_at(state / "segment/header", boot, "00000000-0000-0000-0000-000000000000");
}

void open_and_compare(const std::filesystem::path& state) {
    database db(state, quick_options());
    db.add_type<note>("note");
    expect(db.revision() == 1 && db.committed_revision() == 0, "another revision");
    compare(db, settled + pushed);
    db.undo_all();
    compare(db, settled);
    write_notes(db, settled, settled + pushed);
    compare(db, settled + pushed);
}

} // namespace chainbase::test

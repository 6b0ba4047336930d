#include <fcntl.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>

namespace chainbase::test {

// --- notes in blocks ---

note_model note_model::of(const database& db) {
    note_model copy;
    for (const note& n : db.objects<note>()) {
        expect(db.find<note, by_title>(n.title.view()) == &n, "by title");
        copy.notes[n.id.value] = {n.weight, std::string(n.title.view())};
    }
    std::size_t by_weight_count = 0;
    for (const note& n : db.view<note, by_weight>())
        by_weight_count += copy.notes.contains(n.id.value);
    expect(by_weight_count == copy.notes.size(), "by weight");
    return copy;
}

void note_model::change_one(database& db, random_source& random, std::uint32_t bits) {
    const auto number = static_cast<std::uint32_t>(random.next());
    const std::string title = std::to_string(number) + std::string(1U << random.below(bits), 'x');
    if (notes.empty() || random.below(3) != 0) {
        const note& n = write_note(db, title, number % 50);
        notes[n.id.value] = {number % 50, title};
        return;
    }
    const auto at = notes.lower_bound(number % (notes.rbegin()->first + 1));
    const note& n = db.get(id<note>(at->first));
    if (random.below(4) == 0) {
        db.remove(n);
        notes.erase(at);
        return;
    }
    db.modify(n, [&](note& target) {
        target.weight = number % 50;
        target.title = title;
    });
    at->second = {number % 50, title};
}

void note_chain::apply_block(database& db) {
    note_model now = models_.back();
    models_.reserve(lag + 2); // nothing fails once the block is pushed
    session block = db.start_session();
    for (std::uint32_t changes = 1 + random_.below(12); changes > 0; --changes)
        now.change_one(db, random_, 17);
    block.push();
    models_.push_back(std::move(now));
    if (models_.size() <= lag + 1) return;
    models_.erase(models_.begin());
    db.commit(++committed_);
}

std::optional<std::string> note_chain::apply(database& db) {
    if (models_.size() > 1 && random_.chance(100)) {
        db.undo();
        models_.pop_back();
        return std::nullopt;
    }
    try {
        apply_block(db);
        return std::nullopt;
    } catch (const out_of_space_error& e) {
        return e.what();
    } catch (const std::bad_alloc& e) {
        return e.what();
    }
}

std::string note_chain::apply_until_refused(database& db) {
    for (;;)
        if (const auto said = apply(db)) return *said;
}

std::size_t note_chain::apply_some(database& db, std::size_t blocks) {
    std::size_t refused = 0;
    for (; blocks > 0; --blocks)
        refused += apply(db).has_value();
    return refused;
}

void note_chain::require_same(const database& db) const {
    expect(note_model::of(db) == models_.back(), "the state is not that after the last block");
    const auto revision = committed_ + static_cast<revision_number>(models_.size()) - 1;
    expect(db.revision() == revision, "revision");
}

// --- forty notes ---

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
        ::raise(SIGKILL); // without closing
    });
    expect(made.killed, "the writer did not die");
}

void make_restarted(const std::filesystem::path& state) {
    open_options options = quick_options();
    options.durability = durability::checkpoint;
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

// --- twenty cards ---

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

verdict open_damaged(const sample_state& state, std::string* said) {
    const state_image before(state.path);
    try {
        state.open_and_compare();
        return verdict::works;
    } catch (const error& e) {
        if (said) *said = e.what();
        expect(std::string(e.what()).size() > 20, std::string("says little: ") + e.what());
    }
    // Opening failed, or adding the type to the opened state, which was then closed again.
    const state_image after(state.path);
    for (const auto& [name, content] : before.files()) {
        const auto now = after.files().find(name);
        expect(now != after.files().end(), name + ": is gone");
        expect(now->second == content, name + ": was changed by a failed open");
    }
    expect(after == before, "something was added");
    return verdict::refused;
}

void fill_up(const std::filesystem::path& place) {
    const int file = ::open((place / "ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    expect(file >= 0, "no ballast");
    for (std::size_t bytes = std::size_t{1} << 20; bytes >= 512; bytes /= 2) {
        const std::string part(bytes, 'b');
        while (::write(file, part.data(), bytes) == static_cast<ssize_t>(bytes))
            ;
    }
    ::close(file);
}

} // namespace chainbase::test

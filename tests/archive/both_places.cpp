// Objects that are in memory, in the archive, or in both, or were removed, against a naive model:
// lookups, ranges, and what is found under keys that are taken again.

#include <archive/open_archive.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/heap_store.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct known {
    std::string author;
    std::string title;
    std::int64_t weight = 0;
    bool is_retired = false;
};
using model = std::map<std::uint32_t, known>;

std::string author_of(random_source& random) {
    static const std::vector<std::string> names{"a", "al", "alice", "bob", "bo"};
    return names[random.below(static_cast<std::uint32_t>(names.size()))];
}

std::string title_of(random_source& random) {
    return std::to_string(random.below(40));
}

const std::pair<const std::uint32_t, known>* find_in(const model& all, const std::string& author,
                                                     const std::string& title) {
    const auto found = std::ranges::find_if(all, [&](const auto& one) {
        return one.second.author == author && one.second.title == title;
    });
    return found == all.end() ? nullptr : &*found;
}

/// Objects that are made, changed, retired, handed over, removed and popped, and what is to be
/// found.
class walk {
public:
    walk(std::uint64_t seed, archive::store_kind kind) : kind_(kind), random_(seed) { open(); }

    void step() {
        if (random_.chance(20)) {
            close();
            open();
        }
        if (random_.chance(150) && blocks_.size() > 1) {
            state_->undo();
            now_ = std::move(blocks_.back());
            blocks_.pop_back();
        } else {
            const model before = now_;
            session block = state_->start_session();
            for (std::uint32_t left = random_.below(6); left > 0; --left)
                random_.chance(200) ? change_in_nested_session() : change();
            if (random_.chance(400)) all_->hand_over(state_->committed_revision(), 3);
            if (random_.chance(300)) (void)all_->hand_over_behind(state_->committed_revision(), 2);
            block.push();
            blocks_.push_back(before);
        }
        if (random_.chance(300)) commit();
    }
    void compare() {
        compare_lookups();
        std::vector<std::uint32_t> expected;
        for (const auto& [id, one] : now_)
            expected.push_back(id);
        std::ranges::sort(expected, [&](std::uint32_t a, std::uint32_t b) {
            return std::pair(-now_.at(a).weight, a) < std::pair(-now_.at(b).weight, b);
        });
        REQUIRE(ids_of(all_->range<by_weight>()) == expected);
        const std::int64_t weight = random_.below(60);
        std::erase_if(expected, [&](std::uint32_t id) { return now_.at(id).weight > weight; });
        REQUIRE(ids_of(all_->from<by_weight>(weight)) == expected);
        std::erase_if(expected, [&](std::uint32_t id) { return now_.at(id).weight != weight; });
        REQUIRE(ids_of(all_->range<by_weight>(weight)) == expected);
        compare_author(author_of(random_));
    }
    [[nodiscard]] std::uint64_t archived() const { return all_->archived(); }
    [[nodiscard]] std::uint64_t in_both() const {
        std::uint64_t both = 0;
        for (auto row = rows_->rows({0}); row.valid(); row.next())
            both += state_->find(id<note>(row.id())) ? 1 : 0;
        return both;
    }

private:
    void open() {
        state_.emplace(folder_ / "state", small_state());
        rows_ = archive::open_archive(*state_, folder_ / "archive", kind_);
        state_->add_type<note>("note");
        all_.emplace(*state_, *rows_, "note");
    }
    void close() {
        all_.reset();
        rows_.reset();
        state_.reset();
    }
    void change_in_nested_session() {
        const model before = now_;
        session inner = state_->start_session();
        change();
        if (random_.chance(300)) {
            inner.undo();
            now_ = before;
        } else {
            inner.squash();
        }
    }
    void create() {
        const known one{author_of(random_), title_of(random_), random_.below(60)};
        const auto make = [&]() -> const note& {
            return all_->create([&](note& made) {
                made.author = std::string_view(one.author);
                made.title = one.title;
                made.weight = one.weight;
            });
        };
        if (find_in(now_, one.author, one.title))
            REQUIRE_THROWS_AS(make(), duplicate_key_error);
        else
            now_[make().id.value] = one;
    }
    void change() {
        if (now_.empty() || random_.chance(400)) return create();
        const auto at =
            std::next(now_.begin(), random_.below(static_cast<std::uint32_t>(now_.size())));
        if (random_.chance(150)) {
            all_->remove(id<note>(at->first));
            now_.erase(at);
            return;
        }
        const note* object = state_->find(id<note>(at->first));
        if (object == nullptr || at->second.is_retired) return;
        if (random_.chance(500)) {
            all_->retire(*object);
            at->second.is_retired = true;
        } else {
            const std::string author = author_of(random_);
            if (find_in(now_, author, at->second.title)) return;
            at->second.author = author;
            at->second.weight = random_.below(60);
            all_->modify(*object, [&](note& one) {
                one.author = std::string_view(at->second.author);
                one.weight = at->second.weight;
            });
        }
    }
    void commit() {
        const std::size_t kept = std::min<std::size_t>(blocks_.size(), random_.below(4));
        state_->commit(state_->revision() - static_cast<revision_number>(kept));
        blocks_.erase(blocks_.begin(), blocks_.end() - static_cast<std::ptrdiff_t>(kept));
    }
    void compare_lookups() {
        for (int n = 0; n < 5; ++n) {
            const std::string author = author_of(random_);
            const std::string title = title_of(random_);
            const auto* const expected = find_in(now_, author, title);
            const auto found = all_->find<by_title>(author, title);
            REQUIRE(found.has_value() == (expected != nullptr));
            if (found) REQUIRE(found->id().value == expected->first);
            const std::uint32_t number = random_.below(state_->next_id<note>().value + 1);
            REQUIRE(all_->find(id<note>(number)).has_value() == now_.contains(number));
        }
        REQUIRE(all_->in_memory() + all_->archived() == now_.size());
        std::vector<std::uint32_t> visited;
        all_->for_each([&](const archive::found<note>& one) { visited.push_back(one.id().value); });
        REQUIRE(std::ranges::equal(visited, now_ | std::views::keys));
    }
    void compare_author(const std::string& author) {
        std::vector<std::uint32_t> expected;
        for (const auto& [id, one] : now_)
            if (one.author == author) expected.push_back(id);
        std::vector<std::uint32_t> found = ids_of(all_->range<by_author>(author));
        std::ranges::sort(found); // equal keys have no order between the two places
        REQUIRE(found == expected);
        std::string last;
        for (auto at = all_->from<by_author>(author); at.valid(); at.next()) {
            const std::string one(at->get<&note::author>());
            REQUIRE((one >= author && one >= last));
            last = one;
        }
    }
    template <typename Cursor>
    [[nodiscard]] std::vector<std::uint32_t> ids_of(Cursor at) const {
        std::vector<std::uint32_t> ids;
        for (; at.valid(); at.next()) {
            ids.push_back(at->id().value);
            REQUIRE(at->template get<&note::weight>() == now_.at(ids.back()).weight);
            REQUIRE(at->in_memory() == (state_->find(at->id()) != nullptr));
        }
        return ids;
    }

    temporary_folder folder_;
    archive::store_kind kind_;
    std::optional<database> state_;
    std::unique_ptr<archive::store> rows_;
    std::optional<notes> all_;
    random_source random_;
    model now_;
    std::vector<model> blocks_; ///< what each one that can be popped began with
};

} // namespace

TEST_CASE("both places together are as if there were one") {
    const auto kind = GENERATE(archive::store_kind::memory, archive::store_kind::rocksdb,
                               archive::store_kind::none);
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    walk one(seed, kind);
    std::uint64_t both = 0;
    for (std::uint64_t step = 0; step < short_test_operations(1500); ++step) {
        one.step();
        if (step % 4 == 0) one.compare();
        both += one.in_both() > 0 ? 1 : 0;
    }
    CHECK((one.archived() > 30) == (kind != archive::store_kind::none));
    CHECK((both > 10) == (kind == archive::store_kind::rocksdb));
}

TEST_CASE("a range that cannot be read throws and does not end early") {
    temporary_folder folder;
    database state(folder / "state", small_state());
    state.add_type<note>("note");
    const auto rows = std::make_unique<heap_store>();
    notes all(state, *rows, "note");
    session one = state.start_session();
    for (int i = 0; i < 3; ++i)
        all.retire(write(state, "alice", std::to_string(i), i));
    one.push();
    state.commit(state.revision());
    session two = state.start_session();
    REQUIRE(all.hand_over(state.committed_revision()) == 3);
    two.push();
    archive::write_batch wrong;
    wrong.put({0}, 1, archive::as_bytes("no record at all"),
              std::vector<archive::secondary_key>{
                  {1, archive::make_key(archive::descending(std::int64_t{1}), std::uint32_t{1})}});
    rows->write(wrong);
    auto at = all.range<by_weight>();
    REQUIRE(at.valid());
    CHECK(at->id() == id<note>(2));
    CHECK_THROWS_AS(at.next(), error);
}

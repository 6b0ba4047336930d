// Ranges over keys of objects that are in memory, in the archive, or in both, against a naive
// model.

#include <archive/open_archive.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/heap_store.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct known {
    std::string author;
    std::int64_t weight;
    bool is_retired;
};
using model = std::map<std::uint32_t, known>;

std::string author_of(random_source& random) {
    static const std::vector<std::string> names{"a", "al", "alice", "bob", "bo"};
    return names[random.below(static_cast<std::uint32_t>(names.size()))];
}

/// Objects that are made, changed, retired, handed over and popped, and what is to be found.
class walk {
public:
    walk(std::uint64_t seed, archive::store_kind kind)
        : rows_(archive::open_archive(state_, folder_ / "archive", kind)), random_(seed) {
        state_.add_type<note>("note");
        all_.emplace(state_, *rows_, "note");
    }

    void step() {
        if (random_.chance(150) && blocks_.size() > 1) {
            state_.undo();
            now_ = std::move(blocks_.back());
            blocks_.pop_back();
        } else {
            const model before = now_;
            session block = state_.start_session();
            for (std::uint32_t left = random_.below(6); left > 0; --left)
                change();
            if (random_.chance(500)) all_->hand_over(state_.committed_revision(), 3);
            block.push();
            blocks_.push_back(before);
        }
        if (random_.chance(300)) commit();
    }
    void compare() {
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
        return rows_->keeps_rows() ? rows_->count({0}) - all_->archived() : 0;
    }

private:
    void change() {
        if (now_.empty() || random_.chance(400)) {
            const known one{author_of(random_), static_cast<std::int64_t>(random_.below(60)),
                            false};
            const std::string title = std::to_string(titles_++);
            now_[write(state_, one.author, title, one.weight).id.value] = one;
            return;
        }
        const auto at =
            std::next(now_.begin(), random_.below(static_cast<std::uint32_t>(now_.size())));
        const note* object = state_.find(id<note>(at->first));
        if (object == nullptr || at->second.is_retired) return;
        if (random_.chance(500)) {
            all_->retire(*object);
            at->second.is_retired = true;
        } else {
            at->second.author = author_of(random_);
            at->second.weight = random_.below(60);
            all_->modify(*object, [&](note& one) {
                one.author = std::string_view(at->second.author);
                one.weight = at->second.weight;
            });
        }
    }
    void commit() {
        const std::size_t kept = std::min<std::size_t>(blocks_.size(), random_.below(4));
        state_.commit(state_.revision() - static_cast<revision_number>(kept));
        blocks_.erase(blocks_.begin(), blocks_.end() - static_cast<std::ptrdiff_t>(kept));
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
            REQUIRE(at->in_memory() == (state_.find(at->id()) != nullptr));
        }
        return ids;
    }

    temporary_folder folder_;
    database state_{folder_ / "state", small_state()};
    std::unique_ptr<archive::store> rows_;
    std::optional<notes> all_;
    random_source random_;
    model now_;
    std::vector<model> blocks_; ///< what each one that can be popped began with
    std::uint32_t titles_ = 0;
};

} // namespace

TEST_CASE("ranges over both places give each object once and in order") {
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
    CHECK((one.archived() > 100) == (kind != archive::store_kind::none));
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

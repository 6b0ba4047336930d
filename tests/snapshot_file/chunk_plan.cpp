// Whatever the pieces are in which rows come, the chunks are those that FORMAT.md defines.

#include <chainbase/offline/snapshot_file/chunk_plan.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/snapshot_file/sample_rows.hpp>

using namespace chainbase;
using namespace chainbase::test;
using namespace chainbase::snapshot_file;

namespace {

/// Rows in pieces that are chosen at random, and what comes of them.
class random_planning {
public:
    random_planning(random_source& random, const sample_rows& rows, std::uint64_t most)
        : random_(random), rows_(rows), most_(most),
          plan_([this](piece one) { take(std::move(one)); }, most) {}

    /// `split`: of a thousand nodes, how many come in halves.
    std::vector<piece> run(node whole, std::uint32_t split) {
        split_ = split;
        add(whole);
        plan_.finish(height_of(rows_));
        return std::move(chunks_);
    }

private:
    void add(node at) {
        const auto [first, end] = rows_in(rows_, at);
        if (first == end && !random_.one_in(10)) return;
        if (first != end && at.height > 0 && random_.chance(split_)) {
            const auto [left, right] = halves(at);
            add(left);
            add(right);
            return;
        }
        chunk_content content = content_in(rows_, at);
        open_ += content.bytes().size();
        plan_.add(piece::of(at, std::move(content)));
        REQUIRE(open_ <= most_); // of memory
    }
    void take(piece one) {
        open_ -= one.content.bytes().size();
        chunks_.push_back(std::move(one));
    }

    random_source& random_;
    const sample_rows& rows_;
    std::uint64_t most_;
    std::uint32_t split_ = 0;
    std::uint64_t open_ = 0;
    std::vector<piece> chunks_;
    chunk_plan plan_;
};

void require_same(const std::vector<piece>& found, const std::vector<piece>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i, expected[i].at.first, expected[i].at.height);
        REQUIRE(found[i].at == expected[i].at);
        REQUIRE(archive::same(found[i].content.bytes(), expected[i].content.bytes()));
        REQUIRE(found[i].content.objects() == expected[i].content.objects());
        REQUIRE(found[i].content.archived() == expected[i].content.archived());
        REQUIRE(found[i].root == expected[i].root);
    }
}

} // namespace

TEST_CASE("chunks are those of the definition, whatever the pieces were") {
    random_source random(test_seed(11));
    CAPTURE(random.seed());
    std::size_t most_chunks = 0;
    for (std::uint64_t i = 0; i < short_test_operations(2000); ++i) {
        CAPTURE(i);
        const sample_rows rows =
            random_rows(random, random.one_in(10) ? 1000 : 60, random.one_in(3) ? 400 : 20);
        const std::uint64_t most = 8 + random.below(random.one_in(2) ? 200 : 5000);
        std::vector<piece> expected;
        naive_cut(rows, {0, height_of(rows)}, most, expected);
        most_chunks = std::max(most_chunks, expected.size());
        for (const std::uint32_t split : {0U, 700U, 950U, 1000U}) {
            const node whole{0, random.one_in(2) ? 32 : height_of(rows)};
            CAPTURE(split, whole.height, most);
            require_same(random_planning(random, rows, most).run(whole, split), expected);
        }
    }
    REQUIRE(most_chunks > 50);
}

TEST_CASE("a tree is as high as the state root's") {
    for (unsigned bit = 0; bit < 32; ++bit)
        for (const std::uint32_t id : {(1U << bit) - 1, 1U << bit}) {
            CAPTURE(id);
            REQUIRE(tree_height(id) == height_of({{id, {}}}));
        }
    REQUIRE(tree_height(highest_id) == 32);
}

TEST_CASE("a change in few rows changes few chunks") {
    random_source random(test_seed(12));
    CAPTURE(random.seed());
    sample_rows rows;
    for (std::uint32_t id = 0; id < 20'000; ++id)
        rows[id] = {random_bytes(random, 20)};
    constexpr std::uint64_t most = 4096;
    std::vector<piece> before;
    naive_cut(rows, {0, height_of(rows)}, most, before);
    rows[777].record.push_back({});
    rows.erase(15'000);
    const std::vector<piece> after =
        random_planning(random, rows, most).run({0, height_of(rows)}, 900);
    std::size_t changed = 0;
    for (const piece& one : after)
        changed += std::ranges::none_of(before, [&](const piece& old) {
            return archive::same(old.content.bytes(), one.content.bytes());
        });
    REQUIRE(before.size() > 100);
    REQUIRE(changed <= 4);
}

TEST_CASE("pieces that do not rise are refused") {
    const auto piece_at = [](node at) {
        chunk_content content;
        content.add({at.first, {}});
        return piece::of(at, std::move(content));
    };
    chunk_plan plan([](const piece&) {});
    plan.add(piece_at({16, 4}));
    REQUIRE_THROWS_AS(plan.add(piece_at({16, 4})), usage_error);
    REQUIRE_THROWS_AS(plan.add(piece_at({31, 0})), usage_error);
    REQUIRE_THROWS_AS(plan.add(piece_at({0, 4})), usage_error);
    REQUIRE_THROWS_AS(plan.add({{33, 1}, {}, {}}), usage_error);
    REQUIRE_NOTHROW(plan.add(piece_at({32, 5})));
    chunk_content elsewhere;
    elsewhere.add({70, {}});
    REQUIRE_THROWS_AS(piece::of({64, 1}, elsewhere), damaged_error);
}

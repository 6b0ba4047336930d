// The engine that the chain bench holds chainbase against must do its work: random changes in
// nested sessions that are undone, squashed and committed agree with copies of a std::map, and its
// views find what the map has. Both ways to keep hashed keys.

#include <tools/bench/baselines/classical_database.hpp>
#include <tools/bench/bench_setup.hpp>

#include <boost/describe/class.hpp>
#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>

#include <map>
#include <random>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::bench;

namespace {

struct by_title;
struct by_score;

struct paper {
    chainbase::id<paper> id;
    shared_string title;
    std::int64_t score = 0;
    shared_string note;

    using keys =
        chainbase::keys<hashed_unique<by_title, &paper::title>,
                        chainbase::ordered_unique<by_score, descending<&paper::score>, &paper::id>>;
};
BOOST_DESCRIBE_STRUCT(paper, (), (id, title, score, note))

/// A type that no change is about: sessions touch it all the same.
struct bystander {
    chainbase::id<bystander> id;
    std::uint32_t value = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(bystander, (), (id, value))

/// What an object is in the model.
struct content {
    std::string title;
    std::int64_t score;
    std::string note;

    friend bool operator==(const content&, const content&) = default;
};
using papers = std::map<std::uint32_t, content>;

constexpr std::size_t segment_bytes = std::size_t{64} << 20;

/// The database beside a model that copies everything at each session's start.
template <hashed_keys Hashed>
class checked_database {
public:
    explicit checked_database(std::uint64_t seed)
        : state_(scratch_.path(), segment_bytes), random_(seed) {
        state_.template add_type<paper>("paper");
        state_.template add_type<bystander>("bystander");
    }

    void change_objects() {
        for (int i = 0; i < 5; ++i)
            change_one();
    }

    void change_session() {
        switch (random_() % 5) {
        case 0:
        case 1:
            return start();
        case 2:
            return undo();
        case 3:
            return squash();
        default:
            return commit();
        }
    }

    [[nodiscard]] bool agrees() const {
        std::size_t seen = 0;
        for (const paper& one : state_.template objects<paper>()) {
            const auto at = now_.find(one.id.value);
            if (at == now_.end() || at->second != content_of(one)) return false;
            if (state_.find(one.id) != &one || found(one.title.view()) != &one) return false;
            ++seen;
        }
        return seen == now_.size() && state_.template count<paper>() == seen &&
               state_.template next_id<paper>().value == next_id_ &&
               state_.revision() == committed_ + static_cast<std::int64_t>(before_.size()) &&
               state_.committed_revision() <= state_.revision() && is_in_order();
    }

private:
    static content content_of(const paper& one) {
        return {std::string(one.title.view()), one.score, std::string(one.note.view())};
    }
    [[nodiscard]] const paper* found(std::string_view title) const {
        return state_.template find<paper, by_title>(title);
    }
    [[nodiscard]] bool is_in_order() const {
        const auto by_rank = state_.template view<paper, by_score>();
        std::size_t seen = 0;
        const paper* before = nullptr;
        for (const paper& one : by_rank) {
            if (before && before->score < one.score) return false;
            before = &one;
            ++seen;
        }
        return seen == now_.size();
    }

    void change_one() {
        const auto number = next_id_ == 0 ? 0 : static_cast<std::uint32_t>(random_() % next_id_);
        if (now_.size() < 40 && random_() % 3 == 0)
            create();
        else if (now_.contains(number))
            random_() % 3 == 0 ? remove(number) : modify(number);
    }
    void create() {
        const content value{"title " + std::to_string(next_id_),
                            static_cast<std::int64_t>(random_() % 100), "made"};
        state_.template create<paper>([&](paper& one) {
            one.title = value.title;
            one.score = value.score;
            one.note = value.note;
        });
        now_.emplace(next_id_++, value);
    }
    void modify(std::uint32_t number) {
        content& value = now_.at(number);
        value.score = static_cast<std::int64_t>(random_() % 100);
        value.note += "+";
        state_.modify(state_.get(id<paper>(number)), [&](paper& one) {
            one.score = value.score;
            one.note = value.note;
        });
    }
    void remove(std::uint32_t number) {
        state_.remove(state_.get(id<paper>(number)));
        now_.erase(number);
    }

    void start() {
        state_.start_session().push();
        before_.push_back({now_, next_id_});
    }
    void undo() {
        if (before_.empty()) return;
        state_.undo();
        std::tie(now_, next_id_) = before_.back();
        before_.pop_back();
    }
    void squash() {
        if (before_.empty()) return;
        state_.squash();
        before_.pop_back();
    }
    void commit() {
        if (before_.empty()) return;
        state_.commit(++committed_);
        before_.erase(before_.begin());
    }

    scratch_directory scratch_{std::filesystem::temp_directory_path()};
    classical_database<Hashed> state_;
    std::mt19937_64 random_;
    papers now_;
    std::uint32_t next_id_ = 0;
    std::int64_t committed_ = 0;
    std::vector<std::pair<papers, std::uint32_t>> before_;
};

template <hashed_keys Hashed>
void agree_with_model() {
    const std::uint64_t first = test::test_seed(1);
    for (std::uint64_t seed = first; seed < first + 10; ++seed) {
        INFO("seed " << seed);
        checked_database<Hashed> state(seed);
        for (int step = 0; step < 300; ++step) {
            state.change_objects();
            state.change_session();
            REQUIRE(state.agrees());
        }
    }
}

} // namespace

TEST_CASE("a classical database agrees with a model through nested sessions") {
    agree_with_model<hashed_keys::as_trees>();
    agree_with_model<hashed_keys::as_hashes>();
}

TEST_CASE("a classical database refuses what chainbase refuses, and sessions take it back") {
    const scratch_directory scratch(std::filesystem::temp_directory_path());
    classical_database<> state(scratch.path(), segment_bytes);
    state.add_type<paper>("paper");
    const paper& first = state.create<paper>([](paper& one) { one.title = "first"; });
    const auto make_again = [](paper& one) { one.title = "first"; };
    CHECK_THROWS_AS(state.create<paper>(make_again), duplicate_key_error);
    CHECK(state.next_id<paper>().value == 1);
    CHECK_THROWS_AS(state.get(id<paper>(1)), not_found_error);
    CHECK_THROWS_AS((state.get<paper, by_title>("second")), not_found_error);
    {
        auto session = state.start_session();
        CHECK_THROWS_AS(state.modify(first,
                                     [](paper& one) {
                                         one.score = 7;
                                         throw usage_error("half way");
                                     }),
                        usage_error);
    }
    CHECK(state.get(id<paper>(0)).score == 0);
    CHECK(state.revision() == 0);
    const paper& second = state.create<paper>([](paper& one) { one.title = "second"; });
    {
        auto session = state.start_session();
        const paper& third = state.create<paper>([](paper& one) { one.title = "third"; });
        CHECK_THROWS_AS(state.modify(third, make_again), duplicate_key_error);
        CHECK_THROWS_AS(state.modify(second, make_again), duplicate_key_error);
    }
    CHECK(state.get(id<paper>(1)).title.view() == "second");
    CHECK(state.get<paper, by_title>("first").id == id<paper>(0));
    CHECK(state.next_id<paper>().value == 2);
}

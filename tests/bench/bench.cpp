#include <tools/bench/baselines/classical_database.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/engines/stored_bank.hpp>
#include <tools/bench/measurements.hpp>

#include <boost/describe/class.hpp>
#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// The benchmark's other engines do their work: random changes in nested sessions that are undone,
/// squashed and committed agree with copies of a std::map; a bank comes to what was planned. And
/// the format of figures. tests/programs/test_bench.py tests the program's output.
using namespace chainbase;
using namespace chainbase::bench;
using chainbase::test::random_source;

namespace {

/// An engine beside a model that copies everything at each session's start. Engine has the
/// engine-specific parts: make, change, remove, start, undo, squash, commit and agrees.
template <class Engine>
class checked {
public:
    using content = typename Engine::content;

    explicit checked(std::uint64_t seed) : random_(seed) {}

    void change_objects() {
        for (int i = 0; i < 5; ++i)
            change_one();
    }
    void change_session() {
        switch (random_.below(5)) {
        case 0:
        case 1:
            engine_.start(committed_ + 1 + static_cast<std::int64_t>(before_.size()));
            return before_.push_back({now_, next_id_});
        case 2:
            if (before_.empty()) return;
            engine_.undo();
            std::tie(now_, next_id_) = before_.back();
            return before_.pop_back();
        case 3:
            if (before_.empty()) return;
            engine_.squash();
            return before_.pop_back();
        default:
            if (before_.empty()) return;
            engine_.commit(++committed_);
            before_.erase(before_.begin());
        }
    }
    [[nodiscard]] bool agrees() const {
        return engine_.agrees(now_, next_id_,
                              committed_ + static_cast<std::int64_t>(before_.size()));
    }

private:
    void change_one() {
        const std::uint32_t id = next_id_ == 0 ? 0 : random_.below(next_id_);
        const std::int64_t value = random_.below(100);
        if (now_.size() < 40 && random_.below(3) == 0) {
            now_.emplace(next_id_, engine_.make(next_id_, value));
            ++next_id_;
        } else if (now_.contains(id) && random_.below(3) == 0) {
            engine_.remove(id);
            now_.erase(id);
        } else if (now_.contains(id)) {
            engine_.change(id, now_.at(id), value);
        }
    }

    Engine engine_;
    random_source random_;
    std::map<std::uint32_t, content> now_;
    std::uint32_t next_id_ = 0;
    std::int64_t committed_ = 0;
    std::vector<std::pair<std::map<std::uint32_t, content>, std::uint32_t>> before_;
};

template <class Engine>
void check_engine(int steps) {
    const std::uint64_t first = test::new_seed();
    for (std::uint64_t seed = first; seed < first + 15; ++seed) {
        INFO("CHAINBASE_TEST_SEED=" << seed);
        checked<Engine> one(seed);
        for (int step = 0; step < steps; ++step) {
            one.change_objects();
            one.change_session();
            REQUIRE(one.agrees());
        }
    }
}

// --- the engine that whole chains are run on ---

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

/// A type that is never changed: sessions touch it anyway.
struct bystander {
    chainbase::id<bystander> id;
    std::uint32_t value = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(bystander, (), (id, value))

constexpr std::size_t segment_bytes = std::size_t{64} << 20;

template <hashed_keys Hashed>
class database_of_papers {
public:
    struct content {
        std::string title;
        std::int64_t score;
        std::string note;

        friend bool operator==(const content&, const content&) = default;
    };

    database_of_papers() {
        state_.template add_type<paper>("paper");
        state_.template add_type<bystander>("bystander");
    }
    content make(std::uint32_t id, std::int64_t score) {
        const content value{"title " + std::to_string(id), score, "made"};
        state_.template create<paper>([&](paper& one) {
            one.title = value.title;
            one.score = value.score;
            one.note = value.note;
        });
        return value;
    }
    void change(std::uint32_t id, content& known, std::int64_t score) {
        known.score = score;
        known.note += "+";
        state_.modify(state_.get(chainbase::id<paper>(id)), [&](paper& one) {
            one.score = known.score;
            one.note = known.note;
        });
    }
    void remove(std::uint32_t id) { state_.remove(state_.get(chainbase::id<paper>(id))); }
    void start(std::int64_t) { state_.start_session().push(); }
    void undo() { state_.undo(); }
    void squash() { state_.squash(); }
    void commit(std::int64_t revision) { state_.commit(revision); }

    [[nodiscard]] bool agrees(const std::map<std::uint32_t, content>& now, std::uint32_t next_id,
                              std::int64_t revision) const {
        std::size_t seen = 0;
        for (const paper& one : state_.template objects<paper>()) {
            const content found{std::string(one.title.view()), one.score,
                                std::string(one.note.view())};
            const auto at = now.find(one.id.value);
            if (at == now.end() || at->second != found) return false;
            if (state_.find(one.id) != &one) return false;
            if (state_.template find<paper, by_title>(one.title.view()) != &one) return false;
            ++seen;
        }
        return seen == now.size() && state_.template count<paper>() == seen &&
               state_.template next_id<paper>().value == next_id && state_.revision() == revision &&
               state_.committed_revision() <= revision && is_in_order(seen);
    }

private:
    [[nodiscard]] bool is_in_order(std::size_t all) const {
        const auto by_rank = state_.template view<paper, by_score>();
        std::size_t seen = 0;
        const paper* before = nullptr;
        for (const paper& one : by_rank) {
            if (before && before->score < one.score) return false;
            before = &one;
            ++seen;
        }
        return seen == all;
    }

    scratch_directory scratch_{std::filesystem::temp_directory_path()};
    classical_database<Hashed> state_{scratch_.path(), segment_bytes};
};

} // namespace

TEST_CASE("a classical database agrees with a model through nested sessions") {
    check_engine<database_of_papers<hashed_keys::as_trees>>(500);
    check_engine<database_of_papers<hashed_keys::as_hashes>>(300);
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

namespace {

using classical_bank = stored_bank<classical_database<hashed_keys::as_hashes>>;

/// What a bank has after these batches of a plan, of which `leave_out` transfers are not made.
bank_totals after_transfers(bank_plan& plan, std::size_t leave_out) {
    const scratch_directory scratch(std::filesystem::temp_directory_path());
    classical_bank bank(scratch.path(), segment_bytes);
    bank.open_accounts(plan.accounts());
    for (const std::uint32_t batch : {1U, 7U, 300U}) {
        const std::uint64_t number = plan.made();
        const std::vector<bank_transfer> all = plan.next(batch);
        bank.transfer(number, std::span(all).subspan(std::min(leave_out, all.size())));
    }
    return bank.reader()->totals(true);
}

} // namespace

TEST_CASE("a bank comes to the totals of its plan, and to others if a transfer is missing") {
    bank_plan plan(50);
    const bank_totals all = after_transfers(plan, 0);
    CHECK(all == plan.totals());
    CHECK(plan.totals().entries == 308);
    CHECK(plan.totals().accounts == 50);
    CHECK(plan.totals().money == 50 * bank_plan::first_balance);

    bank_plan again(50);
    const bank_totals fewer = after_transfers(again, 1);
    CHECK(again.totals() == plan.totals());
    CHECK(fewer.money == plan.totals().money);
    CHECK(fewer.entries == 305);
    CHECK(fewer.digest != plan.totals().digest);
}

TEST_CASE("totals of a bank tell who has what and which transfer was which") {
    const account_name one = crash_plan::name_of(1), two = crash_plan::name_of(2);
    const auto of_two = [&](std::int64_t first, std::int64_t second) {
        bank_totals sum;
        sum.add_account(two, second);
        sum.add_account(one, first);
        return sum;
    };
    CHECK(of_two(3, 4).money == of_two(4, 3).money);
    CHECK(of_two(3, 4) != of_two(4, 3));
    const auto of_entry = [](std::uint64_t number, const bank_transfer& entry) {
        bank_totals sum;
        sum.add_entry(number, entry);
        return sum;
    };
    CHECK(of_entry(0, {one, two, 5}) == of_entry(0, {one, two, 5}));
    CHECK(of_entry(0, {one, two, 5}) != of_entry(1, {one, two, 5}));
    CHECK(of_entry(0, {one, two, 5}) != of_entry(0, {one, two, 6}));
    CHECK(of_entry(0, {one, two, 5}) != of_entry(0, {two, one, 5}));
}

TEST_CASE("the transfers of a bank are between two accounts, the first ones more often") {
    constexpr std::uint32_t accounts = 1000, transfers = 20'000;
    std::map<std::string, std::uint32_t> ranks;
    for (std::uint32_t i = 0; i < accounts; ++i)
        ranks.emplace(crash_plan::name_of(i).view(), i);
    REQUIRE(ranks.size() == accounts);
    std::uint32_t in_first_half = 0;
    for (const bank_transfer& one : bank_plan(accounts).next(transfers)) {
        REQUIRE(one.from != one.to);
        REQUIRE(one.amount >= 1);
        REQUIRE(one.amount <= bank_plan::most_per_transfer);
        in_first_half += ranks.at(std::string(one.from.view())) < accounts / 2;
    }
    CHECK(in_first_half > transfers * 72 / 100); // three quarters
    CHECK(in_first_half < transfers * 78 / 100);
}

TEST_CASE("small figures are printed with three digits, large ones without decimals") {
    std::ostringstream out;
    print_rows(out, {{"heap", "squash", metric::ns, 0.00421, {}},
                     {"heap", "modify", metric::ns, 4.2149, {}},
                     {"heap", "create", metric::ns, 42.149, {}},
                     {"heap", "remove", metric::ns, 4214.9, {}},
                     {"heap", "iterate_by_id", metric::ns, 0, {}}});
    for (const char* figure : {" 0.00421 ", " 4.21 ", " 42.1 ", " 4215 ", " 0.0 "}) {
        INFO(out.str());
        CHECK(out.str().find(figure) != std::string::npos);
    }
}

// The stand-in that every goal is measured against must do its work: random changes in nested
// sessions that are undone, squashed and committed agree with copies of a std::map.

#include <tools/bench/baselines/classical_index.hpp>
#include <tools/bench/bench_setup.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <vector>

using namespace chainbase::bench;

namespace {

using state = std::map<std::uint64_t, account>;

bool same(const account& a, const account& b) {
    return a.id == b.id && a.name == b.name && a.balance == b.balance && a.voted == b.voted;
}

/// The index beside a model that copies everything at each session's start.
class checked_index {
public:
    explicit checked_index(std::uint64_t seed)
        : segment_({scratch_.path(), 1000, 1, true}), index_(segment_), random_(seed) {}

    void change_objects() {
        for (int i = 0; i < 5; ++i)
            change_one();
    }

    void change_session() {
        switch (random_() % 5) {
        case 0:
        case 1:
            start();
            break;
        case 2:
            undo();
            break;
        case 3:
            squash();
            break;
        default:
            commit();
            break;
        }
    }

    [[nodiscard]] bool agrees() const {
        std::size_t seen = 0;
        bool equal = true;
        index_.for_each_by_id(UINT32_MAX, [&](const account& object) {
            const auto at = now_.find(object.id);
            equal = equal && at != now_.end() && same(at->second, object);
            ++seen;
        });
        return equal && seen == now_.size();
    }

private:
    void change_one() {
        const std::uint64_t id = next_id_ == 0 ? 0 : random_() % next_id_;
        if (now_.size() < 40 && random_() % 3 == 0)
            create();
        else if (now_.contains(id))
            random_() % 3 == 0 ? remove(id) : modify(id);
    }
    void create() {
        account value;
        value.id = next_id_++;
        value.name = account_name("account-" + std::to_string(value.id));
        value.balance = static_cast<std::int64_t>(random_() % 100);
        index_.create(value);
        now_.emplace(value.id, value);
    }
    void modify(std::uint64_t id) {
        const auto write = [balance = random_() % 100](account& object) {
            object.balance = static_cast<std::int64_t>(balance);
            ++object.voted;
        };
        index_.modify(index_.handle_of(id), write);
        write(now_.at(id));
    }
    void remove(std::uint64_t id) {
        index_.remove(index_.handle_of(id));
        now_.erase(id);
    }

    void start() {
        index_.start_session(oldest_ + static_cast<std::int64_t>(before_.size()));
        before_.push_back({now_, next_id_});
    }
    void undo() {
        if (before_.empty()) return;
        index_.undo();
        std::tie(now_, next_id_) = before_.back();
        before_.pop_back();
    }
    void squash() {
        if (before_.empty()) return;
        index_.squash();
        before_.pop_back();
    }
    void commit() {
        if (before_.empty()) return;
        index_.commit(oldest_++);
        before_.erase(before_.begin());
    }

    scratch_directory scratch_{std::filesystem::temp_directory_path()};
    mapped_segment segment_;
    classical_index index_;
    std::mt19937_64 random_;
    state now_;
    std::uint64_t next_id_ = 0;
    std::int64_t oldest_ = 1;
    std::vector<std::pair<state, std::uint64_t>> before_;
};

} // namespace

TEST_CASE("the classical stand-in agrees with a model through nested sessions") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        INFO("seed " << seed);
        checked_index index(seed);
        for (int step = 0; step < 500; ++step) {
            index.change_objects();
            index.change_session();
            REQUIRE(index.agrees());
        }
    }
}

// Where nodes are, and how large their arrays are as children come and go: the smallest that they
// fit, or, so that a child that comes and goes does not move its node each time, the next one.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/told_tree.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr unsigned branches = state_root::branches_per_node;

/// A tree that is a root with leaves below it.
class root_alone {
public:
    root_alone() {
        std::array<bool, branches> found{};
        for (std::uint32_t id = 0; ids_.size() < branches; ++id) {
            bool& here = found[state_root::digit(told_.exists(0, id, 1).key, 0)];
            if (!here) ids_.push_back(id);
            here = true;
        }
    }
    /// With so many leaves; one at a time comes or goes.
    void have(unsigned count) {
        for (; now_ < count; ++now_)
            told_.update({told_.exists(0, ids_[now_], 1)});
        for (; now_ > count; --now_)
            told_.update({told_.gone(0, ids_[now_ - 1])});
        told_.require_right();
        told_.require_sound();
    }
    /// Of the root; nothing when there is none.
    [[nodiscard]] std::optional<unsigned> capacity() const {
        const auto root = told_.tree().nodes().root();
        if (!root) return std::nullopt;
        return root->capacity();
    }
    [[nodiscard]] unsigned nodes_made() const {
        unsigned all = 0;
        for (unsigned number = 0; number < state_root::capacities.size(); ++number)
            all += told_.tree().nodes().made(number);
        return all;
    }

private:
    scratch_folder folder_;
    database state_{folder_ / "state", quick_options()};
    told_tree told_{state_};
    std::vector<std::uint32_t> ids_; ///< each at another branch of the root
    unsigned now_ = 0;
};

} // namespace

TEST_CASE("a node that gets children has the smallest array that they fit") {
    root_alone tree;
    CHECK_FALSE(tree.capacity());
    const unsigned expected[] = {2, 2, 3, 5, 5, 7, 7, 8, 9, 11, 11, 16, 16, 16, 16, 16};
    for (unsigned count = 1; count <= branches; ++count) {
        CAPTURE(count);
        tree.have(count);
        CHECK(tree.capacity() == expected[count - 1]);
    }
}

TEST_CASE("a node that loses children keeps its array until it is two steps too large") {
    root_alone tree;
    tree.have(branches);
    const unsigned expected[] = {3, 3, 3, 7, 7, 7, 7, 9, 9, 16, 16, 16, 16, 16, 16, 16};
    for (unsigned count = branches; count >= 1; --count) {
        CAPTURE(count);
        tree.have(count);
        CHECK(tree.capacity() == expected[count - 1]);
    }
    tree.have(0);
    CHECK_FALSE(tree.capacity());
}

TEST_CASE("a node stays where it is while one child comes and goes") {
    for (unsigned count = 1; count < branches; ++count) {
        root_alone tree;
        tree.have(count + 1);
        const auto capacity = tree.capacity();
        const unsigned made = tree.nodes_made();
        for (int times = 0; times < 3; ++times) {
            CAPTURE(count, times);
            tree.have(count);
            CHECK(tree.capacity() == capacity);
            tree.have(count + 1);
            CHECK(tree.capacity() == capacity);
        }
        CHECK(tree.nodes_made() == made);
    }
}

TEST_CASE("a node that was let go is used again") {
    root_alone tree;
    tree.have(branches);
    tree.have(1);
    const unsigned made = tree.nodes_made();
    for (int times = 0; times < 3; ++times) {
        tree.have(branches);
        tree.have(1);
    }
    CHECK(tree.nodes_made() == made);
}

namespace {

unsigned digits_alike(const sha256_digest& first, const sha256_digest& second) {
    unsigned digits = 0;
    while (state_root::digit(first, digits) == state_root::digit(second, digits))
        ++digits;
    return digits;
}

} // namespace

TEST_CASE("there is a node where two leaves begin alike and at the root") {
    const scratch_folder folder;
    database state(folder / "state", quick_options());
    told_tree told(state);
    const auto key_of = [&](std::uint32_t id) { return told.exists(0, id, 1).key; };
    const auto shape = [&] { return state_root::tree_shape::of(told.tree().nodes()); };
    told.update({told.exists(0, 0, 1)});
    CHECK(shape().levels == 1);
    for (unsigned digits = 0; digits < 4; ++digits) {
        CAPTURE(digits);
        std::uint32_t id = 1;
        while (digits_alike(key_of(0), key_of(id)) != digits)
            ++id;
        told.update({told.exists(0, id, 1)});
        CHECK(shape().levels == digits + 1);
        CHECK(shape().leaves == 2);
        CHECK(shape().nodes_by_children[1] == digits);
        CHECK(shape().nodes_by_children[2] == 1);
        told.update({told.gone(0, id)});
        CHECK(shape().levels == 1);
        told.require_sound();
    }
}

TEST_CASE("the levels are those of the two leaves that are alike the longest") {
    const scratch_folder folder;
    database state(folder / "state", quick_options());
    told_tree told(state);
    for (std::uint32_t id = 0; id < 300; ++id) {
        told.update({told.exists(0, id, 1)});
        unsigned expected = 1;
        for (auto one = told.leaves().begin(); std::next(one) != told.leaves().end(); ++one)
            expected = std::max(expected, digits_alike(one->first, std::next(one)->first) + 1);
        REQUIRE(state_root::tree_shape::of(told.tree().nodes()).levels == expected);
    }
}

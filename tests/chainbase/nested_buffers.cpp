// Structs within objects, and vectors of strings and vectors, against a naive model, under undo,
// rollback and reopening; no buffer leaks, and none has two owners.

#include <chainbase/database.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/property.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>
#include <tests/support/temporary_folder.hpp>

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct key_weight {
    shared_string key;
    std::uint16_t weight = 0;
};
BOOST_DESCRIBE_STRUCT(key_weight, (), (key, weight))

struct authority {
    std::uint32_t threshold = 1;
    shared_vector<shared_string> accounts;
    shared_vector<key_weight> keys;
};
BOOST_DESCRIBE_STRUCT(authority, (), (threshold, accounts, keys))

struct member {
    chainbase::id<member> id;
    std::uint32_t number = 0;
    authority owner;
    std::array<shared_string, 2> contacts;
    shared_vector<shared_vector<std::uint32_t>> groups;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(member, (), (id, number, owner, contacts, groups))

/// A member's content in containers of the standard library.
struct plain_member {
    std::uint32_t number = 0;
    std::uint32_t threshold = 1;
    std::vector<std::string> accounts;
    std::vector<std::pair<std::string, std::uint16_t>> keys;
    std::array<std::string, 2> contacts;
    std::vector<std::vector<std::uint32_t>> groups;
    friend bool operator==(const plain_member&, const plain_member&) = default;
};

plain_member plain(const member& from) {
    plain_member to{from.number, from.owner.threshold, {}, {}, {}, {}};
    for (const shared_string& one : from.owner.accounts)
        to.accounts.emplace_back(one.view());
    for (const key_weight& one : from.owner.keys)
        to.keys.emplace_back(one.key.view(), one.weight);
    to.contacts = {std::string(from.contacts[0].view()), std::string(from.contacts[1].view())};
    for (const auto& group : from.groups)
        to.groups.emplace_back(group.begin(), group.end());
    return to;
}

std::string some_text() {
    // Inline lengths, every small class, the largest one and page runs.
    const auto length =
        *rc::gen::weightedOneOf<std::size_t>({{20, rc::gen::inRange<std::size_t>(0, 70)},
                                              {2, rc::gen::inRange<std::size_t>(1000, 5000)},
                                              {1, rc::gen::inRange<std::size_t>(65'000, 70'000)}});
    return std::string(length, *rc::gen::inRange('a', 'z'));
}

/// Applies the same change to both.
void change_some(member& in, plain_member& model) {
    const auto place = [](std::size_t size) { return *rc::gen::inRange<std::size_t>(0, size); };
    const std::string text = some_text();
    auto& accounts = in.owner.accounts;
    auto& keys = in.owner.keys;
    switch (*rc::gen::inRange(0, 16)) {
    case 0:
        accounts.emplace_back(text);
        model.accounts.push_back(text);
        break;
    case 1:
        if (model.accounts.empty()) break;
        {
            const std::size_t at = place(model.accounts.size());
            accounts.erase(accounts.begin() + at);
            model.accounts.erase(model.accounts.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
    case 2: {
        const std::size_t at = place(model.accounts.size() + 1);
        accounts.insert(accounts.begin() + at, text);
        model.accounts.insert(model.accounts.begin() + static_cast<std::ptrdiff_t>(at), text);
        break;
    }
    case 3:
        accounts = {};
        model.accounts.clear();
        break;
    case 4:
        accounts = {"alice", text, "bob"};
        model.accounts = {"alice", text, "bob"};
        break;
    case 5: // one of its own elements
        if (model.accounts.empty()) break;
        accounts.push_back(accounts.front());
        model.accounts.push_back(std::string(model.accounts.front()));
        break;
    case 6:
        keys.push_back({text, 7});
        model.keys.emplace_back(text, 7);
        break;
    case 7:
        keys.emplace_back(text, std::uint16_t{9});
        keys.pop_back();
        break;
    case 8:
        if (model.keys.empty()) break;
        {
            const std::size_t at = place(model.keys.size());
            keys.set(at, {text, 1});
            model.keys[at] = {text, 1};
        }
        break;
    case 9:
        in.owner = {};
        model.threshold = 1;
        model.accounts.clear();
        model.keys.clear();
        break;
    case 10:
        in.contacts[1] = text;
        model.contacts[1] = text;
        break;
    case 11:
        in.contacts = {};
        model.contacts = {};
        break;
    case 12:
        in.groups = std::vector<std::vector<std::uint32_t>>{{1, 2}, {}, {3}};
        model.groups = {{1, 2}, {}, {3}};
        break;
    case 13:
        in.groups.push_back({4U, 5U});
        model.groups.push_back({4, 5});
        break;
    case 14: { // of other elements in a non-contiguous range
        const std::list<std::string> all{text, "", text};
        accounts = all;
        model.accounts.assign(all.begin(), all.end());
        break;
    }
    default: // from a copy on the heap with its own memory
        authority copy = in.owner;
        copy.accounts.emplace_back(text);
        copy.keys.clear();
        in.owner = copy;
        model.accounts.push_back(text);
        model.keys.clear();
    }
}

std::string findings(const check::part_report& report) {
    std::string all;
    for (const check::finding& one : report.findings)
        all += one.file + ": " + one.what + '\n';
    for (const check::part_report& part : report.parts)
        all += findings(part);
    return all;
}

struct members {
    members() { open(); }
    void open() {
        db.reset();
        db.emplace(folder / "state", quick_options());
        db->add_type<member>("member");
    }
    [[nodiscard]] bool is_as(const std::vector<plain_member>& model) const {
        for (std::uint32_t n = 0; n < model.size(); ++n)
            if (plain(db->get(id<member>(n))) != model[n]) return false;
        return true;
    }
    std::string findings_when_closed() {
        db->close();
        db.reset();
        return findings(check::state_check(folder / "state").report());
    }

    scratch_folder folder;
    std::optional<database> db;
};

struct from_the_caller {};

} // namespace

TEST_CASE("nested strings and vectors are as a naive model has them, whatever is undone") {
    check_property(60, 60, [] {
        members s;
        std::vector<plain_member> model;
        const auto add = [&] {
            model.push_back({static_cast<std::uint32_t>(model.size()), 1, {}, {}, {}, {}});
            s.db->create<member>([&](member& one) {
                one.number = model.back().number;
                change_some(one, model.back());
                change_some(one, model.back());
            });
        };
        const auto change_one = [&] {
            const auto n =
                *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(model.size()));
            s.db->modify(s.db->get(id<member>(n)), [&](member& one) {
                change_some(one, model[n]);
                change_some(one, model[n]);
            });
        };
        for (int i = 0; i < 3; ++i)
            add();
        const auto rounds = *rc::gen::inRange(1, 12);
        for (int round = 0; round < rounds; ++round) {
            const auto model_before = model;
            const snapshot before(s.db->memory());
            auto session = s.db->start_session();
            const auto steps = *rc::gen::inRange(1, 12);
            for (int step = 0; step < steps; ++step)
                *rc::gen::inRange(0, 6) == 0 ? add() : change_one();
            RC_ASSERT(s.is_as(model));
            for (const auto& change : s.db->changes(session.revision()).of<member>())
                if (change.before)
                    RC_ASSERT(plain(*change.before) == model_before[change.id.value]);
            if (*rc::gen::arbitrary<bool>()) {
                session.push();
                s.db->commit(s.db->revision());
            } else {
                session.undo();
                model = model_before;
                RC_ASSERT(snapshot(s.db->memory()) == before);
            }
            RC_ASSERT(s.is_as(model));
        }
        s.open();
        RC_ASSERT(s.is_as(model));
        if (*rc::gen::arbitrary<bool>()) s.db->remove(s.db->get(id<member>(1)));
        RC_ASSERT(s.findings_when_closed() == "");
    });
}

TEST_CASE(
    "all buffers of an object are free once it is removed, with its type's objects or alone") {
    members s;
    const auto live = [&] { return s.db->memory().buffers().measure().slots_live; };
    const auto fill = [](member& one) {
        one.owner.accounts = {"alice", "bob", std::string(100'000, 'x')};
        one.owner.keys = {{"key", 1}, {"other key", 2}};
        one.contacts = {"mail", "phone"};
        one.groups = {{1, 2}, {3}};
    };
    const auto nothing = live();
    const member& one = s.db->create<member>(fill);
    s.db->create<member>(fill);
    s.db->modify(one, [&](member& m) {
        fill(m); // assigns twice within one operation
        fill(m);
    });
    s.db->remove(one);
    CHECK(live() > nothing);
    s.db->clear<member>();
    CHECK(live() == nothing);
}

TEST_CASE("a change of nested buffers that fails half way leaves no buffer and no difference") {
    members s;
    const member& one =
        s.db->create<member>([](member& m) { m.owner.keys = {{"key", 1}, {"other", 2}}; });
    const snapshot before(s.db->memory());
    CHECK_THROWS_AS(s.db->modify(one,
                                 [](member& m) {
                                     m.owner.keys.emplace_back("third", std::uint16_t{3});
                                     m.owner.accounts = {"a", "b"};
                                     throw from_the_caller();
                                 }),
                    from_the_caller);
    CHECK(snapshot(s.db->memory()) == before);
    CHECK_THROWS_AS(s.db->modify(one, [](member& m) { m.owner.keys.erase(m.owner.keys.end()); }),
                    usage_error);
    CHECK(snapshot(s.db->memory()) == before);
    CHECK(s.findings_when_closed() == "");
}

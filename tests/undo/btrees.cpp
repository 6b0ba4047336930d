// B+-trees below a log, against a map: entries, places, undo to the last bit, and damaged words.

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree.hpp>
#include <undo/undo_log.hpp>

#include <catch2/catch.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

struct key_order {
    bool operator()(const btree_wanted& a, const btree_wanted& b) const {
        return a.bits != b.bits ? a.bits < b.bits : a.whole < b.whole;
    }
};

/// A tree beside a log, each in a window of its own. The keys of objects are in a vector.
struct lone_tree final : btree_keys {
    explicit lone_tree(std::size_t key_bits) : bits(key_bits) {
        operation change(log, 0);
        btree::initialise(file, bits);
        change.complete();
    }

    [[nodiscard]] btree_key read(slot_number slot) const override { return key_in(slot).bits; }
    [[nodiscard]] std::string read_whole(slot_number slot) const override {
        return key_in(slot).whole;
    }
    [[nodiscard]] const btree_wanted& key_in(slot_number slot) const {
        if (slot == 0 || slot >= keys.size()) throw damaged_error("slot " + std::to_string(slot));
        return keys[slot];
    }
    void prefetch(slot_number) const noexcept override {}

    void insert(const btree_wanted& key, slot_number slot) {
        if (keys.size() <= slot) keys.resize(slot + 1);
        const btree_wanted before = std::exchange(keys[slot], key);
        operation change(log, 0);
        const slot_number taken = tree().insert(key, slot);
        if (taken != 0) keys[slot] = before;
        REQUIRE(taken == (model.contains(key) ? model.at(key) : 0));
        change.complete();
        model.emplace(key, slot);
    }
    void erase(slot_number slot) {
        operation change(log, 0);
        tree().erase(keys[slot], slot);
        change.complete();
        model.erase(keys[slot]);
    }
    /// To another key, unless that is taken.
    void move(slot_number slot, const btree_wanted& key) {
        const btree_wanted before = std::exchange(keys[slot], key);
        if (!key_order()(before, key) && !key_order()(key, before)) return;
        operation change(log, 0);
        const slot_number taken = tree().move(before, key, slot);
        REQUIRE(taken == (model.contains(key) ? model.at(key) : 0));
        if (taken != 0) { // rolled back
            keys[slot] = before;
            return;
        }
        change.complete();
        model.erase(before);
        model.emplace(key, slot);
    }
    void require_sound() {
        tree().check([](std::uint32_t node, const std::string& what) {
            FAIL_CHECK("node " << node << ": " << what);
        });
        REQUIRE(tree().size() == model.size());
        auto expected = model.begin();
        for (btree::place at = tree().begin(); at.leaf != 0; at = tree().next(at), ++expected)
            REQUIRE(tree().slot_at(at) == expected->second);
        REQUIRE(expected == model.end());
        for (btree::place at = tree().previous({}); at.leaf != 0; at = tree().previous(at))
            REQUIRE(tree().slot_at(at) == (--expected)->second);
        REQUIRE(expected == model.begin());
    }
    /// Searches for the key itself, which may be in no object.
    void require_found(const btree_wanted& key) {
        const auto slot_after = [&](auto place) {
            return place == model.end() ? 0 : place->second;
        };
        const auto slot_of = [&](btree::place at) {
            return at.leaf == 0 ? slot_number{0} : tree().slot_at(at);
        };
        REQUIRE(tree().find(key) == (model.contains(key) ? model.at(key) : 0));
        REQUIRE(slot_of(tree().lower_bound(key)) == slot_after(model.lower_bound(key)));
        REQUIRE(slot_of(tree().upper_bound(key)) == slot_after(model.upper_bound(key)));
    }
    [[nodiscard]] std::vector<std::byte> image() const {
        const btree_state& words = btree::state_in(file);
        std::vector<std::byte> bytes(file.root(), file.root() + sizeof words);
        const auto* nodes = file.base() + window_header::page_bytes;
        bytes.insert(bytes.end(), nodes, nodes + words.nodes.high_water * sizeof(btree_node));
        return bytes;
    }
    [[nodiscard]] btree_node& node(std::uint32_t number) const {
        return *reinterpret_cast<btree_node*>(file.base() + window_header::page_bytes +
                                              number * sizeof(btree_node));
    }
    [[nodiscard]] double bytes_an_entry() const {
        const btree_state& words = btree::state_in(file);
        return static_cast<double>(words.nodes.live * sizeof(btree_node)) / words.size;
    }
    btree& tree() {
        if (!tree_) tree_.emplace(file, *this, bits, &log);
        return *tree_;
    }

    const std::size_t bits;
    scratch_folder folder;
    address_space addresses{std::size_t{64} << 20, 2};
    window log_file = window::create({&addresses, 0}, folder / "log", undo_log::geometry);
    undo_log log{addresses, log_file, true};
    window file = window::create({&addresses, 1}, folder / "tree", btree::geometry);
    std::vector<btree_wanted> keys{1};
    std::map<btree_wanted, slot_number, key_order> model;

private:
    std::optional<btree> tree_;
};

btree_key key_of(std::uint64_t first, std::uint64_t second = 0) {
    return {first, second};
}

/// A key of any length, of letters.
btree_wanted text_of(std::string text) {
    return btree_wanted(std::move(text.append(1, 0)));
}

/// Kinds of keys, and how a random one is made.
struct kind {
    const char* name;
    std::size_t bits;
    std::function<btree_wanted(random_source&)> make;
};

std::vector<kind> kinds() {
    return {
        {"numbers", 64, [](random_source& random) { return key_of(random.next()); }},
        {"few numbers", 32,
         [](random_source& random) { return key_of(random.next() >> 54 << 32); }},
        {"balance and id", 96,
         [](random_source& random) { return key_of(random.below(20), random.next() >> 32 << 32); }},
        {"names", 128,
         [](random_source& random) {
             btree_key key = key_of(0x7573'6572'3030'3030, 0);
             for (int digit = 0; digit < 4; ++digit)
                 key[1] |= std::uint64_t{0x30 + random.below(10)} << (56 - 8 * digit);
             return key;
         }},
        {"the last bits of many", 512,
         [](random_source& random) {
             btree_key key;
             key.fill(0xAAAA'AAAA'AAAA'AAAA);
             key[7] = random.below(3000);
             return key;
         }},
        {"one bit of many", 320,
         [](random_source& random) {
             btree_key key{};
             for (int bits = 0; bits < 2; ++bits)
                 key[random.below(5)] |= std::uint64_t{1} << random.below(64);
             return key;
         }},
        {"texts", btree::any_length,
         [](random_source& random) {
             std::string text;
             for (std::uint32_t n = random.below(60); n != 0; --n)
                 text += static_cast<char>('a' + random.below(2));
             return text_of(text);
         }},
        {"texts that begin alike", btree::any_length,
         [](random_source& random) {
             const std::string beginning(random.chance(800) ? 40 : 30, 'x');
             return text_of(beginning + std::to_string(random.below(3000)));
         }},
    };
}

} // namespace

TEST_CASE_METHOD(seeded, "a tree has what a map has, whatever its keys are") {
    for (const kind& of : kinds()) {
        INFO(of.name);
        lone_tree s(of.bits);
        std::vector<slot_number> live;
        std::vector<slot_number> free;
        slot_number next = 1;
        const std::uint64_t steps = short_test_operations(12'000);
        for (std::uint64_t step = 0; step < steps; ++step) {
            const bool grows = step / (steps / 6) % 2 == 0;
            if (live.empty() || random.chance(grows ? 750 : 200)) {
                const slot_number slot = free.empty() ? next++ : free.back();
                const btree_wanted key = of.make(random);
                const bool is_new = !s.model.contains(key);
                s.insert(key, slot);
                if (!is_new) {
                    if (free.empty()) --next;
                    continue;
                }
                if (!free.empty()) free.pop_back();
                live.push_back(slot);
            } else {
                std::swap(live[random.below(static_cast<std::uint32_t>(live.size()))], live.back());
                s.erase(live.back());
                free.push_back(live.back());
                live.pop_back();
            }
            if (!live.empty() && random.chance(300)) s.move(live.back(), of.make(random));
            s.require_found(of.make(random));
            if (step % 1000 == 0) s.require_sound();
        }
        s.require_sound();
        while (!live.empty()) {
            s.erase(live.back());
            live.pop_back();
        }
        s.require_sound();
        CHECK(btree::state_in(s.file).nodes.live == 1);
    }
}

TEST_CASE_METHOD(seeded, "what is undone or fails leaves every node as it was") {
    for (const kind& of : kinds()) {
        INFO(of.name);
        lone_tree s(of.bits);
        for (slot_number slot = 1; slot < 800; ++slot)
            s.insert(of.make(random), slot);
        for (int round = 0; round < 30; ++round) {
            const auto before = s.image();
            const auto model = s.model;
            const auto keys = s.keys;
            const std::uint32_t sessions = 1 + random.below(3);
            for (std::uint32_t n = 0; n < sessions; ++n)
                s.log.push_session(s.log.start_session());
            for (std::uint32_t n = 0; n < 150; ++n) {
                if (random.chance(500) || s.model.empty()) {
                    s.insert(of.make(random), 1000 + n);
                } else {
                    auto one = s.model.begin();
                    std::advance(one, random.below(static_cast<std::uint32_t>(s.model.size())));
                    s.erase(one->second);
                }
                if (random.chance(900)) continue;
                const auto image = s.image();
                {
                    const operation fails(s.log, 0);
                    for (std::uint32_t i = 0; i < 40; ++i) {
                        s.keys.resize(3000);
                        s.keys[2000 + i] = of.make(random);
                        const bool is_in = s.tree().insert(s.keys[2000 + i], 2000 + i) == 0;
                        if (is_in && random.chance(400)) s.tree().erase(s.keys[2000 + i], 2000 + i);
                    }
                }
                REQUIRE(s.image() == image);
            }
            s.require_sound();
            for (std::uint32_t n = 1; n < sessions && random.chance(500); ++n)
                s.log.squash();
            while (s.log.has_session())
                s.log.undo();
            s.model = model;
            s.keys = keys;
            REQUIRE(s.image() == before);
        }
    }
}

TEST_CASE_METHOD(seeded, "searches that take turns find what each finds alone") {
    lone_tree s(96);
    for (slot_number slot = 1; slot < 5000; ++slot)
        s.insert(key_of(random.below(200), random.next() >> 32 << 32), slot);
    std::vector<btree::search> all;
    for (slot_number slot = 1; slot < 5000; slot += 50)
        all.push_back(s.tree().start(s.keys[slot]));
    for (bool more = true; more;) {
        more = false;
        for (btree::search& one : all)
            more = s.tree().step(one) || more;
    }
    for (btree::search& one : all) {
        s.tree().finish(one);
        REQUIRE(one.found == s.model.at(one.key.bits));
        CHECK(s.tree().place_of(one.key, one.found) == s.tree().lower_bound(one.key));
    }
}

TEST_CASE_METHOD(seeded, "a compacted tree has no free node, and its file ends behind the last") {
    for (const kind& of : kinds()) {
        INFO(of.name);
        lone_tree s(of.bits);
        for (slot_number slot = 1; slot < 6000; ++slot)
            s.insert(of.make(random), slot);
        for (slot_number slot = 1; slot < 6000; ++slot)
            if (s.model.contains(s.keys[slot]) && s.model.at(s.keys[slot]) == slot &&
                random.chance(900))
                s.erase(slot);
        const btree_state& words = btree::state_in(s.file);
        const std::uint32_t before = words.nodes.live;
        for (std::uint32_t leaf = s.tree().begin().leaf; leaf != 0;) {
            operation change(s.log, 0);
            leaf = s.tree().join_leaves(leaf);
            change.complete();
            s.require_sound();
        }
        const std::uint32_t live = words.nodes.live;
        CHECK((live < before || before < 20));
        operation sort(s.log, 0);
        auto free = s.tree().sort_free_nodes();
        sort.complete();
        for (bool more = true; more;) {
            operation change(s.log, 0);
            more = s.tree().fill_free_nodes(free);
            change.complete();
            s.require_sound();
        }
        s.tree().trim();
        CHECK(words.nodes.live == live);
        CHECK(words.nodes.high_water == live);
        CHECK(s.file.bytes() < window_header::page_bytes * (2 + live / 8 + 1));
        const usage used = btree::measure(s.file);
        CHECK(used.slack <= used.total);
        CHECK(used.header + used.links + used.slack + used.punched == used.total);
        for (slot_number slot = 1; slot < 500; ++slot)
            s.insert(of.make(random), slot + 10'000);
        s.require_sound();
    }
}

TEST_CASE("the bytes of an empty tree are all told, once") {
    const lone_tree s(96);
    const usage used = btree::measure(s.file);
    CHECK((used.header == used.total && used.slack == 0 && used.links == 0));
}

TEST_CASE_METHOD(seeded, "an object that moves takes its entry with it") {
    lone_tree s(96);
    for (slot_number slot = 1; slot < 1000; ++slot)
        s.insert(key_of(random.below(20), random.next() >> 32 << 32), slot);
    for (slot_number slot = 1; slot < 1000; ++slot) {
        s.keys.push_back(s.keys[slot]);
        operation change(s.log, 0);
        s.tree().replace(s.keys[slot], slot, static_cast<slot_number>(s.keys.size() - 1));
        change.complete();
        s.model[s.keys[slot]] = static_cast<slot_number>(s.keys.size() - 1);
    }
    s.require_sound();
    operation change(s.log, 0);
    CHECK_THAT(message_of<damaged_error>([&] { s.tree().erase(s.keys[1], 1); }),
               Contains("/tree: node ") && Contains("slot 1") &&
                   Contains("chainbase-inspect check"));
}

// Goals of the tree's design: bytes of nodes for each entry, whatever order they come in.
TEST_CASE_METHOD(seeded, "leaves are as full as the order of the inserts allows") {
    constexpr slot_number count = 60'000;
    const auto bytes_of = [&](auto&& key) {
        lone_tree s(96);
        for (slot_number slot = 1; slot <= count; ++slot)
            s.insert(key(slot), slot);
        s.require_sound();
        return s.bytes_an_entry();
    };
    CHECK(bytes_of([](slot_number slot) { return key_of(slot); }) < 9.1);
    CHECK(bytes_of([](slot_number slot) { return key_of(count - slot); }) < 9.5);
    CHECK(bytes_of([&](slot_number slot) {
              return key_of(random.next(), std::uint64_t{slot} << 32);
          }) < 13.5);
    CHECK(bytes_of([&](slot_number slot) { // of each of many owners 30 in a row
              return key_of((slot / 30) * 0x9E37'79B9'7F4A'7C15U, std::uint64_t{slot} << 32);
          }) < 16);
    lone_tree s(96);
    for (slot_number slot = 1; slot <= count; ++slot)
        s.insert(key_of(random.next(), std::uint64_t{slot} << 32), slot);
    for (slot_number slot = 1; slot <= count; ++slot) { // all are replaced
        s.erase(slot);
        s.insert(key_of(random.next(), std::uint64_t{slot} << 32), slot);
    }
    CHECK(s.bytes_an_entry() < 15.5);
    for (slot_number slot = 1; slot <= count; ++slot)
        if (slot % 16 != 0) s.erase(slot);
    s.require_sound();
    CHECK(s.bytes_an_entry() < 32);
}

TEST_CASE_METHOD(seeded,
                 "a flipped bit of a tree is an error where it leads astray, and is found") {
    const bool has_ties = GENERATE(false, true);
    lone_tree s(has_ties ? btree::any_length : 96);
    const auto make = [&](slot_number slot) -> btree_wanted {
        if (has_ties) return text_of(std::string(32, 'x') + std::to_string(slot * 7919));
        return key_of(random.below(50), std::uint64_t{slot} << 32);
    };
    for (slot_number slot = 1; slot <= 4000; ++slot)
        s.insert(make(slot), slot);
    unsigned refused = 0;
    const auto attempt = [&](auto&& work) {
        try {
            operation change(s.log, 0); // rolled back
            work();
        } catch (const damaged_error&) {
            ++refused;
        }
    };
    const auto findings = [&] {
        unsigned found = 0;
        s.tree().check([&](std::uint32_t, const std::string&) { ++found; });
        return found;
    };
    const auto image = s.image();
    const auto compact_all = [](lone_tree& of) { // each leaf is looked at once, or joined
        std::uint32_t leaf = of.tree().begin().leaf;
        for (int parts = 0; leaf != 0; ++parts) {
            if (parts > 100) throw mismatch("leaves follow each other for ever");
            leaf = of.tree().join_leaves(leaf);
        }
        auto free = of.tree().sort_free_nodes();
        while (of.tree().fill_free_nodes(free)) {
        }
    };
    btree_state& words = btree::state_in(s.file);
    std::vector<std::uint32_t> nodes{words.first, words.last, words.root, words.nodes.live / 2};
    for (const std::uint32_t number : nodes) {
        btree_node& node = s.node(number);
        const slot_number near = node.level == 0 ? s.tree().slot_at({number, 0}) : 1;
        auto* const bytes = reinterpret_cast<unsigned char*>(&node);
        const std::size_t entries = (has_ties ? 48 : 32) + 8 * std::size_t{node.begin};
        for (std::size_t at = 0; at < sizeof node; ++at) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                INFO("node " << number << ", level " << int{node.level} << ", byte " << at
                             << ", bit " << bit);
                bytes[at] ^= static_cast<unsigned char>(1U << bit);
                const bool is_used = at < 7 || (at >= 8 && at < 24) ||
                                     (at >= entries && at < entries + 8 * std::size_t{node.count});
                if (node.level == 0 && is_used) REQUIRE(findings() != 0);
                attempt([&] { static_cast<void>(s.tree().find(s.keys[near])); });
                attempt([&] { s.tree().erase(s.keys[near], near); });
                attempt([&] { s.tree().replace(s.keys[near], near, 4001); });
                attempt([&] {
                    const btree_wanted from = std::exchange(s.keys[near], make(5000));
                    const auto back = [&](void*) { s.keys[near] = from; };
                    const std::unique_ptr<void, decltype(back)> restored(&s, back);
                    static_cast<void>(s.tree().move(from, s.keys[near], near));
                });
                attempt([&] { compact_all(s); });
                attempt([&] {
                    btree::place place = s.tree().lower_bound(s.keys[near]);
                    for (int n = 0; n < 100 && place.leaf != 0; ++n)
                        place = s.tree().previous(place);
                });
                attempt([&] {
                    s.keys.resize(4002);
                    s.keys[4001] = s.keys[near];
                    if (has_ties)
                        s.keys[4001] = text_of(std::string(32, 'x') + "5");
                    else
                        s.keys[4001].bits[1] += std::uint64_t{1} << 31;
                    s.tree().insert(s.keys[4001], 4001);
                });
                attempt([&] {
                    btree::place place = s.tree().lower_bound(s.keys[near]);
                    for (int n = 0; n < 100 && place.leaf != 0; ++n)
                        place = s.tree().next(place);
                });
                bytes[at] ^= static_cast<unsigned char>(1U << bit);
            }
        }
    }
    CHECK(s.image() == image);
    CHECK(refused > 1000);
    for (std::uint32_t* word : {&words.root, &words.levels, &words.first, &words.last, &words.size,
                                &words.nodes.live, &words.nodes.high_water, &words.nodes.free_head})
        for (unsigned bit = 0; bit < 20; ++bit) {
            *word ^= 1U << bit;
            INFO("word " << word - &words.nodes.free_head << ", bit " << bit);
            const bool is_bound = word == &words.nodes.high_water || word == &words.nodes.free_head;
            if (!is_bound) REQUIRE(findings() != 0);
            attempt([&] { s.tree().erase(s.keys[7], 7); });
            attempt([&] { compact_all(s); });
            *word ^= 1U << bit;
        }
}

#pragma once

#include <tests/support/modelled_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::test {

/// What a test knows of a sample type in plain terms, without the engine's key machinery: how to
/// fill it in, how to change it, which unique keys two objects share, and when two are the same.
/// Keys are drawn from a small `domain`, so that they collide.
template <typename T>
struct rules;

inline std::string short_name(random_source& random, std::uint32_t domain) {
    return std::string("n").append(std::to_string(random.below(domain)));
}

template <>
struct rules<account> {
    static constexpr const char* name = "account";

    static void fill(account& a, random_source& r, std::uint32_t domain) {
        change_value(a, r);
        change_key(a, r, domain);
        a.name = std::string_view(short_name(r, domain));
        a.number = r.below(domain);
    }
    static void change_value(account& a, random_source& r) { a.visits = r.below(1000); }
    static void change_key(account& a, random_source& r, std::uint32_t domain) {
        const std::uint32_t which = r.below(15) + 1;
        if (which & 1) a.name = std::string_view(short_name(r, domain));
        if (which & 2) a.number = r.below(domain);
        if (which & 4) a.balance = static_cast<std::int64_t>(r.below(20)) - 10;
        if (which & 8) a.group = r.below(8);
    }
    static bool same(const account& a, const account& b) {
        return a.id == b.id && a.name.view() == b.name.view() && a.balance == b.balance &&
               a.number == b.number && a.group == b.group && a.visits == b.visits;
    }
    static std::vector<std::string> collisions(const account& a, const account& b) {
        std::vector<std::string> keys;
        if (a.name.view() == b.name.view()) keys.emplace_back("by_name");
        if (a.number == b.number) keys.emplace_back("by_number");
        return keys;
    }
    static void add_to(digest& d, const account& a) {
        d.add(a.name.view());
        d.add(a.balance);
        d.add(a.number);
        d.add(a.group);
        d.add(a.visits);
    }
};

template <>
struct rules<post> {
    static constexpr const char* name = "post";

    static void fill(post& p, random_source& r, std::uint32_t domain) {
        change_value(p, r);
        p.author = short_name(r, 6);
        p.permlink = "a-permlink-longer-than-a-slot-" + short_name(r, domain);
        p.body = random_text(r);
    }
    static void change_value(post& p, random_source& r) {
        p.likes = r.below(1000);
        if (r.chance(500)) {
            const std::vector<std::uint32_t> votes(r.below(30), r.below(100));
            p.votes = std::span<const std::uint32_t>(votes);
        }
    }
    static void change_key(post& p, random_source& r, std::uint32_t domain) {
        const std::uint32_t which = r.below(7) + 1;
        if (which & 1) p.author = short_name(r, 6);
        if (which & 2) p.permlink = "a-permlink-longer-than-a-slot-" + short_name(r, domain);
        if (which & 4) p.body = r.chance(300) ? std::string("the same") : random_text(r);
    }
    static bool same(const post& a, const post& b) {
        return a.id == b.id && a.likes == b.likes && a.author.view() == b.author.view() &&
               a.permlink.view() == b.permlink.view() && a.body.view() == b.body.view() &&
               std::equal(a.votes.begin(), a.votes.end(), b.votes.begin(), b.votes.end());
    }
    static std::vector<std::string> collisions(const post& a, const post& b) {
        if (a.author.view() == b.author.view() && a.permlink.view() == b.permlink.view())
            return {"by_link", "by_address"};
        return {};
    }
    static void add_to(digest& d, const post& p) {
        d.add(p.likes);
        d.add(p.author.view());
        d.add(p.permlink.view());
        d.add(p.body.view());
        for (const std::uint32_t vote : p.votes)
            d.add(vote);
    }
};

template <>
struct rules<stake> {
    static constexpr const char* name = "stake";

    static void fill(stake& s, random_source& r, std::uint32_t domain) {
        change_value(s, r);
        change_key(s, r, domain);
        s.owner = r.below(5);
        s.score = r.below(domain);
    }
    static void change_value(stake& s, random_source& r) { s.age = r.below(1000); }
    static void change_key(stake& s, random_source& r, std::uint32_t domain) {
        const std::uint32_t which = r.below(7) + 1;
        if (which & 1) s.owner = r.below(5);
        if (which & 2) s.score = r.below(domain);
        if (which & 4) s.weight = r.below(12);
    }
    static bool same(const stake& a, const stake& b) {
        return a.id == b.id && a.owner == b.owner && a.score == b.score && a.weight == b.weight &&
               a.age == b.age;
    }
    static std::vector<std::string> collisions(const stake& a, const stake& b) {
        if (a.score == b.score && a.owner == b.owner) return {"by_score"};
        return {};
    }
    static void add_to(digest& d, const stake& s) {
        d.add(s.owner);
        d.add(s.score);
        d.add(s.weight);
        d.add(s.age);
    }
};

template <>
struct rules<marker> {
    static constexpr const char* name = "marker";

    static void fill(marker& m, random_source& r, std::uint32_t) { change_value(m, r); }
    static void change_value(marker& m, random_source& r) {
        m.low = r.below(1000);
        m.high = r.next();
    }
    static void change_key(marker& m, random_source& r, std::uint32_t) { change_value(m, r); }
    static bool same(const marker& a, const marker& b) {
        return a.id == b.id && a.low == b.low && a.high == b.high;
    }
    static std::vector<std::string> collisions(const marker&, const marker&) { return {}; }
    static void add_to(digest& d, const marker& m) {
        d.add(m.low);
        d.add(m.high);
    }
};

template <>
struct rules<token> {
    static constexpr const char* name = "token";

    static void fill(token& t, random_source& r, std::uint32_t domain) {
        change_value(t, r);
        t.code = r.below(domain);
        t.kind = r.below(6);
    }
    static void change_value(token& t, random_source& r) { t.amount = r.below(1000); }
    static void change_key(token& t, random_source& r, std::uint32_t domain) {
        const std::uint32_t which = r.below(3) + 1;
        if (which & 1) t.code = r.below(domain);
        if (which & 2) t.kind = r.below(6);
    }
    static bool same(const token& a, const token& b) {
        return a.id == b.id && a.code == b.code && a.kind == b.kind && a.amount == b.amount;
    }
    static std::vector<std::string> collisions(const token& a, const token& b) {
        if (a.code == b.code) return {"by_code"};
        return {};
    }
    static void add_to(digest& d, const token& t) {
        d.add(t.code);
        d.add(t.kind);
        d.add(t.amount);
    }
};

template <>
struct rules<label> {
    static constexpr const char* name = "label";

    static void fill(label& l, random_source& r, std::uint32_t domain) {
        change_value(l, r);
        change_key(l, r, domain);
    }
    static void change_value(label& l, random_source& r) { l.uses = r.below(1000); }
    static void change_key(label& l, random_source& r, std::uint32_t domain) {
        l.text =
            r.chance(900) ? "a label that needs a buffer " + short_name(r, domain) : random_text(r);
    }
    static bool same(const label& a, const label& b) {
        return a.id == b.id && a.uses == b.uses && a.text.view() == b.text.view();
    }
    static std::vector<std::string> collisions(const label& a, const label& b) {
        if (a.text.view() == b.text.view()) return {"by_text"};
        return {};
    }
    static void add_to(digest& d, const label& l) {
        d.add(l.uses);
        d.add(l.text.view());
    }
};

} // namespace chainbase::test

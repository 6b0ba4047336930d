#pragma once

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>
#include <tests/support/modelled_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace chainbase::test {

/// What a test knows of a sample type in plain terms, without the engine's key machinery: how to
/// fill it in, how to change it, and which unique keys two objects share. Keys are drawn from a
/// small `domain`, so that they collide.
template <typename T>
struct rules;

/// Calls visit(member of a, member of b) for every member but the id, texts as views.
template <typename T, typename Visitor>
void each_value(const T& a, const T& b, Visitor&& visit) {
    const auto plain = [](const auto& value) -> decltype(auto) {
        if constexpr (requires { value.view(); })
            return value.view();
        else
            return (value);
    };
    using members = boost::describe::describe_members<T, boost::describe::mod_public>;
    boost::mp11::mp_for_each<members>([&](auto member) {
        if constexpr (!std::is_same_v<std::remove_cv_t<decltype(member.pointer)>, id<T> T::*>)
            visit(plain(a.*member.pointer), plain(b.*member.pointer));
    });
}

template <typename T>
bool is_same(const T& a, const T& b) {
    bool is_equal = a.id == b.id;
    each_value(a, b, [&](const auto& x, const auto& y) {
        if constexpr (requires { x == y; })
            is_equal = is_equal && x == y;
        else
            is_equal = is_equal && std::ranges::equal(x, y);
    });
    return is_equal;
}

template <typename T>
void add_values(digest& to, const T& object) {
    each_value(object, object, [&](const auto& value, const auto&) {
        if constexpr (requires { to.add(value); })
            to.add(value);
        else
            for (const auto& part : value)
                to.add(part);
    });
}

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
    static std::vector<std::string> collisions(const account& a, const account& b) {
        std::vector<std::string> keys;
        if (a.name.view() == b.name.view()) keys.emplace_back("by_name");
        if (a.number == b.number) keys.emplace_back("by_number");
        return keys;
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
    static std::vector<std::string> collisions(const post& a, const post& b) {
        if (a.author.view() == b.author.view() && a.permlink.view() == b.permlink.view())
            return {"by_link", "by_address"};
        return {};
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
    static std::vector<std::string> collisions(const stake& a, const stake& b) {
        if (a.score == b.score && a.owner == b.owner) return {"by_score"};
        return {};
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
    static std::vector<std::string> collisions(const marker&, const marker&) { return {}; }
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
    static std::vector<std::string> collisions(const token& a, const token& b) {
        if (a.code == b.code) return {"by_code"};
        return {};
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
    static std::vector<std::string> collisions(const label& a, const label& b) {
        if (a.text.view() == b.text.view()) return {"by_text"};
        return {};
    }
};

template <>
struct rules<holding> {
    static constexpr const char* name = "holding";

    static void fill(holding& h, random_source& r, std::uint32_t domain) {
        change_value(h, r);
        change_key(h, r, domain);
        h.symbol = std::string_view(short_name(r, domain));
    }
    static void change_value(holding& h, random_source& r) { h.age = r.below(1000); }
    static void change_key(holding& h, random_source& r, std::uint32_t domain) {
        const std::uint32_t which = r.below(7) + 1;
        if (which & 1) h.symbol = std::string_view(short_name(r, domain));
        if (which & 2) h.amount = static_cast<std::int64_t>(r.below(40)) - 20;
        if (which & 4) h.holder = r.below(6);
    }
    static std::vector<std::string> collisions(const holding& a, const holding& b) {
        if (a.symbol.view() == b.symbol.view()) return {"by_symbol"};
        return {};
    }
};

} // namespace chainbase::test

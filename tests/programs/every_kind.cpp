// Two types that have every kind of member and of key between them, with values at the edges, for
// test_every_kind.py:
//
//     every_kind DIR [process] STEP...     opens the state (with checkpoints, unless it is for the
//                                          process alone), takes the steps, prints JSON lines
//
// What a step does is in script::take.
#include <archive/lifecycle.hpp>
#include <archive/open_archive.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 vast;

namespace every_kind {

using namespace chainbase;
using namespace std::string_literals;

enum class hue : std::uint8_t {};
enum class mood : std::int16_t {};

/// Described; its order is the program's own.
struct place {
    std::int32_t x = 0;
    std::uint8_t y = 0;
    friend bool operator==(const place&, const place&) = default;
    friend bool operator<(const place& a, const place& b) { return a.y < b.y; }
};
BOOST_DESCRIBE_STRUCT(place, (), (x, y))

struct inner {
    shared_string name;
    place at;
    std::array<shared_string, 2> pair;
    shared_vector<shared_string> words;
    shared_vector<std::uint64_t> numbers;
};
BOOST_DESCRIBE_STRUCT(inner, (), (name, at, pair, words, numbers))

/// Not described; compared and hashed by its last digit.
struct opaque {
    std::uint32_t number = 0;
    friend bool operator==(opaque a, opaque b) { return a.number % 10 == b.number % 10; }
};
void hash_append(keyed_hash& to, const opaque& value) {
    to.add(std::uint64_t{value.number % 10});
}

struct without_case {
    static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
    bool operator()(std::string_view a, std::string_view b) const {
        return std::ranges::lexicographical_compare(a, b, {}, lower, lower);
    }
};

struct gauge;
struct thing;
std::size_t words_of(const thing&);

/// Every kind of member that a record of the archive can hold.
struct thing {
    chainbase::id<thing> id;
    bool yes = false;
    hue colour{};
    mood temper{};
    char letter = 0;
    std::int8_t i8 = 0;
    std::uint8_t u8 = 0;
    std::int16_t i16 = 0;
    std::uint16_t u16 = 0;
    std::int32_t i32 = 0;
    std::uint32_t u32 = 0;
    std::int64_t i64 = 0;
    std::uint64_t u64 = 0;
    wide i128 = 0;
    vast u128 = 0;
    fixed_string<16> name;
    fixed_bytes<20> digest;
    std::array<std::uint8_t, 4> octets{};
    std::array<std::int16_t, 3> triple{};
    std::array<fixed_string<8>, 2> tags;
    std::array<std::array<bool, 2>, 2> grid{};
    place at;
    shared_string title;
    shared_string memo; // any bytes
    shared_bytes raw;
    shared_vector<std::int64_t> numbers;
    shared_vector<wide> wides;
    shared_vector<shared_string> words;
    shared_vector<shared_vector<std::uint16_t>> lists;
    shared_vector<place> places;
    shared_vector<inner> inners;
    std::array<inner, 2> two;
    inner alone;
    chainbase::id<gauge> measured;
    chainbase::id<thing> other;

    [[nodiscard]] std::size_t length() const { return title.size(); }

    using keys = chainbase::keys<
        hashed_unique<struct by_name, &thing::name>,
        btree_unique<struct by_name_order, &thing::name>,
        hashed_unique<struct by_title, &thing::title, &thing::u128>,
        ranked_unique<struct by_title_back, descending<&thing::title>, &thing::id>,
        hashed_non_unique<struct by_memo, &thing::memo>,
        btree_unique<struct by_digest, descending<&thing::digest>>,
        btree_unique<struct by_wide, descending<&thing::i128>>,
        hashed_unique<struct by_vast, &thing::u128>,
        ranked_non_unique<struct by_octets, &thing::octets>,
        btree_non_unique<struct by_triple, descending<&thing::triple>>,
        hashed_non_unique<struct by_tags, &thing::tags>,
        btree_non_unique<struct by_tags_order, &thing::tags>,
        btree_unique<struct by_title_flat, descending<&thing::title>, &thing::u128>,
        btree_non_unique<struct by_memo_flat, &thing::memo>,
        hashed_non_unique<struct by_place, &thing::at>,
        ordered_non_unique<struct by_numbers, &thing::numbers>,
        hashed_non_unique<struct by_words, &thing::words>,
        ordered_non_unique<struct by_raw, &thing::raw>,
        ranked_non_unique<struct by_kind, &thing::yes, descending<&thing::colour>, &thing::temper,
                          &thing::letter>,
        btree_non_unique<struct by_small, &thing::i8, descending<&thing::u8>, &thing::i16,
                         descending<&thing::u16>, &thing::i32, descending<&thing::u32>>,
        btree_unique<struct by_large, &thing::i64, descending<&thing::u64>, &thing::i128,
                     descending<&thing::u128>>,
        hashed_non_unique<struct by_other, &thing::other>,
        hashed_unique<struct by_all, &thing::yes, &thing::colour, &thing::temper, &thing::letter,
                      &thing::i8, &thing::i16, &thing::i32, &thing::i64, &thing::i128, &thing::name,
                      &thing::title, &thing::digest, &thing::octets, &thing::measured>,
        ordered_non_unique<struct by_no_case, compared_by<&thing::name, without_case>>,
        ordered_non_unique<struct by_length, &thing::length>,
        ordered_non_unique<struct by_count, words_of>,
        ordered_non_unique<struct by_hue_then_sum, &thing::colour,
                           [](const auto& a) { return a.i8 + a.i16; }>,
        ranked_non_unique<struct by_place_order, &thing::at>,
        hashed_non_unique<struct by_parity, [](const auto& a) { return a.u64 % 2; }>>;
    using archived_by =
        archive::tags<by_name, by_title, by_title_back, by_digest, by_wide, by_vast, by_octets,
                      by_triple, by_tags_order, by_kind, by_small, by_large, by_all>;
};
BOOST_DESCRIBE_STRUCT(thing, (),
                      (id, yes, colour, temper, letter, i8, u8, i16, u16, i32, u32, i64, u64, i128,
                       u128, name, digest, octets, triple, tags, grid, at, title, memo, raw,
                       numbers, wides, words, lists, places, inners, two, alone, measured, other))

std::size_t words_of(const thing& of) {
    return of.words.size();
}

/// What no record can hold.
struct gauge {
    chainbase::id<gauge> id;
    float single = 0;
    double real = 0;
    std::array<double, 2> reals{};
    shared_vector<float> singles;
    opaque hidden;
    chainbase::id<thing> of;

    using keys =
        chainbase::keys<ordered_non_unique<struct by_single, &gauge::single>,
                        ranked_unique<struct by_real, descending<&gauge::real>, &gauge::id>,
                        ordered_non_unique<struct by_reals, &gauge::reals>,
                        hashed_non_unique<struct by_hidden, &gauge::hidden>,
                        btree_non_unique<struct by_thing, &gauge::of>>;
};
BOOST_DESCRIBE_STRUCT(gauge, (), (id, single, real, reals, singles, hidden, of))

/// Sets a value of any kind to the n-th one: the largest, the least, others of which some are equal
/// but for 128 bits, digests and names.
template <typename V>
void set(V& to, std::uint32_t n) {
    using limits = std::numeric_limits<V>;
    static const std::vector<std::string> texts = {
        "",           "Sixteen letters!",
        "a\"b\\c\nd", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
        "-7",         "--json",
        "true",       "Plain",
        "0x00",       std::string(100'000, 'x'),
        "a, b",       "Plain"};
    if constexpr (std::is_same_v<V, std::byte>) {
        to = std::byte(n * 37);
    } else if constexpr (std::is_same_v<V, bool>) {
        to = n % 2 == 1;
    } else if constexpr (std::is_enum_v<V>) {
        std::underlying_type_t<V> number{};
        set(number, n);
        to = V(number);
    } else if constexpr (std::is_floating_point_v<V>) {
        const V edges[] = {0,      limits::max(),      limits::lowest(),    limits::denorm_min(),
                           V(0.1), limits::infinity(), -limits::infinity(), V(7.038531e-26F)};
        to = edges[n % std::size(edges)];
    } else if constexpr (chainbase::detail::is_wide<V>) {
        constexpr vast all = ~vast{0};
        constexpr bool is_signed = std::is_same_v<V, wide>;
        const V bits = static_cast<V>((vast{n} << 70) + 7);
        to = n == 1   ? static_cast<V>(is_signed ? all >> 1 : all)
             : n == 2 ? static_cast<V>(is_signed ? ~(all >> 1) : 0)
                      : static_cast<V>(n % 2 == 0 ? bits : -bits);
    } else if constexpr (std::is_integral_v<V>) {
        const std::int64_t few = n % 2 == 0 ? n : -std::int64_t{n % 5};
        to = n == 1 ? limits::max() : n == 2 ? limits::min() : static_cast<V>(few);
    } else if constexpr (chainbase::detail::is_id_like<V>) {
        to = n % 2 == 0 ? V::none() : V(n / 3);
    } else if constexpr (std::is_same_v<V, fixed_string<16>>) { // no two are the same
        const bool is_edge = n < texts.size() && n != 7 && V::fits(texts[n]);
        to = is_edge ? texts[n] : "Name " + std::to_string(n);
    } else if constexpr (std::is_assignable_v<V&, std::string>) {
        const std::string& text = texts[n % texts.size()];
        to = sizeof(V) == 8 && !std::is_base_of_v<shared_buffer, V> && text.size() > 8 ? "8 bytes!"
                                                                                       : text;
    } else if constexpr (std::is_base_of_v<shared_buffer, V>) {
        std::vector<typename V::value_type> all(n % 4);
        for (auto& one : all)
            set(one, n++);
        to = all;
    } else if constexpr (chainbase::detail::is_described<V>) {
        boost::mp11::mp_for_each<chainbase::detail::members_of<V>>([&](auto member) {
            if (std::string_view(member.name) != "id") set(to.*member.pointer, n);
        });
    } else if constexpr (std::is_same_v<V, opaque>) {
        to.number = n * 7;
    } else {
        for (std::size_t i = 0; i < to.size(); ++i)
            set(to[i], n++);
    }
}

class script {
public:
    script(const std::filesystem::path& state, bool has_checkpoints)
        : db_(state, has_checkpoints ? test::with_checkpoints() : test::quick_options()) {
        db_.add_type<thing>("thing");
        db_.add_type<gauge>("gauge");
        rows_ = archive::open_archive(db_, state / "archive");
        things_.emplace(db_, *rows_, "thing");
    }
    ~script() {
        rows_->flush();
        while (!sessions_.empty())
            sessions_.pop_back();
    }

    void take(const std::string& step) {
        const std::string what = step.substr(0, step.find(' '));
        const std::uint32_t n = what == step ? 0 : std::stoi(step.substr(what.size()));
        if (what == "fill") { // N of each type
            for (std::uint32_t i = 0; i < n; ++i)
                create(i);
        } else if (what == "change") { // makes a new one of each type, changes N, removes N + 1
            create(n + 40);
            change<thing>(n);
            change<gauge>(n);
        } else if (what == "session") {
            sessions_.push_back(db_.start_session());
        } else if (what == "push" || what == "undo") {
            what == "push" ? sessions_.back().push() : sessions_.back().undo();
            sessions_.pop_back();
        } else if (what == "checkpoint") {
            db_.make_checkpoint();
        } else if (what == "retire") { // 0 to N - 1
            for (std::uint32_t i = 0; i < n; ++i)
                if (const thing* one = db_.find(id<thing>(i))) things_->retire(*one);
        } else if (what == "commit") {
            db_.commit(db_.revision());
        } else if (what == "hand_over") {
            std::cout << things_->hand_over(db_.committed_revision()) << std::endl;
        } else if (what == "say") {
            constexpr const char* ways[] = {"created", "attached", "rolled_back", "restored"};
            archive::state_digest digest;
            digest.add(*things_);
            std::cout << "[\"" << ways[static_cast<int>(db_.opened().how)] << "\",\""
                      << digest.hex("thing") << "\"]" << std::endl;
        } else if (what == "orders") {
            orders<thing>("{", "thing");
            orders<gauge>(",", "gauge");
            std::cout << '}' << std::endl;
        } else if (what == "wait") { // for a line
            std::cout << "\"ready\"" << std::endl;
            std::cin.get();
        }
    }

private:
    void create(std::uint32_t n) {
        things_->create([&](thing& one) {
            set(one, n);
            if (n % 3 == 1) one.memo = "zero \0 and \xff"s + std::to_string(n);
            if (n % 3 == 2) one.memo = "[a,b]";
        });
        db_.create<gauge>([&](gauge& one) { set(one, n); });
    }
    template <typename T>
    void change(std::uint32_t n) {
        db_.modify(db_.get(id<T>(n)), [&](T& one) { set(one, n + 41); });
        db_.remove(db_.get(id<T>(n + 1)));
    }
    template <typename T>
    void orders(const char* before, const char* type) {
        boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, typename T::keys>>(
            [&](auto each) {
                using key = typename decltype(each)::type;
                if constexpr (!is_hashed(key::kind)) {
                    std::cout << before << '"' << type << '.' << key_name<key>() << "\":[";
                    before = ",";
                    const char* between = "";
                    for (const T& one : db_.view<T, typename key::tag>()) {
                        std::cout << between << one.id.value;
                        between = ",";
                    }
                    std::cout << ']';
                }
            });
    }

    database db_;
    std::unique_ptr<archive::store> rows_;
    std::optional<archive::lifecycle<thing>> things_;
    std::vector<session> sessions_;
};

} // namespace every_kind

int main(int count, char** all) try {
    spdlog::set_default_logger(spdlog::stderr_logger_mt("every_kind")); // stdout has answers
    const std::vector<std::string> steps(all + 2, all + count);
    every_kind::script script(all[1], steps.empty() || steps[0] != "process");
    for (const std::string& step : steps)
        script.take(step);
    return 0;
} catch (const std::exception& error) {
    std::cerr << "every_kind: " << error.what() << '\n';
    return 1;
}

// Makes and changes states for the tests of programs, which open what they look at by no other way.
//
//     sample_state make WHAT DIR       a whole state; "make" alone lists what there is
//     sample_state do DIR [NAME=VALUE]... TYPE,... STEP...
//                                      opens the state, takes the steps and closes it; "-" takes
//                                      further ones from stdin, a line each, and answers each one
//     sample_state write DIR           changes the state "sample" at random until stdin ends
//     sample_state walk DIR SEED STEPS END [checkpoints]
//                                      a random walk over all sample types, checked against a model
//     sample_state rows DIR STEP...    changes the rows of an archive beside its state
//
// What a step does is in script::take.
#include <archive/committed_state.hpp>
#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>
#include <archive/state_digest.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/database.hpp>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <fcntl.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/world.hpp>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

namespace {

using words = std::vector<std::string>;

// --- types beside the sample types ---

struct quoted_price {
    std::int16_t amount = 0;
    std::uint64_t unit = 0;
    bool fixed = false;
};
BOOST_DESCRIBE_STRUCT(quoted_price, (), (amount, unit, fixed))

enum class side : std::uint8_t { buy, sell };

struct by_place;
struct by_height;

/// Every kind of field that a record of the archive can hold, keys of arrays and small numbers, and
/// no hashed key.
struct everything {
    chainbase::id<everything> id;
    bool yes = false;
    side what = side::buy;
    std::int8_t tiny = 0;
    std::uint16_t small = 0;
    std::int64_t low = 0;
    std::uint64_t high = 0;
    fixed_string<16> name;
    shared_string text;
    shared_vector<std::uint8_t> blob;
    shared_vector<std::int32_t> numbers;
    shared_vector<quoted_price> prices;
    std::array<std::uint8_t, 4> place{};
    std::array<std::uint32_t, 3> parts{};
    std::array<quoted_price, 2> pair{};
    std::array<std::array<std::uint16_t, 2>, 2> grid{};
    quoted_price one;
    chainbase::id<everything> other;

    using keys = chainbase::keys<ordered_unique<by_place, &everything::place, &everything::id>,
                                 ranked_non_unique<by_height, descending<&everything::tiny>>>;
};
BOOST_DESCRIBE_STRUCT(everything, (),
                      (id, yes, what, tiny, small, low, high, name, text, blob, numbers, prices,
                       place, parts, pair, grid, one, other))

/// What no record of the archive can hold.
struct measured {
    chainbase::id<measured> id;
    float single = 0;
    double real = 0;
    shared_vector<double> reals;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(measured, (), (id, single, real, reals))

/// One of 60 types: with an ordered key, a hashed one, or none.
template <std::size_t N>
struct numbered {
    chainbase::id<numbered> id;
    std::uint32_t visits = 0;
    std::uint64_t number = 0;
    shared_string text;
    using keys = std::tuple_element_t<
        N % 3, std::tuple<chainbase::keys<ordered_unique<by_number, &numbered::number>>,
                          chainbase::keys<hashed_unique<by_number, &numbered::number>>,
                          chainbase::keys<>>>;
    BOOST_DESCRIBE_CLASS(numbered, (), (id, visits, number, text), (), ())
};

/// What a state root records in the place of that name, and something else.
struct foreign {
    chainbase::id<foreign> id;
    std::uint64_t height = 0;
    std::array<std::uint8_t, sizeof(state_root::recorded_root) - 16> others{};
    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(foreign, (), (id, height, others))

/// An archived type with an enum, which the catalogue calls by its integer.
struct graded {
    chainbase::id<graded> id;
    side how = side::sell;
    fixed_string<16> title;
    using keys = chainbase::keys<hashed_unique<by_title, &graded::title>>;
    using archived_by = archive::tags<by_title>;
};
BOOST_DESCRIBE_STRUCT(graded, (), (id, how, title))

/// What a later version of a program could make of `token` and `label`: fields that are wider, new,
/// gone and renamed, and other keys.
struct later_token {
    chainbase::id<later_token> id;
    std::uint64_t code = 0;
    std::uint32_t sort = 0; // was kind
    std::int32_t added = 0; // amount is gone
    using keys = chainbase::keys<ordered_unique<by_code, descending<&later_token::code>>>;
};
BOOST_DESCRIBE_STRUCT(later_token, (), (id, code, sort, added))

struct later_label {
    chainbase::id<later_label> id;
    std::uint16_t uses = 0; // narrower
    shared_string text;
    using keys = chainbase::keys<hashed_unique<by_text, &later_label::text>>;
};
BOOST_DESCRIBE_STRUCT(later_label, (), (id, uses, text))

// --- objects of a number ---

void fill(account& one, std::uint32_t number) {
    one.name = std::string_view(std::to_string(number));
    one.number = number;
    one.group = number % 7;
}
void fill(post& one, std::uint32_t number) {
    one.author = "author-" + std::to_string(number % 10);
    one.permlink = "permlink-" + std::to_string(number);
    one.body = "nothing to say";
    one.likes = static_cast<std::uint32_t>(one.body.size());
}
void fill(stake& one, std::uint32_t number) {
    one.owner = number % 6;
    one.score = number;
    one.weight = number % 3;
}
void fill(token& one, std::uint32_t number) {
    one.code = number;
    one.kind = number % 6;
}
void fill(marker& one, std::uint32_t number) {
    one.low = number;
}
void fill(label& one, std::uint32_t number) {
    one.text = "label " + std::to_string(number);
}
void fill(holding& one, std::uint32_t number) {
    one.symbol = std::string_view("symbol " + std::to_string(number));
    one.amount = number * 7919 % 1000;
    one.holder = number % 6;
}
void fill(note& one, std::uint32_t number) {
    one.author = "author";
    one.title = "title " + std::to_string(number);
    one.weight = number;
    const std::uint32_t marks[] = {7, number};
    one.marks = std::span<const std::uint32_t>(marks);
}
void fill(graded& one, std::uint32_t number) {
    one.title = std::string_view("title " + std::to_string(number));
}
template <typename T>
void fill(T&, std::uint32_t) {}

/// Gives a field a value that is written as text.
template <typename T>
void set(T& object, const std::string& field, const std::string& value) {
    bool is_set = false;
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access>>(
        [&](auto member) {
            if (field != member.name) return;
            auto& place = object.*member.pointer;
            using type = std::remove_reference_t<decltype(place)>;
            if constexpr (std::is_floating_point_v<type>)
                place = static_cast<type>(std::stod(value));
            else if constexpr (std::is_arithmetic_v<type>)
                place = static_cast<type>(std::stoll(value));
            else if constexpr (std::is_assignable_v<type&, std::string_view>)
                place = std::string_view(value);
            else
                throw std::runtime_error("no way to set " + field);
            is_set = true;
        });
    if (!is_set) throw std::runtime_error("no field " + field);
}

/// What steps do to the objects of a type.
struct type_handler {
    virtual ~type_handler() = default;
    virtual void add_to(database& db, const std::string& name) const = 0;
    virtual void create(database& db) const = 0;
    virtual bool remove(database& db, std::uint32_t number) const = 0;
    virtual void clear(database& db) const = 0;
    virtual void set_field(database& db, std::uint32_t number, const std::string& field,
                           const std::string& value, bool dies) const = 0;
    virtual std::size_t count(const database& db) const = 0;
    virtual void add_to(archive::committed_state& root, const std::string& name) const = 0;
    virtual void add_to(archive::state_digest& digest, const database& db,
                        const std::string& name) const = 0;
};

template <typename T>
struct handler_of : type_handler {
    void add_to(database& db, const std::string& name) const override { db.add_type<T>(name); }
    void create(database& db) const override {
        db.create<T>([](T& one) { fill(one, one.id.value); });
    }
    bool remove(database& db, std::uint32_t number) const override {
        const T* const found = db.find(id<T>(number));
        if (found != nullptr) db.remove(*found);
        return found != nullptr;
    }
    void clear(database& db) const override { db.clear<T>(); }
    void set_field(database& db, std::uint32_t number, const std::string& field,
                   const std::string& value, bool dies) const override {
        db.modify(db.get(id<T>(number)), [&](T& one) {
            set(one, field, value);
            if (dies) ::raise(SIGKILL);
        });
    }
    std::size_t count(const database& db) const override { return db.count<T>(); }
    void add_to(archive::committed_state& root, const std::string& name) const override {
        if constexpr (!std::is_same_v<T, measured>) root.add<T>(name);
    }
    void add_to(archive::state_digest& digest, const database& db,
                const std::string& name) const override {
        if constexpr (!std::is_same_v<T, measured>) digest.add<T>(db, name);
    }
};

template <typename T>
std::unique_ptr<type_handler> make_handler() {
    return std::make_unique<handler_of<T>>();
}

using handler_maker = std::unique_ptr<type_handler> (*)();
const std::map<std::string, handler_maker> known_types = {
    {"account", make_handler<account>},
    {"post", make_handler<post>},
    {"stake", make_handler<stake>},
    {"token", make_handler<token>},
    {"marker", make_handler<marker>},
    {"label", make_handler<label>},
    {"holding", make_handler<holding>},
    {"note", make_handler<note>},
    {"graded", make_handler<graded>},
    {"everything", make_handler<everything>},
    {"measured", make_handler<measured>},
    {"type.5", make_handler<numbered<5>>},
    {"token@later", make_handler<later_token>}, // the type "token" of a later version
    {"label@later", make_handler<later_label>},
    {"coin@later", make_handler<later_token>},
    {state_root::recorded_root::type_name, make_handler<foreign>},
    {"state_root.tree", make_handler<foreign>}}; // of an earlier version

template <typename T, typename Tag>
words order_of(const database& db) {
    words ids;
    for (const T& one : db.view<T, Tag>())
        ids.push_back(std::to_string(one.id.value));
    return ids;
}
const std::map<std::string, words (*)(const database&)> known_orders = {
    {"account by_name", order_of<account, by_name>},
    {"account by_balance", order_of<account, by_balance>},
    {"account by_group", order_of<account, by_group>},
    {"account by_distance", order_of<account, by_distance>},
    {"post by_link", order_of<post, by_link>},
    {"post by_body", order_of<post, by_body>},
    {"stake by_score", order_of<stake, by_score>},
    {"stake by_weight", order_of<stake, by_weight>}};

std::string json_list(const words& items) {
    std::string text = "[";
    for (const std::string& one : items)
        text += (text.size() > 1 ? "," : "") + one;
    return text + "]";
}

words split(const std::string& text, char at) {
    words parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);)
        parts.push_back(part);
    return parts;
}

// --- steps ---

struct settings {
    std::map<std::string, std::string> values;

    [[nodiscard]] std::string of(const std::string& name, const std::string& usual = "") const {
        const auto found = values.find(name);
        return found == values.end() ? usual : found->second;
    }
    [[nodiscard]] open_options options() const {
        open_options how = quick_options();
        if (of("mode") == "ro") how.mode = open_mode::read_only;
        if (of("durability") == "checkpoint") {
            how.durability = durability::checkpoint;
            how.checkpoints = {std::chrono::milliseconds(0), 0};
        }
        how.sync = of("sync") == "1";
        how.memory_folder = of("memory");
        how.readers_group = of("group");
        return how;
    }
};

/// An open state, and what steps do with it.
class script {
public:
    script(const fs::path& state, const settings& with, const words& types)
        : db_(state, with.options()) {
        for (const std::string& name : types) {
            handlers_[name] = known_types.at(name)();
            handlers_[name]->add_to(db_, name.substr(0, name.find('@')));
        }
        if (const std::string kind = with.of("archive"); !kind.empty()) {
            rows_ = archive::open_archive(db_, state / "archive", archive::store_kind_of(kind));
            if (handlers_.contains("note"))
                notes_.emplace(db_, *rows_, "note");
            else
                grades_.emplace(db_, *rows_, "graded");
        }
        if (with.of("root").empty()) return;
        root_.emplace(db_, 0);
        if (notes_) root_->add(*notes_);
        if (grades_) root_->add(*grades_);
        for (const std::string& name : split(with.of("root"), ','))
            if (name != "note" && name != "graded") handlers_.at(name)->add_to(*root_, name);
        root_->catch_up();
    }
    ~script() {
        calm();
        if (rows_ && !is_abandoned_) rows_->flush();
        while (!sessions_.empty())
            sessions_.pop_back();
        if (root_ && !is_abandoned_) root_->keep_leaves();
    }

    /// Takes a step; what it answers is JSON.
    std::string take(const std::string& step) {
        std::istringstream in(step);
        std::string what;
        in >> what;
        std::ostringstream answer;
        if (!take_session_step(what, in) && !take_object_step(what, in, answer) &&
            !take_archive_step(what, in, answer) && !take_root_step(what, in, answer) &&
            !take_other_step(what, in, answer))
            throw std::runtime_error("no step \"" + step + "\"");
        return answer.str().empty() ? "null" : answer.str();
    }

private:
    template <typename T = std::uint32_t>
    static T number(std::istringstream& in, T usual = {}) {
        T value{};
        return in >> value ? value : usual;
    }
    static std::string word(std::istringstream& in) {
        std::string value;
        in >> value;
        return value;
    }
    static std::string rest(std::istringstream& in) {
        std::string value;
        std::getline(in >> std::ws, value);
        return value;
    }

    bool take_session_step(const std::string& what, std::istringstream& in) {
        if (what == "session") {
            sessions_.push_back(db_.start_session());
        } else if (what == "push" || what == "block") { // block: a pushed session, irreversible
            if (root_ && in.str().find("unrooted") == std::string::npos)
                root_->update(sessions_.back().revision());
            end_session().push();
            if (what == "block") db_.commit(db_.revision());
        } else if (what == "squash") {
            end_session().squash();
        } else if (what == "undo") {
            end_session().undo();
        } else if (what == "pop") { // what was pushed
            db_.undo();
        } else if (what == "commit") {
            db_.commit(number<std::int64_t>(in, db_.revision()));
        } else if (what == "abandon") { // as a kill: nothing is closed
            db_.abandon();
            is_abandoned_ = true;
        } else {
            return false;
        }
        return true;
    }

    bool take_object_step(const std::string& what, std::istringstream& in, std::ostream& answer) {
        if (what == "create") { // TYPE N
            const auto& type = *handlers_.at(word(in));
            for (std::uint32_t left = number(in, 1U); left > 0; --left)
                type.create(db_);
        } else if (what == "remove") { // TYPE FIRST [LAST [STEP]]
            const auto& type = *handlers_.at(word(in));
            const auto first = number(in);
            const auto last = number(in, first);
            const auto by = number(in, 1U);
            std::uint32_t removed = 0;
            for (std::uint32_t id = first; id <= last; id += by)
                removed += type.remove(db_, id);
            answer << removed;
        } else if (what == "set" || what == "die_setting") { // TYPE ID FIELD VALUE
            const auto& type = *handlers_.at(word(in));
            const auto id = number(in);
            const std::string field = word(in);
            type.set_field(db_, id, field, rest(in), what == "die_setting");
        } else if (what == "clear") {
            handlers_.at(word(in))->clear(db_);
        } else if (what == "order") { // TYPE KEY
            answer << json_list(known_orders.at(rest(in))(db_));
        } else if (what == "digest") {
            archive::state_digest digest;
            for (const std::string& name : split(rest(in), ','))
                handlers_.at(name)->add_to(digest, db_, name);
            answer << '"' << digest.hex() << '"';
        } else if (what == "everything") { // SEED N: so many with random fields
            random_source random(number<std::uint64_t>(in));
            for (std::uint32_t left = number(in); left > 0; --left)
                db_.create<everything>([&](everything& one) { fill_random(one, random); });
        } else if (what == "measured") { // NUMBER...
            std::vector<double> all;
            for (std::string text; in >> text;)
                all.push_back(std::strtod(text.c_str(), nullptr)); // takes denormal ones, too
            db_.create<measured>([&](measured& one) {
                one.single = static_cast<float>(all.front());
                one.real = all.front();
                one.reals = std::span<const double>(all);
            });
        } else {
            return false;
        }
        return true;
    }

    bool take_archive_step(const std::string& what, std::istringstream& in, std::ostream& answer) {
        if (what == "retire") { // FIRST [LAST [STEP]]
            const auto first = number(in);
            const auto last = number(in, first);
            const auto by = number(in, 1U);
            for (std::uint32_t number = first; number <= last; number += by)
                grades_ ? grades_->retire(db_.get(id<graded>(number)))
                        : notes_->retire(db_.get(id<note>(number)));
        } else if (what == "grade") {
            db_.create<graded>([](graded& one) { fill(one, one.id.value); });
        } else if (what == "hand_over") {
            const std::size_t limit = number<std::size_t>(in, SIZE_MAX);
            answer << (grades_ ? grades_->hand_over(db_.committed_revision(), limit)
                               : notes_->hand_over(db_.committed_revision(), limit));
        } else if (what == "note") { // AUTHOR WEIGHT TITLE
            const std::string author = word(in);
            const auto weight = number<std::int64_t>(in);
            write(db_, author, rest(in), weight);
        } else if (what == "remove_note") {
            notes_->remove(id<note>(number(in)));
        } else if (what == "some_notes") { // SEED
            some_notes(number<std::uint64_t>(in));
        } else if (what == "erase_row") {
            archive::write_batch batch;
            batch.erase(archive::table_id{0}, number(in));
            rows_->write(batch);
        } else if (what == "sync_rows") {
            rows_->sync();
        } else if (what == "look_up") { // N: in each place, and what is nowhere
            for (std::uint32_t left = number(in); left > 0; --left)
                if (!notes_->find(id<note>(1)) || !notes_->find(id<note>(7)) ||
                    notes_->find(id<note>(70)))
                    throw std::runtime_error("objects are not where they were made");
        } else if (what == "notes") { // [KEY [VALUE]]: [id, archived, weight] in this order
            const std::string key = word(in);
            list_notes(key, rest(in), answer);
        } else if (what == "notes_digest") {
            archive::state_digest digest;
            digest.add(*notes_);
            answer << '"' << digest.hex() << '"';
        } else {
            return false;
        }
        return true;
    }

    bool take_root_step(const std::string& what, std::istringstream& in, std::ostream& answer) {
        if (what == "root") {
            answer << '"' << hex(root_->root()) << '"';
        } else if (what == "is_current") {
            answer << (root_->is_current() ? "true" : "false");
        } else if (what == "forget_root") {
            root_->forget();
        } else {
            return false;
        }
        return true;
    }

    bool take_other_step(const std::string& what, std::istringstream& in, std::ostream& answer) {
        if (what == "say") {
            static constexpr const char* ways[] = {"created", "attached", "rolled_back",
                                                   "restored"};
            answer << R"({"opened":")" << ways[static_cast<int>(db_.opened().how)]
                   << R"(","generation":)" << db_.opened().generation << R"(,"revision":)"
                   << db_.revision() << R"(,"process":)" << ::getpid() << R"(,"objects":{)";
            const char* between = "";
            for (const auto& [name, type] : handlers_) {
                answer << between << '"' << name << "\":" << type->count(db_);
                between = ",";
            }
            answer << "}}";
        } else if (what == "compact") {
            db_.compact();
        } else if (what == "checkpoint") {
            answer << db_.make_checkpoint().generation;
        } else if (what == "die") {
            ::raise(SIGKILL);
        } else if (what == "read_lock") { // until stdin has another line
            db_.with_read_lock([] { hold(); });
        } else if (what == "write_lock") {
            db_.with_write_lock([] { hold(); });
        } else if (what == "busy") { // TYPE FIELD IDS STEP: in turns without a pause, one revision
            const std::string type = word(in);
            const std::string field = word(in);
            const auto ids = number(in);
            busy(type, field, ids, number(in, 1U));
        } else if (what == "busy_blocks") { // TYPE FIELD IDS
            const std::string type = word(in);
            const std::string field = word(in);
            busy_blocks(type, field, number(in));
        } else if (what == "busy_labels") { // N: blocks of so many new labels
            busy_labels(number(in));
        } else if (what == "calm") {
            calm();
        } else {
            return false;
        }
        return true;
    }

    session end_session() {
        session last = std::move(sessions_.back());
        sessions_.pop_back();
        return last;
    }
    /// Says so and waits for a line.
    static void hold() {
        std::cout << "\"held\"" << std::endl;
        std::string line;
        std::getline(std::cin, line);
    }

    template <typename Work>
    void keep_doing(Work work) {
        calm();
        is_busy_ = true;
        worker_ = std::thread([this, work] {
            for (std::uint32_t round = 0; is_busy_; ++round)
                db_.with_write_lock([&] { work(round); });
        });
    }
    void calm() {
        is_busy_ = false;
        if (worker_.joinable()) worker_.join();
    }
    void busy(const std::string& type, const std::string& field, std::uint32_t ids,
              std::uint32_t by) {
        keep_doing([=, this](std::uint32_t round) {
            for (std::uint32_t id = 0; id < ids; id += by)
                handlers_.at(type)->set_field(db_, id, field, std::to_string(round), false);
        });
    }
    void busy_blocks(const std::string& type, const std::string& field, std::uint32_t ids) {
        keep_doing([=, this](std::uint32_t round) {
            session block = db_.start_session();
            handlers_.at(type)->set_field(db_, round % ids, field, std::to_string(round), false);
            if (root_) root_->update(block.revision());
            block.push();
            db_.commit(db_.revision());
        });
    }
    void busy_labels(std::uint32_t each) {
        keep_doing([=, this](std::uint32_t) {
            session block = db_.start_session();
            for (std::uint32_t left = each; left > 0; --left)
                handlers_.at("label")->create(db_);
            block.push();
            db_.commit(db_.revision() - 5);
        });
    }

    static void fill_random(everything& one, random_source& random) {
        one.yes = random.chance(500);
        one.what = random.chance(500) ? side::buy : side::sell;
        one.tiny = static_cast<std::int8_t>(random.next());
        one.small = static_cast<std::uint16_t>(random.next());
        one.low = static_cast<std::int64_t>(random.next());
        one.high = random.next();
        one.name = std::string_view(std::to_string(random.next())).substr(0, random.below(16));
        std::string bytes(random.below(40), '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random.next());
        one.text = bytes;
        const std::vector<std::uint8_t> blob(bytes.begin(), bytes.end());
        one.blob = std::span<const std::uint8_t>(blob);
        const std::vector<std::int32_t> numbers(random.below(5),
                                                static_cast<std::int32_t>(random.next()));
        one.numbers = std::span<const std::int32_t>(numbers);
        const std::vector<quoted_price> prices(random.below(3), quoted_price{-5, 9, true});
        one.prices = std::span<const quoted_price>(prices);
        for (auto& byte : one.place)
            byte = static_cast<std::uint8_t>(random.next());
        for (auto& part : one.parts)
            part = static_cast<std::uint32_t>(random.next());
        one.pair[1] = {static_cast<std::int16_t>(random.next()), random.next(), false};
        one.grid[1][0] = static_cast<std::uint16_t>(random.next());
        one.one.unit = random.next();
        one.other.value = random.below(1000);
    }

    /// 400 notes of weights -30 to 29, of which some were handed over, and some removed then.
    void some_notes(std::uint64_t seed) {
        random_source random(seed);
        session block = db_.start_session();
        for (int i = 0; i < 400; ++i) {
            static constexpr const char* authors[] = {"a", "al", "alice", "b"};
            write(db_, authors[random.below(4)], "title " + std::to_string(i),
                  static_cast<std::int64_t>(random.below(60)) - 30);
        }
        for (std::uint32_t i = 0; i < 400; ++i)
            if (random.chance(600)) notes_->retire(db_.get(id<note>(i)));
        block.push();
        db_.commit(db_.revision());
        notes_->hand_over(db_.committed_revision(), 200);
        for (std::uint32_t i = 0; i < 400; ++i)
            if (random.chance(100)) notes_->remove(id<note>(i));
    }

    template <typename Cursor>
    static void list(Cursor at, std::ostream& answer) {
        const char* between = "[";
        for (; at.valid(); at.next()) {
            answer << between << '[' << at->id().value << ',' << (at->in_memory() ? 0 : 1) << ','
                   << at->template get<&note::weight>() << ']';
            between = ",";
        }
        answer << (*between == '[' ? "[]" : "]");
    }
    void list_notes(const std::string& key, const std::string& value, std::ostream& answer) {
        if (key == "by_weight")
            return value.empty()
                       ? list(notes_->range<by_weight>(), answer)
                       : list(notes_->range<by_weight>(std::int64_t{std::stoll(value)}), answer);
        if (key == "by_author")
            return value.empty() ? list(notes_->range<by_author>(), answer)
                                 : list(notes_->range<by_author>(std::string_view(value)), answer);
        const char* between = "[";
        notes_->for_each([&](const auto& one) {
            answer << between << '[' << one.id().value << ',' << (one.in_memory() ? 0 : 1) << ','
                   << one.template get<&note::weight>() << ']';
            between = ",";
        });
        answer << (*between == '[' ? "[]" : "]");
    }

    database db_;
    std::map<std::string, std::unique_ptr<type_handler>> handlers_;
    std::unique_ptr<archive::store> rows_;
    std::optional<notes> notes_;
    std::optional<archive::lifecycle<graded>> grades_;
    std::optional<archive::committed_state> root_;
    std::vector<session> sessions_;
    std::atomic<bool> is_busy_{false};
    std::thread worker_;
    bool is_abandoned_ = false;
};

int do_steps(const fs::path& state, const words& rest) {
    settings with;
    std::size_t at = 0;
    for (; at < rest.size() && rest[at].find('=') != std::string::npos; ++at)
        with.values[rest[at].substr(0, rest[at].find('='))] =
            rest[at].substr(rest[at].find('=') + 1);
    script steps(state, with, split(rest.at(at++), ','));
    for (; at < rest.size(); ++at) {
        if (rest[at] != "-") {
            const std::string answer = steps.take(rest[at]);
            if (answer != "null") std::cout << answer << std::endl;
            continue;
        }
        std::cout << "\"ready\"" << std::endl;
        for (std::string line; std::getline(std::cin, line);)
            std::cout << steps.take(line) << std::endl;
    }
    return 0;
}

// --- whole states ---

void add_sample_types(database& db) {
    db.add_type<account>("account");
    db.add_type<post>("post");
    db.add_type<token>("token");
    db.add_type<marker>("marker"); // stays empty
}

void create_post(database& db, const std::string& body) {
    db.create<post>([&](post& one) {
        fill(one, one.id.value);
        one.body = body;
        one.likes = static_cast<std::uint32_t>(body.size());
    });
}

/// So much that each object can be seen to be whole: visits follow from the balance, likes from the
/// length of the body.
void change_balance(account& one, std::int64_t balance) {
    one.balance = balance;
    one.visits = static_cast<std::uint32_t>(balance % 1000);
}

constexpr std::uint32_t steady_accounts = 300; // those that a writer does not remove

/// 1000 accounts, 400 posts, 500 tokens with the ids after 2500 removed ones, no markers; revision
/// 12, of which the last 3 can be undone.
void make_sample(const fs::path& state) {
    database db(state, quick_options());
    add_sample_types(db);
    random_source random(7);
    for (std::uint32_t i = 0; i < 1000; ++i)
        db.create<account>([&](account& one) { fill(one, i); });
    for (std::uint32_t i = 0; i < 3000; ++i)
        db.create<token>([&](token& one) { one.code = i; });
    for (std::uint32_t i = 0; i < 2500; ++i)
        db.remove(db.get(id<token>(i)));
    for (std::uint32_t i = 0; i < 400; ++i)
        create_post(db, random_text(random));
    for (std::int64_t revision = 1; revision <= 12; ++revision) {
        session block = db.start_session();
        db.modify(db.get(id<account>(0)), [&](account& one) { change_balance(one, revision); });
        block.push();
    }
    db.commit(9);
}

/// The sample after it lost a third of its posts, which frees buffers of several sizes and leaves a
/// free run of 70 pages.
void make_holes(const fs::path& state) {
    make_sample(state);
    database db(state, quick_options());
    add_sample_types(db);
    for (const std::size_t pages : {20, 40, 30})
        create_post(db, std::string(pages * 4096, 'x'));
    const std::uint32_t end = db.next_id<post>().value;
    for (std::uint32_t number = 0; number < end; ++number)
        if (number % 3 == 0 || number == end - 2) db.remove(db.get(id<post>(number)));
    db.commit(db.revision());
}

/// As a kill leaves it, so that no checksum tells of everything: objects of all kinds of keys,
/// buffers of several classes and page runs, free slots, sessions.
void make_damageable(const fs::path& state) {
    database db(state, quick_options());
    db.add_type<account>("account");
    db.add_type<post>("post");
    db.add_type<stake>("stake");
    for (std::uint32_t i = 0; i < 40; ++i) {
        db.create<account>([&](account& one) {
            one.name = std::string_view("name-" + std::to_string(i));
            one.balance = i;
            one.number = 1000 + i;
            one.group = i % 4;
        });
        db.create<post>([&](post& one) {
            one.author = "author-" + std::to_string(i % 5);
            one.permlink = "permlink-" + std::to_string(i);
            one.body = std::string(i == 3 || i == 7 ? 100'000 : 20 + 40 * (i % 6), 'b');
            const std::uint32_t votes[] = {i, 2};
            one.votes = std::span<const std::uint32_t>(votes);
        });
        db.create<stake>([&](stake& one) { fill(one, i); });
    }
    for (const std::uint32_t gone : {5, 11, 17, 3}) { // the last one leaves free pages
        db.remove(db.get(id<account>(gone)));
        db.remove(db.get(id<post>(gone)));
    }
    for (int i = 0; i < 3; ++i) {
        session block = db.start_session();
        db.modify(db.get(id<account>(20)), [](account& one) { ++one.balance; });
        block.push();
    }
    db.abandon();
}

/// How many objects "type.N" has in the state of 60 types.
constexpr std::uint32_t rows_of_type(std::size_t type) {
    return type == 7 ? 0 : 100 + static_cast<std::uint32_t>(type);
}

template <std::size_t N>
void fill_type(database& db) {
    db.add_type<numbered<N>>("type." + std::to_string(N));
    const std::uint32_t kept = rows_of_type(N);
    for (std::uint32_t i = 0; i < kept + kept / 6; ++i)
        db.create<numbered<N>>([&](numbered<N>& one) {
            one.number = i;
            one.text = std::string(i % 90, static_cast<char>('a' + N % 26));
        });
    for (std::uint32_t i = 0; i < kept / 6; ++i)
        db.remove(db.get(id<numbered<N>>(7 * i)));
}

/// 60 types; three sessions can be undone.
void make_many(const fs::path& state) {
    open_options how = quick_options();
    how.windows = 384;
    database db(state, how);
    [&]<std::size_t... N>(std::index_sequence<N...>) {
        (fill_type<N>(db), ...);
    }(std::make_index_sequence<60>());
    for (int i = 0; i < 3; ++i) {
        session block = db.start_session();
        db.modify(*db.objects<numbered<0>>().begin(), [](numbered<0>& one) { ++one.visits; });
        block.push();
    }
}

/// Object 0 has a value of every kind, 1 to 255 a name of one byte, the others odd texts.
void make_fields(const fs::path& state) {
    database db(state, quick_options());
    db.add_type<everything>("everything");
    db.create<everything>([](everything& one) {
        one.yes = true;
        one.what = side::sell;
        one.tiny = -128;
        one.small = 65535;
        one.low = INT64_MIN;
        one.high = UINT64_MAX;
        one.name = std::string_view("sixteen letters!");
        one.text = std::string_view("plain");
        one.blob = std::array<std::uint8_t, 3>{0, 255, 16};
        one.numbers = std::array<std::int32_t, 3>{-1, 0, 7};
        one.prices = std::array<quoted_price, 2>{quoted_price{-5, 9, true}, {1, 2, false}};
        one.place = {1, 2, 3, 250};
        one.parts = {1, 2, 3};
        one.pair[1] = {4, 5, true};
        one.grid = {{{1, 2}, {3, 4}}};
        one.one = {-7, 8, false};
        one.other.value = 12;
    });
    for (int byte = 1; byte < 256; ++byte)
        db.create<everything>([letter = static_cast<char>(byte)](everything& one) {
            one.name = std::string_view(&letter, 1);
        });
    for (const std::string& text :
         {std::string(), std::string("a\"b\\c\n\t\x01"), std::string("nul\0in it", 9),
          std::string("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), std::string("\xff"),
          std::string("cut \xe2\x82"), std::string("\xed\xa0\x80"), std::string("\xc0\x80"),
          std::string("</script>")})
        db.create<everything>([&](everything& one) { one.text = text; });
}

template <archive::store_kind Kind>
void make_notes(const fs::path& state) { // 0 to 3 of 10 were handed over, 4 and 5 are retired
    settings with;
    with.values["archive"] = archive::to_string(Kind);
    script steps(state, with, {"note"});
    for (const char* step : {"create note 10", "retire 0 3", "hand_over", "retire 4 5"})
        steps.take(step);
}

/// 900 accounts and 100 posts that are committed to, and a token that is not, in block 1.
void make_rooted(const fs::path& state) {
    settings with;
    with.values["root"] = "account,post";
    script steps(state, with, {"account", "post", "token"});
    for (const char* step :
         {"session", "create account 900", "create post 100", "create token 1", "block"})
        steps.take(step);
}

/// 200 accounts; two checkpoints, of which the second is the state as it was closed.
void make_checkpointed(const fs::path& state) {
    settings with;
    with.values["durability"] = "checkpoint";
    script steps(state, with, {"account"});
    for (const char* step : {"session", "create account 100", "block", "checkpoint", "session",
                             "create account 100", "block"})
        steps.take(step);
}

const std::map<std::string, void (*)(const fs::path&)> whole_states = {
    {"sample", make_sample},
    {"holes", make_holes},
    {"damageable", make_damageable},
    {"many", make_many},
    {"fields", make_fields},
    {"notes.rocksdb", make_notes<archive::store_kind::rocksdb>},
    {"notes.memory", make_notes<archive::store_kind::memory>},
    {"notes.none", make_notes<archive::store_kind::none>},
    {"rooted", make_rooted},
    {"checkpointed", make_checkpointed}};

int make(const std::string& what, const fs::path& state) {
    if (!whole_states.contains(what)) {
        std::cerr << "sample_state make: no \"" << what << "\"; there are";
        for (const auto& [name, maker] : whole_states)
            std::cerr << ' ' << name;
        std::cerr << '\n';
        return 2;
    }
    whole_states.at(what)(state);
    return 0;
}

// --- at random ---

/// Changes of random kinds to the sample, in sessions that are undone or pushed, and compactions.
class activity {
public:
    explicit activity(database& db) : db_(db) {}

    void one_block() {
        session block = db_.start_session();
        for (std::uint32_t left = random_.below(60); left > 0; --left)
            change();
        if (random_.chance(200)) return; // undone
        block.push();
        if (db_.revision() > 8) db_.commit(db_.revision() - 8);
        if (!random_.chance(4)) return;
        db_.commit(db_.revision());
        db_.compact();
    }

private:
    void change() {
        switch (random_.below(4)) {
        case 0:
            db_.create<account>([](account& one) { fill(one, one.id.value); });
            return;
        case 1:
            return create_post(db_, random_text(random_));
        case 2:
            return modify_some();
        default:
            return remove_some();
        }
    }
    template <typename T>
    const T* some(std::uint32_t oldest) {
        const auto objects = db_.objects<T>();
        const auto found = objects.lower_bound(id<T>(oldest + random_.below(2000)));
        return found == objects.end() ? nullptr : &*found;
    }
    void modify_some() {
        if (const account* found = some<account>(0))
            db_.modify(*found, [&](account& one) {
                change_balance(one, one.balance + random_.below(1000));
            });
        if (const post* found = some<post>(0))
            db_.modify(*found, [&](post& one) {
                one.body = random_text(random_);
                one.likes = static_cast<std::uint32_t>(one.body.size());
            });
    }
    void remove_some() {
        if (const account* found = some<account>(steady_accounts)) db_.remove(*found);
        if (const post* found = some<post>(0)) db_.remove(*found);
    }

    database& db_;
    random_source random_{test_seed(20)};
};

int write_until_told(const fs::path& state) {
    ::fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    database db(state, quick_options());
    add_sample_types(db);
    activity work(db);
    work.one_block();
    std::cout << "\"ready\"" << std::endl;
    char byte;
    while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EAGAIN)
        db.with_write_lock([&] { work.one_block(); });
    return 0;
}

int walk(const fs::path& state, const words& rest) {
    random_source random(std::stoull(rest.at(0)));
    walk_options options;
    options.changes.objects = 80;
    if (rest.size() > 3) {
        options.how.durability = durability::checkpoint;
        options.how.checkpoints = {std::chrono::milliseconds(20), 0};
    }
    const bool is_new = !fs::exists(state);
    world all(state, options);
    if (is_new) all.fill(random);
    for (std::uint64_t left = std::stoull(rest.at(1)); left > 0; --left)
        all.step(random);
    const std::string& end = rest.at(2); // close, kill, undo, compact
    if (end == "undo" || end == "compact") all.undo_all();
    if (end == "compact") all.compact();
    all.check(random);
    std::cout << digest_of(all.db()) << std::endl;
    if (end == "kill") ::raise(SIGKILL);
    return 0;
}

// --- rows of an archive, changed behind its state ---

int change_rows(const fs::path& state, const words& steps) {
    const auto rows = archive::open_store(state / "archive");
    const archive::table_id table{0};
    using namespace std::string_view_literals;
    for (const std::string& step : steps) {
        const words part = split(step, ' ');
        if (part[0] == "open_table") {
            (void)rows->open_table(part.at(1));
            continue;
        }
        const auto id = static_cast<std::uint32_t>(std::stoul(part.at(1)));
        archive::write_batch batch;
        const auto row = rows->find(table, id);
        archive::byte_buffer record;
        if (row) record.assign(row->record().begin(), row->record().end());
        if (part[0] == "erase") {
            batch.erase(table, id);
        } else if (part[0] == "copy") { // ID AS
            batch.put(table, static_cast<std::uint32_t>(std::stoul(part.at(2))), record, {});
        } else if (part[0] == "shorten") {
            record.resize(record.size() - 2);
            batch.put(table, id, record, {});
        } else if (part[0] == "keys") { // ID WHICH...: of title, weight, author, other
            const std::string title = "title " + part[1];
            const std::map<std::string, std::pair<std::uint32_t, archive::byte_buffer>> known = {
                {"title", {0, archive::make_key("author"sv, std::string_view(title))}},
                {"weight", {1, archive::make_key(archive::descending(std::int64_t{id}), id)}},
                {"author", {2, archive::make_key("author"sv, id)}},
                {"other_title", {0, archive::byte_buffer(3, std::byte{2})}},
                {"other_weight", {1, archive::byte_buffer(3, std::byte{2})}}};
            std::vector<archive::secondary_key> keys;
            for (std::size_t n = 2; n < part.size(); ++n)
                keys.push_back({known.at(part[n]).first, known.at(part[n]).second});
            batch.put(table, id, record, keys);
        } else {
            throw std::runtime_error("no step \"" + step + "\"");
        }
        rows->write(batch);
    }
    rows->flush();
    return 0;
}

} // namespace

int main(int count, char** all) try {
    spdlog::set_default_logger(spdlog::stderr_logger_mt("sample_state")); // stdout has answers
    const words call(all + 1, all + count);
    if (call.size() == 3 && call[0] == "make") return make(call[1], call[2]);
    if (call.size() < 2) return make("", {});
    const words rest(call.begin() + 2, call.end());
    if (call[0] == "do") return do_steps(call[1], rest);
    if (call[0] == "write") return write_until_told(call[1]);
    if (call[0] == "walk") return walk(call[1], rest);
    if (call[0] == "rows") return change_rows(call[1], rest);
    return make("", {});
} catch (const std::exception& error) {
    std::cerr << "sample_state: " << error.what() << '\n';
    return 1;
}

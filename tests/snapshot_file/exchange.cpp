// Every build writes the same snapshot of the same state, and loads those of the others: compilers,
// sanitizers, machines.
//
//     test_snapshot_exchange              writes one, and loads it
//     test_snapshot_exchange write DIR    writes it to DIR, which is not there
//     test_snapshot_exchange load DIR     verifies and loads one, of any build
//
// Prints the snapshot's name and its state root. Both are known here, so no two builds need to meet
// to be compared. tests/arm64.sh runs it on arm64.

#include <archive/committed_state.hpp>
#include <archive/open_archive.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/snapshot_file/loading.hpp>
#include <chainbase/offline/snapshot_file/trust.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <tests/support/sample_types.hpp>
#include <tests/support/temporary_folder.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace exchange {

using namespace chainbase;
using namespace chainbase::snapshot_file;
using test::holding;
using test::label;
using test::marker;
using test::post;
using test::stake;
using test::token;

/// Of the snapshot that every build writes. If format, types or content below change on purpose:
/// what the program then prints. Else another build, or an older one, no longer agrees.
constexpr const char* expected_name =
    "c55e682b0102d14ba8c5bbee3610e78546aa7f8bcbbeee2dac1f079906d2250e";
constexpr const char* expected_root =
    "1f29972feea4b9a780957410f3f2c50646ab4cdf6463261481383f49533ac1c9";

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 vast;

enum class colour : std::uint8_t {};
enum class mood : std::int16_t {};

struct place {
    std::int32_t x = 0;
    std::uint8_t y = 0;
};
BOOST_DESCRIBE_STRUCT(place, (), (x, y))

struct inner {
    shared_string name;
    place at;
    std::array<shared_string, 2> pair;
    shared_vector<shared_string> words;
};
BOOST_DESCRIBE_STRUCT(inner, (), (name, at, pair, words))

/// Every kind of field that a record has; some are in the archive.
struct thing {
    chainbase::id<thing> id;
    bool yes = false;
    colour hue{};
    mood temper{};
    std::int8_t i8 = 0;
    std::uint16_t u16 = 0;
    std::int32_t i32 = 0;
    std::uint64_t u64 = 0;
    wide i128 = 0;
    vast u128 = 0;
    fixed_string<16> name;
    fixed_bytes<20> digest;
    std::array<std::int16_t, 3> triple{};
    std::array<std::array<bool, 2>, 2> grid{};
    place at;
    shared_string title;
    shared_bytes raw;
    shared_vector<std::int64_t> numbers;
    shared_vector<wide> wides;
    shared_vector<shared_vector<std::uint16_t>> lists;
    shared_vector<inner> inners;
    inner alone;
    chainbase::id<marker> other;

    using keys = chainbase::keys<
        hashed_unique<struct by_name, &thing::name>,
        btree_unique<struct by_wide, descending<&thing::i128>>,
        hashed_unique<struct by_vast, &thing::u128>,
        ranked_unique<struct by_title, descending<&thing::title>, &thing::id>,
        btree_unique<struct by_digest, &thing::digest>,
        ordered_non_unique<struct by_small, &thing::yes, &thing::hue, &thing::temper, &thing::i8>,
        btree_non_unique<struct by_triple, descending<&thing::triple>>>;
    using archived_by = archive::tags<by_name, by_wide, by_vast, by_title>;
};
BOOST_DESCRIBE_STRUCT(thing, (),
                      (id, yes, hue, temper, i8, u16, i32, u64, i128, u128, name, digest, triple,
                       grid, at, title, raw, numbers, wides, lists, inners, alone, other))

/// What no record can hold, so no root commits to it.
struct gauge {
    chainbase::id<gauge> id;
    float single = 0;
    double real = 0;
    shared_vector<double> reals;

    using keys = chainbase::keys<ordered_non_unique<struct by_single, &gauge::single>,
                                 ranked_unique<struct by_real, &gauge::real, &gauge::id>>;
};
BOOST_DESCRIBE_STRUCT(gauge, (), (id, single, real, reals))

constexpr std::uint32_t things = 60;
constexpr std::uint32_t archived = 20; ///< the first ones
constexpr std::uint32_t removed = 7;   ///< one of these
constexpr std::uint32_t posts = 5;
constexpr std::size_t body_bytes = 3 << 20; ///< more in all than a chunk has

std::string word(std::uint32_t n) {
    return fmt::format("{:x}-\xc3\xa4\"\n", n * 2654435761U);
}

void set(place& to, std::uint32_t n) {
    to.x = -static_cast<std::int32_t>(n);
    to.y = static_cast<std::uint8_t>(n * 3);
}

void set(inner& to, std::uint32_t n) {
    to.name = std::string(n % 40, 'n');
    set(to.at, n);
    to.pair[0] = word(n);
    std::vector<shared_string> words(n % 3);
    for (shared_string& one : words)
        one = word(++n);
    to.words = words;
}

/// Numbers at their edges, some texts empty, some with bytes of all kinds.
void set(thing& to, std::uint32_t n) {
    const auto edge = [n]<typename V>(V, V other) {
        return n == 0   ? std::numeric_limits<V>::max()
               : n == 1 ? std::numeric_limits<V>::min()
                        : other;
    };
    to.yes = n % 2 == 1;
    to.hue = colour(n * 5);
    to.temper = mood(-static_cast<int>(n));
    to.i8 = edge(to.i8, static_cast<std::int8_t>(-static_cast<int>(n)));
    to.u16 = edge(to.u16, static_cast<std::uint16_t>(n * 999));
    to.i32 = edge(to.i32, -static_cast<std::int32_t>(n));
    to.u64 = edge(to.u64, std::uint64_t{n} << 40);
    to.u128 = ~(vast{n} << 100);
    to.i128 = static_cast<wide>(vast{n} << 120 | n); // the sign changes, too
    to.name = fmt::format("thing {}", n);
    to.digest = fixed_bytes<20>{};
    to.digest[n % 20] = static_cast<std::byte>(n + 1);
    to.triple = {static_cast<std::int16_t>(n % 3), -1, 5};
    to.grid[n % 2][n / 2 % 2] = true;
    set(to.at, n);
    to.title = n % 4 == 0 ? "" : word(n);
    to.raw = std::vector<std::byte>(n, std::byte{0xff});
    to.numbers = std::vector<std::int64_t>(n % 5, -std::int64_t{n});
    to.wides = std::vector<wide>(n % 3, -wide{n} << 90);
    std::vector<shared_vector<std::uint16_t>> lists(n % 4);
    for (auto& one : lists)
        one = std::vector<std::uint16_t>(n % 7, static_cast<std::uint16_t>(n));
    to.lists = lists;
    std::vector<inner> inners(n % 3);
    for (inner& one : inners)
        set(one, n);
    to.inners = inners;
    set(to.alone, n);
    to.other = n % 2 == 0 ? id<marker>::none() : id<marker>(n);
}

/// The state, as its program has it.
class sample {
public:
    explicit sample(const fs::path& state) : db_(state, options()) {
        db_.add_type<thing>("thing");
        db_.add_type<gauge>("gauge");
        db_.add_type<post>("post");
        db_.add_type<stake>("stake");
        db_.add_type<marker>("marker");
        db_.add_type<token>("token");
        db_.add_type<label>("label");
        db_.add_type<holding>("holding");
        rows_ = archive::open_archive(db_, state / "archive", archive::store_kind::memory);
        things_.emplace(db_, *rows_, "thing");
        root_.emplace(db_, 1U);
        root_->add(*things_);
        root_->add<post>("post");
        root_->add<stake>("stake");
        root_->add<marker>("marker");
        root_->add<holding>("holding");
        root_->catch_up();
    }

    static open_options options() {
        open_options how;
        how.window_bytes = std::size_t{64} << 20;
        how.windows = 200;
        how.memory_folder = "none";
        how.durability = durability::process;
        how.advise = false;
        return how;
    }

    void fill() {
        in_block([&] {
            for (std::uint32_t n = 0; n < things; ++n)
                create(n);
            for (std::uint32_t n = 0; n < posts; ++n)
                create_post(n);
            for (std::uint32_t n = 0; n < archived; ++n)
                things_->retire(db_.get(id<thing>(n)));
            db_.remove(db_.get(id<marker>(things - 1))); // the next id is not the one above
        });
        static_cast<void>(things_->hand_over(db_.committed_revision()));
        in_block([&] { things_->remove(id<thing>(removed)); });
    }

    /// Finds objects by keys of all kinds, in both places.
    void require_filled() const {
        require(things_->in_memory() == things - archived, "things in memory");
        require(things_->archived() == archived - 1, "things in the archive");
        require(!things_->find(id<thing>(removed)), "a removed thing");
        for (std::uint32_t n = 0; n < things; ++n)
            if (n != removed) require_thing(n);
        require(db_.get<label, test::by_text>(word(5)).uses == 5, "label by text");
        require(db_.get<stake, test::by_score>(std::int64_t{-9}, 9U).weight == 2, "stake by score");
        require(db_.get<token, test::by_code>(11U).amount == 33, "token by code");
        require(db_.get<holding, test::by_symbol>("coin 4").holder == 4, "holding by symbol");
        const post& last = db_.get<post, test::by_link>("author", fmt::format("{}", posts - 1));
        require(last.body.size() == body_bytes && last.votes.size() == posts - 1, "post by link");
        require((*db_.view<gauge, struct by_single>().begin()).id.value == things - 1,
                "gauges by value");
        require(db_.next_id<marker>().value == things, "the next id");
        require(root_->recomputed() == root_->root(), "the root of the objects");
    }

    struct archived_rows {
        std::map<std::uint32_t, archive::byte_buffer> rows; ///< as the store keeps them
        std::map<std::uint32_t, std::size_t> record_bytes;
        std::vector<std::string> keys;
    };
    /// Of things.
    [[nodiscard]] archived_rows rows() const {
        archived_rows all;
        for (std::uint32_t table = 0; table < rows_->tables().size(); ++table)
            if (rows_->tables()[table].name == "thing") {
                all.keys = rows_->tables()[table].key_names;
                for (auto row = rows_->rows({table}); row.valid(); row.next()) {
                    all.rows[row.id()].assign(row.stored().begin(), row.stored().end());
                    all.record_bytes[row.id()] = row.record().size();
                }
            }
        return all;
    }
    [[nodiscard]] std::set<std::string> committed() const { return root_->types(); }
    [[nodiscard]] sha256_digest root() const { return root_->root(); }

private:
    static void require(bool holds, const char* what) {
        if (!holds) throw std::runtime_error(fmt::format("the state has other content: {}", what));
    }

    template <typename Change>
    void in_block(Change&& change) {
        session block = db_.start_session();
        change();
        root_->update(block.revision());
        block.push();
        db_.commit(db_.revision());
    }

    void create(std::uint32_t n) {
        things_->create([&](thing& one) { set(one, n); });
        db_.create<gauge>([&](gauge& one) {
            one.single = n == 0 ? std::numeric_limits<float>::infinity() : -0.1F * float(n);
            one.real = n == 1 ? std::numeric_limits<double>::denorm_min() : 0.1 * n;
            one.reals = std::vector<double>(n % 3, -0.0);
        });
        db_.create<stake>([&](stake& one) {
            one.owner = n;
            one.score = -std::int64_t{n};
            one.weight = n % 7;
        });
        db_.create<marker>([&](marker& one) { one.high = ~std::uint64_t{n}; });
        db_.create<token>([&](token& one) {
            one.code = n;
            one.kind = n % 3;
            one.amount = 3 * n;
        });
        db_.create<label>([&](label& one) {
            one.uses = n;
            one.text = word(n);
        });
        db_.create<holding>([&](holding& one) {
            one.symbol = fmt::format("coin {}", n);
            one.amount = std::int64_t{1} << (n % 60);
            one.holder = n % 5;
        });
    }
    void create_post(std::uint32_t n) {
        db_.create<post>([&](post& one) {
            one.author = "author";
            one.permlink = fmt::format("{}", n);
            one.body = std::string(body_bytes, static_cast<char>('a' + n));
            one.votes = std::vector<std::uint32_t>(n, n);
        });
    }

    void require_thing(std::uint32_t n) const {
        const auto one =
            things_->find<struct by_name>(fixed_string<16>(fmt::format("thing {}", n)));
        require(one && one->id().value == n, "thing by name");
        require(things_->find<struct by_vast>(~(vast{n} << 100))->id().value == n, "by 128 bits");
        require(things_->find<struct by_wide>(static_cast<wide>(vast{n} << 120 | n))->id().value ==
                    n,
                "by 128 bits with a sign");
        require(one->in_memory() == (n >= archived), "the place of a thing");
    }

    database db_;
    std::unique_ptr<archive::store> rows_;
    std::optional<archive::lifecycle<thing>> things_;
    std::optional<archive::committed_state> root_;
};

/// Writes a closed state, read through its catalogue, as chainbase-inspect does.
class snapshot_of {
public:
    snapshot_of(const fs::path& state, const fs::path& to)
        : rows_([&] {
              const sample open(state);
              all_.state_root = open.root();
              committed_ = open.committed();
              return open.rows();
          }()),
          state_(state, report_), buffers_(files_of(state_)), to_(to) {}

    manifest write() {
        all_.chain = "exchange";
        all_.block = {2, "00ff"};
        all_.archive = "memory";
        all_.revision = state_.log().revision;
        std::map<std::string, const check::mapped_state::type*> by_name;
        for (const check::mapped_state::type& one : state_.types())
            if (!is_of_archive(one.schema->name)) by_name[one.schema->name] = &one;
        for (const auto& [name, type] : by_name)
            all_.types.push_back(entry_of(*type));
        to_.finish(all_);
        return all_;
    }

private:
    static rows::segment_buffers::files files_of(const check::mapped_state& state) {
        rows::segment_buffers::files files{};
        for (std::size_t number = 0; number < files.size(); ++number)
            files[number] = state.buffers(number);
        return files;
    }

    type_entry entry_of(const check::mapped_state::type& type) {
        type_entry one;
        one.schema = *type.schema;
        one.is_committed = committed_.contains(one.schema.name);
        chunk_content objects;
        chunk_content removed_ones;
        std::optional<std::uint32_t> highest;
        read(type, one, objects, removed_ones, highest);
        one.objects = objects.objects();
        one.archived = objects.archived();
        one.height = highest ? tree_height(*highest) : 0;
        one.chunks = cut(std::move(objects), one.height);
        one.removed = cut(std::move(removed_ones), tree_height(removed));
        one.root = one.computed_root();
        return one;
    }

    void read(const check::mapped_state::type& type, type_entry& to, chunk_content& objects,
              chunk_content& removed_ones, std::optional<std::uint32_t>& highest) {
        const rows::slot_reader slots(*type.schema, *type.objects, *type.ids);
        const archive::described_record record(*type.schema);
        const bool is_thing = type.schema->name == "thing";
        archive::byte_buffer bytes;
        to.next_id = slots.next_id();
        for (std::uint32_t number = 0; number < slots.next_id(); ++number) {
            bytes.clear();
            if (const slot_number slot = slots.slot_of(number)) {
                record.append(slots.value(slot), buffers_, bytes);
                objects.add({number, bytes, false, {}});
                highest = number;
            } else if (is_thing && rows_.rows.contains(number)) {
                add_row(number, record, to, number == removed ? removed_ones : objects);
                if (number != removed) highest = number;
            }
        }
    }

    void add_row(std::uint32_t number, const archive::described_record& record, type_entry& to,
                 chunk_content& content) {
        archive::byte_buffer& bytes = rows_.rows[number];
        to.row_layout = archive::detail::load_little<std::uint32_t>(bytes.data());
        to.archive_keys = rows_.keys;
        archive::detail::store_little(bytes.data(), record.fingerprint());
        const auto [first, behind] =
            std::pair(archive::bytes_view(bytes).first(rows_.record_bytes[number]),
                      archive::bytes_view(bytes).subspan(rows_.record_bytes[number]));
        content.add({number, first, true, behind});
    }

    std::vector<chunk_entry> cut(chunk_content content, unsigned height) {
        std::vector<chunk_entry> chunks;
        if (content.objects() == 0) return chunks;
        chunk_plan plan([&](const piece& one) { chunks.push_back(to_.put(one)); });
        plan.add(piece::of({0, 32}, std::move(content)));
        plan.finish(height);
        return chunks;
    }

    manifest all_;
    std::set<std::string> committed_;
    sample::archived_rows rows_;
    check::part_report report_;
    check::mapped_state state_;
    rows::segment_buffers buffers_;
    folder_writer to_;
};

void require_expected(const manifest& all, const std::string& from) {
    const std::string root = all.state_root ? hex(*all.state_root) : "none";
    fmt::print("name {}\nroot {}\n", hex(all.name()), root);
    if (hex(all.name()) == expected_name && root == expected_root) return;
    throw std::runtime_error(fmt::format(
        "{}: other builds write the snapshot {} of root {}. If format, types or content were "
        "changed on purpose, put the name and the root above into "
        "tests/snapshot_file/exchange.cpp; else this build is not compatible with the others",
        from, expected_name, expected_root));
}

void write(const fs::path& to) {
    const test::temporary_folder folder;
    sample(folder / "state").fill();
    require_expected(snapshot_of(folder / "state", to).write(), to.string());
}

void load(const fs::path& from) {
    const test::temporary_folder folder;
    const folder_reader snapshot(from);
    require_expected(snapshot.manifest(), from.string());
    loading_options how;
    how.limits.memory_folder = "none";
    how.limits.window_bytes = sample::options().window_bytes;
    how.limits.windows = sample::options().windows;
    load_as(snapshot, folder / "state", how);
    const auto damage = check::state_check(folder / "state").report().found_in_all();
    if (damage != 0) throw std::runtime_error(fmt::format("{} findings in the state", damage));
    sample(folder / "state").require_filled();
    require_expected(snapshot_of(folder / "state", folder / "again").write(), "what was loaded");
}

void write_and_load() {
    const test::temporary_folder folder;
    write(folder / "snapshot");
    load(folder / "snapshot");
}

} // namespace exchange

int main(int count, char** words) {
    spdlog::set_level(spdlog::level::err);
    const std::vector<std::string> all(words + 1, words + count);
    try {
        if (all.empty())
            exchange::write_and_load();
        else if (all.size() == 2 && all[0] == "write")
            exchange::write(all[1]);
        else if (all.size() == 2 && all[0] == "load")
            exchange::load(all[1]);
        else
            throw std::invalid_argument("test_snapshot_exchange [write DIR | load DIR]");
        return 0;
    } catch (const std::exception& problem) {
        fmt::print(stderr, "{}\n", problem.what());
        return 1;
    }
}

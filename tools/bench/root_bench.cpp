#include <chainbase/state_root/background_tree.hpp>
#include <chainbase/state_root/state_tree.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/thread_pool.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/driver/generate/generate.hpp>
#include <tools/driver/replay.hpp>
#include <tools/report_json.hpp>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::bench {

namespace {

struct root_options : bench_options {
    std::uint32_t objects = 1'000'000;
    std::uint32_t types = 1;
    std::uint64_t operations = 400'000; ///< in each replayed log; 0: no replay
};
BOOST_DESCRIBE_STRUCT(root_options, (), (objects, types, operations))

/// A generated log with 500 transactions per block, replayed by the driver with a root over all
/// types for each block, and without one.
class root_replay {
public:
    /// Makes the log in `directory`. `prefix` is that of its rows. Throws what writing it throws,
    /// error when interrupted.
    root_replay(const std::filesystem::path& directory, const std::string& chain,
                std::string prefix, std::uint64_t operations, const catch_interruption& signals)
        : directory_(directory), log_(directory / (chain + ".log")), prefix_(std::move(prefix)),
          signals_(signals) {
        generate::chain_options options;
        options.chain = chain;
        options.operations = operations;
        options.transactions_per_block = 500;
        (void)generate::generate_log(options, {}, log_, signals);
        throw_if_interrupted();
    }

    /// Runs both, each in a new state. Throws what driver::replay throws, damaged_error when their
    /// objects differ.
    void run_round(measurements& to) const {
        const outcome without = replay_once(false);
        const outcome with = replay_once(true);
        if (with.digest != without.digest)
            throw damaged_error("bench: the root changed what it commits to: the figures are "
                                "invalid");
        to.add(prefix_ + "replay_without_root", metric::ns, without.ns);
        to.add(prefix_ + "replay_with_root", metric::ns, with.ns);
        to.add(prefix_ + "replay_with_root_to_without", metric::ratio, with.ns / without.ns);
    }

private:
    struct outcome {
        double ns; ///< per operation
        std::string digest;
    };
    [[nodiscard]] outcome replay_once(bool with_root) const {
        malloc_trim(0);
        const scratch_directory place(directory_);
        driver::replay_options how;
        how.block_log = log_;
        how.state = place.path() / "state";
        how.state_settings.level = durability::process;
        if (with_root) how.state_settings.root.types = {"all"};
        const driver::replay_report done = driver::replay(how, signals_);
        throw_if_interrupted();
        return {1e9 * done.seconds / static_cast<double>(done.replayed_operations),
                done.state_digest};
    }

    std::filesystem::path directory_;
    std::filesystem::path log_;
    std::string prefix_;
    const catch_interruption& signals_;
};

using state_root::background_tree;
using state_root::block_digests;
using state_root::id_tree;
using state_root::leaf_update;
using state_root::no_digest;
using state_root::object_changes;
using state_root::proof_result;
using state_root::state_tree;

constexpr const char* type_name = "account";
constexpr std::uint32_t many_changes = 50'000;
constexpr std::uint32_t changes_of_block = 800;
constexpr std::uint32_t blocks_per_round = 10; ///< small blocks, with each number of threads
constexpr std::uint32_t followed_blocks = 100; ///< per round
constexpr std::uint32_t proofs_per_round = 10'000;
constexpr std::uint32_t differing = 1'000;
/// The objects whose records a thread is given at once, as committed_state does for a whole state.
constexpr std::uint32_t records_at_once = 40'000;

void require_figures(bool holds, const char* what) {
    if (!holds) throw damaged_error(std::string("bench: ") + what + "; the figures are invalid");
}

/// A distribution of figures.
class spread {
public:
    void add(double figure) { all_.push_back(figure); }
    /// The percentile: 50 is the median, 100 the largest.
    [[nodiscard]] double at(std::size_t percent) {
        const std::size_t place = std::min(all_.size() * percent / 100, all_.size() - 1);
        const auto found = all_.begin() + static_cast<std::ptrdiff_t>(place);
        std::nth_element(all_.begin(), found, all_.end());
        return *found;
    }

private:
    std::vector<double> all_;
};

/// The objects of a tree, each only a version number, so that the tree alone is measured.
class versioned_objects {
public:
    explicit versioned_objects(std::uint32_t count) : versions_(count) {}

    [[nodiscard]] std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(versions_.size());
    }
    /// Changes an object.
    void change(std::uint32_t id) noexcept { ++versions_[id]; }
    [[nodiscard]] leaf_update leaf(std::uint32_t id) { return {id, hash_.of(record(id))}; }
    [[nodiscard]] std::vector<leaf_update> leaves() {
        std::vector<leaf_update> all;
        all.reserve(count());
        for (std::uint32_t id = 0; id < count(); ++id)
            all.push_back(leaf(id));
        return all;
    }
    void append(std::uint32_t id, object_changes& to) const {
        const auto bytes = record(id);
        to.records.insert(to.records.end(), bytes.begin(), bytes.end());
        to.add(0, id, true);
    }

private:
    using record_bytes = std::array<std::byte, 100>; ///< as large as that of an account

    [[nodiscard]] record_bytes record(std::uint32_t id) const {
        record_bytes all{};
        const std::array<std::uint32_t, 2> what{id, versions_[id]};
        std::memcpy(all.data(), what.data(), sizeof what);
        return all;
    }

    std::vector<std::uint32_t> versions_;
    sha256 hash_;
};

/// What the pages of a tree by id (id_tree.hpp) take, and what they would if all had 16 places.
class page_sizes {
public:
    /// Throws damaged_error where the tree's own count of bytes is another one.
    explicit page_sizes(const id_tree& of) {
        std::vector<level> levels(of.height() / 4);
        of.each([&](std::uint32_t id, const sha256_digest&) {
            for (std::size_t i = 0; i < levels.size(); ++i)
                if (!levels[i].add(std::uint64_t{id} >> 4 * i)) break;
        });
        double held = page_bytes;
        double dense = page_bytes;
        for (level& one : levels) {
            one.end_page();
            const bool is_lowest = &one == levels.data();
            const auto page_of_place = is_lowest ? 0 : page_bytes;
            places_ += one.places;
            dense_places_ += one.pages * 16;
            held += one.places * (digest_bytes + page_of_place) + one.with_sums * sums_bytes;
            dense += one.pages * (16 * (digest_bytes + page_of_place) + sums_bytes);
        }
        require_figures(held == static_cast<double>(of.bytes()), "pages have other sizes");
        bytes_ratio_ = held / dense;
    }
    [[nodiscard]] double places_ratio() const noexcept { return places_ / dense_places_; }
    [[nodiscard]] double bytes_ratio() const noexcept { return bytes_ratio_; }

private:
    static constexpr double digest_bytes = sizeof(sha256_digest);
    static constexpr double sums_bytes = 6 * sizeof(sha256_digest);
    static constexpr double page_bytes = 24; ///< without its digests

    struct level {
        /// Takes the places in rising order. False if that one is known.
        bool add(std::uint64_t place) {
            if (children != 0 && place == last) return false;
            if (children != 0 && place / 16 != last / 16) end_page();
            last = place;
            ++children;
            return true;
        }
        void end_page() {
            constexpr std::array<unsigned, 7> capacities{1, 2, 3, 4, 8, 12, 16};
            const unsigned capacity = *std::ranges::lower_bound(capacities, children);
            children = 0;
            ++pages;
            places += capacity;
            with_sums += capacity > 4;
        }

        std::uint64_t last = 0;
        unsigned children = 0; ///< of the page of `last`
        double pages = 0;
        double places = 0;
        double with_sums = 0; ///< pages
    };

    double places_ = 0;
    double dense_places_ = 0;
    double bytes_ratio_ = 0;
};

class root_rows {
public:
    explicit root_rows(const root_options& options)
        : objects_(options.objects), tree_({type_name}), followed_({type_name}, 1) {
        measured_.select("chainbase");
    }

    void measure_build() {
        const std::vector<leaf_update> all = objects_.leaves();
        const double ns = nanoseconds([&] { tree_.update(0, all, &pool_); });
        measured_.add("build", metric::ns, ns / per_object());
        measured_.add("build_from_records", metric::ns, build_from_records() / per_object());
        require_figures(followed_.settled().root() == tree_.root(),
                        "a tree of the same objects has another root");
        measured_.add("bytes_per_object", metric::bytes, bytes_per_object(tree_.objects(0)));
    }

    void run_round() {
        measure_updates("update_50000", many_changes, 1);
        measure_updates("update_800", changes_of_block, blocks_per_round);
        measure_root_ready();
        measure_proofs();
    }

    void measure_end() {
        measured_.add("bytes_per_object_after_updates", metric::bytes,
                      bytes_per_object(tree_.objects(0)));
        measure_differences();
        measure_root_from_scratch();
    }

    [[nodiscard]] measurements& measured() noexcept { return measured_; }

private:
    [[nodiscard]] double per_object() const noexcept { return objects_.count(); }
    [[nodiscard]] static double bytes_per_object(const id_tree& of) {
        return static_cast<double>(of.bytes()) / static_cast<double>(of.leaves());
    }
    [[nodiscard]] std::uint32_t random_id() {
        return static_cast<std::uint32_t>(random_() % objects_.count());
    }

    /// In a thread, as where a state is opened after a kill; the records are made beside it.
    double build_from_records() {
        return nanoseconds([&] {
            object_changes some;
            for (std::uint32_t id = 0; id < objects_.count(); ++id) {
                objects_.append(id, some);
                if (some.changes.size() < records_at_once) continue;
                throw_if_interrupted();
                (void)followed_.update(std::move(some));
                some = followed_.empty_changes();
            }
            (void)followed_.update(std::move(some));
            (void)followed_.settled();
        });
    }

    /// Changes this many objects.
    struct changed_objects {
        std::vector<leaf_update> leaves;
        object_changes records; ///< of the same
    };
    [[nodiscard]] changed_objects change(std::uint32_t count) {
        throw_if_interrupted();
        std::set<std::uint32_t> ids;
        while (ids.size() < count)
            ids.insert(random_id());
        changed_objects changed{{}, followed_.empty_changes()};
        for (const std::uint32_t id : ids) {
            objects_.change(id);
            changed.leaves.push_back(objects_.leaf(id));
            objects_.append(id, changed.records);
        }
        return changed;
    }

    /// Alternates between one thread and two.
    void measure_updates(const std::string& name, std::uint32_t count, std::uint32_t blocks) {
        const std::array<thread_pool*, 2> pools{nullptr, &pool_};
        std::array<double, 2> ns{};
        for (std::uint32_t block = 0; block < blocks; ++block)
            for (std::size_t i = 0; i < pools.size(); ++i) {
                changed_objects changed = change(count);
                sha256_digest root{};
                ns[i] += nanoseconds([&] {
                    tree_.update(0, changed.leaves, pools[i]);
                    root = tree_.root();
                });
                const auto done = followed_.update(std::move(changed.records));
                require_figures(done.get().root == root, "two trees have different roots");
            }
        measured_.add(name + "_one_thread", metric::ns, ns[0] / blocks);
        measured_.add(name + "_two_threads", metric::ns, ns[1] / blocks);
    }

    /// How long a block's root takes from when its records were handed over.
    void measure_root_ready() {
        spread ready;
        for (std::uint32_t block = 0; block < followed_blocks; ++block) {
            changed_objects changed = change(changes_of_block);
            block_digests found{};
            ready.add(
                nanoseconds([&] { found = followed_.update(std::move(changed.records)).get(); }));
            tree_.update(0, changed.leaves);
            require_figures(found.root == tree_.root(), "two trees have different roots");
        }
        measured_.add("root_ready_after_block", metric::ns, ready.at(50));
        measured_.add("root_ready_after_block_p99", metric::ns, ready.at(99));
    }

    void measure_proofs() {
        const sha256_digest root = tree_.root();
        spread making;
        spread verifying;
        spread bytes;
        for (std::uint32_t i = 0; i < proofs_per_round; ++i) {
            const std::uint32_t id = random_id();
            std::vector<std::byte> proof;
            making.add(nanoseconds([&] { proof = tree_.prove(0, id); }));
            const sha256_digest leaf = objects_.leaf(id).leaf;
            proof_result found = proof_result::invalid;
            verifying.add(
                nanoseconds([&] { found = state_tree::verify(root, type_name, id, leaf, proof); }));
            require_figures(found == proof_result::included, "a proof does not hold");
            bytes.add(static_cast<double>(proof.size()));
        }
        measured_.add("prove", metric::ns, making.at(50));
        measured_.add("prove_p99", metric::ns, making.at(99));
        measured_.add("verify", metric::ns, verifying.at(50));
        measured_.add("verify_p99", metric::ns, verifying.at(99));
        measured_.add("proof_bytes", metric::bytes, bytes.at(50));
        measured_.add("proof_bytes_largest", metric::bytes, bytes.at(100));
    }

    /// Of two trees, of which the second lacks some changes.
    void measure_differences() {
        for (const auto& [name, count] :
             {std::pair("diff_1", std::uint32_t{1}), std::pair("diff_1000", differing)}) {
            changed_objects changed = change(count);
            tree_.update(0, changed.leaves);
            const state_tree& other = followed_.settled();
            std::uint32_t found = 0;
            measured_.add(name, metric::ns, nanoseconds([&] {
                              id_tree::differences(tree_.objects(0), other.objects(0),
                                                   [&](std::uint32_t) { ++found; });
                          }));
            require_figures(found == count, "two trees differ in other objects than were changed");
            (void)followed_.update(std::move(changed.records));
        }
    }

    void measure_root_from_scratch() {
        const std::vector<leaf_update> all = objects_.leaves();
        state_tree anew({type_name});
        sha256_digest root{};
        const double ns = nanoseconds([&] {
            anew.update(0, all, &pool_);
            root = anew.root();
        });
        require_figures(root == tree_.root(), "the root computed from scratch differs");
        measured_.add("root_from_scratch", metric::ns, ns);
        measure_sparse(anew);
    }

    /// What a tree takes whose objects are removed at random, and one of keys: any ids of 32 bits.
    void measure_sparse(state_tree& tree) {
        remove_some(tree, 0.5);
        add_shape("_half_gone", tree.objects(0));
        remove_some(tree, 0.9);
        add_shape("_95_gone", tree.objects(0));
        std::set<std::uint32_t> ids;
        while (ids.size() < objects_.count())
            ids.insert(static_cast<std::uint32_t>(random_()));
        std::vector<leaf_update> leaves;
        for (const std::uint32_t id : ids)
            leaves.push_back({id, tree_.root()});
        state_tree of_keys({type_name});
        of_keys.update(0, leaves, &pool_);
        add_shape("", of_keys.objects(0));
    }
    void add_shape(const std::string& of, const state_root::id_tree& tree) {
        const page_sizes pages(tree);
        measured_.add("bytes_per_object" + (of.empty() ? "_of_keys" : of), metric::bytes,
                      bytes_per_object(tree));
        measured_.add("inner_node_ratio" + of, metric::ratio, pages.places_ratio());
        measured_.add("node_bytes_ratio" + of, metric::ratio, pages.bytes_ratio());
    }
    /// Each object with this chance.
    void remove_some(state_tree& from, double chance) {
        std::bernoulli_distribution is_gone(chance);
        std::vector<leaf_update> gone;
        from.objects(0).each([&](std::uint32_t id, const sha256_digest&) {
            if (is_gone(random_)) gone.push_back({id, no_digest});
        });
        from.update(0, gone, &pool_);
    }

    versioned_objects objects_;
    state_tree tree_;
    background_tree followed_; ///< of the same objects, by their records
    thread_pool pool_{1};
    measurements measured_;
    std::mt19937_64 random_{1};
};

/// Makes a tree of this many objects and measures its size; then in each round blocks that change
/// random objects, with one thread, with two and in a thread that follows, and proofs; finally the
/// differences of two trees, the root from scratch, and trees from which many objects are gone.
/// Then replays a generated log of each chain with a root for each block and without one.
///
/// Throws damaged_error when a root, a proof or a difference is wrong, what replaying throws, error
/// when interrupted.
void run_root(const root_options& options) {
    require_space(options.directory, (std::uintmax_t{1} << 30) + options.operations * 400,
                  "fewer operations");
    const bench_run run("root", options);
    const scratch_directory place(options.directory);
    measurements measured;
    {
        root_rows rows(options);
        rows.measure_build();
        run.each_round([&] { rows.run_round(); });
        rows.measure_end();
        measured = std::move(rows.measured());
    }
    if (options.operations != 0) {
        const root_replay social(place.path(), "social", "", options.operations, run.signals());
        const root_replay payments(place.path(), "payments", "payments_", options.operations,
                                   run.signals());
        run.each_round(
            [&] {
                social.run_round(measured);
                payments.run_round(measured);
            },
            "replay");
    }
    run.print(measured.rows(), json_of(options),
              "a tree of " + std::to_string(options.objects) + " objects",
              "ns; bytes and ratios where the name says so",
              "(the goal of update_50000 is for 10 M objects, that of proof_bytes for 1 M)\n");
}

} // namespace

void declare_root(command& verb) {
    const auto options = std::make_shared<root_options>();
    options->rounds = 5;
    verb.add_option("--objects", options->objects, "How many objects the tree commits to")
        .shows_default()
        .whole_number(100'000, 100'000'000);
    verb.add_option("--operations", options->operations,
                    "Operations of each log that is replayed with and without a root; 0: no replay")
        .shows_default()
        .whole_number(0, 100'000'000);
    declare_common(verb, *options, "Rounds, all settings in each", "Where the states are made");
    verb.runs([options] {
        run_root(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

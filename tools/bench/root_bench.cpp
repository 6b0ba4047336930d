#include <chainbase/database.hpp>
#include <chainbase/state_root/merkle_tree.hpp>
#include <chainbase/state_root/proof.hpp>
#include <chainbase/state_root/state_tree.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/thread_pool.hpp>
#include <tools/bench/allocations.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/driver/generate/generate.hpp>
#include <tools/driver/replay.hpp>
#include <tools/report_json.hpp>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::bench {

namespace {

/// The batch size of committed_state::rebuild().
constexpr std::uint32_t leaves_at_once = 1'000'000;

struct root_options : bench_options {
    std::uint32_t objects = 1'000'000;
    std::uint32_t types = 1;
    std::uint64_t operations = 400'000; ///< in the replayed log; 0: no replay
};
BOOST_DESCRIBE_STRUCT(root_options, (), (objects, types, operations))

/// A generated log of the social chain with 500 transactions per block, replayed by the driver with
/// a root over all types for each block, and without one.
class root_replay {
public:
    /// Makes the log in `directory`. Throws what writing it throws, error when interrupted.
    root_replay(const std::filesystem::path& directory, std::uint64_t operations,
                const catch_interruption& signals)
        : directory_(directory), log_(directory / "log"), signals_(signals) {
        generate::chain_options chain;
        chain.operations = operations;
        chain.transactions_per_block = 500;
        (void)generate::generate_log(chain, {}, log_, signals);
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
        to.add("replay_without_root", metric::ns, without.ns);
        to.add("replay_with_root", metric::ns, with.ns);
        to.add("replay_with_root_to_without", metric::ratio, with.ns / without.ns);
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
    const catch_interruption& signals_;
};

/// The objects of a tree, each only a version number, so that the tree alone is measured.
class versioned_objects {
public:
    static constexpr std::string_view type = "account";

    explicit versioned_objects(std::uint32_t count) : versions_(count) {}

    [[nodiscard]] std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(versions_.size());
    }
    /// The digest of an object's current record.
    [[nodiscard]] sha256_digest content(std::uint32_t id) {
        const std::array<std::uint32_t, 2> record{id, versions_[id]};
        return hash_.content(std::as_bytes(std::span(record)));
    }
    /// The leaf of an object's current value; `number` is its type's number in the tree.
    [[nodiscard]] state_root::leaf_change leaf(std::uint32_t id, std::uint16_t number) {
        const sha256_digest key = hash_.key(type, id);
        return {key, hash_.leaf(key, content(id)), id, number, true};
    }
    /// Changes an object.
    void change(std::uint32_t id) noexcept { ++versions_[id]; }
    /// All current leaves.
    [[nodiscard]] std::vector<state_root::whole_leaf> leaves() {
        std::vector<state_root::whole_leaf> all;
        all.reserve(count());
        for (std::uint32_t id = 0; id < count(); ++id) {
            const state_root::leaf_change one = leaf(id, 0);
            all.push_back({one.key, one.leaf});
        }
        return all;
    }

private:
    std::vector<std::uint32_t> versions_;
    state_root::tree_hash hash_;
};

/// A tree in its own state.
class root_tree {
public:
    explicit root_tree(const std::filesystem::path& state)
        : state_(state, options_for_bench()), tree_(state_) {
        const std::string type(versioned_objects::type);
        tree_.reset({type});
        number_ = tree_.type_numbers().at(type);
    }
    /// Its files are removed, so it writes nothing more.
    ~root_tree() { state_.abandon(); }

    /// Adds all objects, in parts as when a state's root is rebuilt. Returns the tree's time in ns,
    /// without making the leaves. `pool` may be null. Throws error when interrupted.
    double build(versioned_objects& objects, thread_pool* pool) {
        double ns = 0;
        for (std::uint32_t begin = 0; begin < objects.count();) {
            throw_if_interrupted();
            const std::uint32_t end = begin + std::min(leaves_at_once, objects.count() - begin);
            std::vector<state_root::leaf_change> part;
            part.reserve(end - begin);
            for (; begin < end; ++begin)
                part.push_back(objects.leaf(begin, number_));
            ns += nanoseconds([&] { tree_.update(std::move(part), pool); });
        }
        return ns;
    }
    /// Updates the tree as a block, which is pushed and committed.
    void apply_block(std::vector<state_root::leaf_change> changes, thread_pool* pool) {
        session block = state_.start_session();
        tree_.update(std::move(changes), pool);
        block.push();
        state_.commit(state_.revision());
    }

    [[nodiscard]] std::uint16_t type_number() const noexcept { return number_; }
    [[nodiscard]] const state_root::merkle_tree& tree() const noexcept { return tree_; }
    /// Bytes of all files of the tree's types.
    [[nodiscard]] std::uint64_t held_bytes() const {
        std::uint64_t sum = 0;
        for (const type_statistics& type : state_.statistics().types)
            if (type.name.starts_with("state_root.")) sum += type.total().total;
        return sum;
    }

private:
    database state_;
    state_root::merkle_tree tree_;
    std::uint16_t number_;
};

using state_root::node_view;
using state_root::proof_result;

constexpr std::uint32_t many_changes = 50'000;
constexpr std::uint32_t changes_of_block = 800;
constexpr std::uint32_t blocks_per_round = 10; ///< small blocks, with each number of threads
constexpr std::uint32_t proofs_per_round = 10'000;
constexpr std::uint32_t differing = 1'000;

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

/// Bytes of a tree's nodes, and their size if all arrays had 16 places.
struct node_bytes {
    explicit node_bytes(const state_root::tree_shape& shape) {
        for (unsigned number = 0; number < state_root::capacities.size(); ++number) {
            const auto nodes = static_cast<double>(shape.nodes_by_capacity[number]);
            const unsigned capacity = state_root::capacities[number];
            places += nodes * capacity;
            dense_places += nodes * state_root::branches_per_node;
            bytes += nodes * static_cast<double>(node_view::bytes(capacity));
            dense_bytes +=
                nodes * static_cast<double>(node_view::groups_at(state_root::branches_per_node));
        }
    }
    double places = 0; ///< child places of 38 bytes each: digest, reference, type
    double dense_places = 0;
    double bytes = 0; ///< including heads and group digests
    double dense_bytes = 0;
};

class root_rows {
public:
    root_rows(const root_options& options, const std::filesystem::path& place)
        : place_(place), objects_(options.objects), tree_(place / "tree") {
        measured_.select("chainbase");
    }

    void measure_build() {
        const double ns = tree_.build(objects_, &pool_);
        measured_.add("build", metric::ns, ns / per_object());
        std::vector<state_root::leaf_update> all;
        for (std::uint32_t id = 0; id < objects_.count(); ++id)
            all.push_back({id, objects_.content(id)});
        const double by_id_ns = nanoseconds([&] { by_id_.update(0, all, &pool_); });
        measured_.add("by_id_build", metric::ns, by_id_ns / per_object());
        measured_.add("by_id_bytes_per_object", metric::bytes,
                      static_cast<double>(by_id_.bytes()) / per_object());
        const node_bytes nodes(state_root::tree_shape::of(tree_.tree().nodes()));
        measured_.add("inner_node_ratio", metric::ratio, nodes.places / nodes.dense_places);
        measured_.add("node_bytes_ratio", metric::ratio, nodes.bytes / nodes.dense_bytes);
        measured_.add("node_bytes_per_object", metric::bytes, nodes.bytes / per_object());
        measured_.add("bytes_per_object", metric::bytes, held_per_object());
    }

    void run_round() {
        measure_updates("update_50000", many_changes, 1);
        measure_updates("update_800", changes_of_block, blocks_per_round);
        measure_updates_by_id("by_id_update_50000", many_changes, 1);
        measure_updates_by_id("by_id_update_800", changes_of_block, blocks_per_round);
        measure_proofs();
    }

    void measure_end() {
        measured_.add("bytes_per_object_after_updates", metric::bytes, held_per_object());
        measure_root_from_scratch();
        measure_differences();
    }

    [[nodiscard]] measurements& measured() noexcept { return measured_; }

private:
    struct block_cost {
        double ns = 0;
        double allocations = 0;
    };

    [[nodiscard]] double per_object() const noexcept { return objects_.count(); }
    [[nodiscard]] double held_per_object() const {
        return static_cast<double>(tree_.held_bytes()) / per_object();
    }
    [[nodiscard]] std::uint32_t random_id() {
        return static_cast<std::uint32_t>(random_() % objects_.count());
    }

    /// Changes this many objects and makes their leaves, untimed.
    [[nodiscard]] std::vector<state_root::leaf_change> change(std::uint32_t count) {
        std::vector<bool> taken(objects_.count());
        std::vector<state_root::leaf_change> changes;
        while (changes.size() < count) {
            const std::uint32_t id = random_id();
            if (taken[id]) continue;
            taken[id] = true;
            objects_.change(id);
            changes.push_back(objects_.leaf(id, tree_.type_number()));
        }
        return changes;
    }
    [[nodiscard]] block_cost apply_block(std::uint32_t count, thread_pool* pool) {
        throw_if_interrupted();
        auto changes = change(count);
        const counted_allocations counted;
        const double ns = nanoseconds([&] { tree_.apply_block(std::move(changes), pool); });
        return {ns, static_cast<double>(counted.so_far())};
    }
    /// Alternates between one thread and two.
    void measure_updates(const std::string& name, std::uint32_t count, std::uint32_t blocks) {
        block_cost alone;
        block_cost helped;
        const auto add = [](block_cost& to, const block_cost& one) {
            to.ns += one.ns;
            to.allocations += one.allocations;
        };
        for (std::uint32_t block = 0; block < blocks; ++block) {
            add(alone, apply_block(count, nullptr));
            add(helped, apply_block(count, &pool_));
        }
        const double changes = static_cast<double>(count) * blocks;
        measured_.add(name + "_one_thread", metric::ns, alone.ns / blocks);
        measured_.add(name + "_two_threads", metric::ns, helped.ns / blocks);
        measured_.add(name + "_one_thread_allocations", metric::count, alone.allocations / changes);
        measured_.add(name + "_two_threads_allocations", metric::count,
                      helped.allocations / changes);
    }

    /// As many changes in the tree by id, and its root.
    void measure_updates_by_id(const std::string& name, std::uint32_t count, std::uint32_t blocks) {
        for (const auto& [threads, pool] :
             {std::pair("_one_thread", static_cast<thread_pool*>(nullptr)),
              std::pair("_two_threads", &pool_)}) {
            double ns = 0;
            for (std::uint32_t block = 0; block < blocks; ++block) {
                throw_if_interrupted();
                std::set<std::uint32_t> ids;
                while (ids.size() < count)
                    ids.insert(random_id());
                std::vector<state_root::leaf_update> changes;
                for (const std::uint32_t id : ids) {
                    changes.push_back({id, by_id_.objects(0).leaf(id)});
                    changes.back().leaf[random_() % 32] ^= std::byte{1};
                }
                ns += nanoseconds([&] {
                    by_id_.update(0, changes, pool);
                    root_by_id_ = by_id_.root();
                });
            }
            measured_.add(name + threads, metric::ns, ns / blocks);
        }
    }

    void measure_proofs() {
        const auto& nodes = tree_.tree().nodes();
        const sha256_digest root = tree_.tree().root();
        const auto content = [&](std::string_view, std::uint32_t id) {
            return objects_.content(id);
        };
        const std::string_view type = versioned_objects::type;
        measure_proofs(
            "", [&](std::uint32_t id) { return state_root::prove(nodes, type, id, content); },
            [&](std::uint32_t id) { return objects_.content(id); },
            [&](std::uint32_t id, const sha256_digest& own, const std::vector<std::byte>& proof) {
                return state_root::verify(root, type, id, own, proof);
            });
        measure_proofs(
            "by_id_", [&](std::uint32_t id) { return by_id_.prove(0, id); },
            [&](std::uint32_t id) { return by_id_.objects(0).leaf(id); },
            [&](std::uint32_t id, const sha256_digest& own, const std::vector<std::byte>& proof) {
                return state_root::state_tree::verify(root_by_id_, type, id, own, proof);
            });
    }
    template <typename Prove, typename Own, typename Verify>
    void measure_proofs(const std::string& of, Prove&& prove, Own&& own, Verify&& verify) {
        spread making;
        spread verifying;
        spread bytes;
        for (std::uint32_t i = 0; i < proofs_per_round; ++i) {
            const std::uint32_t id = random_id();
            std::vector<std::byte> proof;
            making.add(nanoseconds([&] { proof = prove(id); }));
            const sha256_digest digest = own(id);
            proof_result found = proof_result::invalid;
            verifying.add(nanoseconds([&] { found = verify(id, digest, proof); }));
            require_figures(found == proof_result::included, "a proof does not hold");
            bytes.add(static_cast<double>(proof.size()));
        }
        measured_.add(of + "prove", metric::ns, making.at(50));
        measured_.add(of + "prove_p99", metric::ns, making.at(99));
        measured_.add(of + "verify", metric::ns, verifying.at(50));
        measured_.add(of + "verify_p99", metric::ns, verifying.at(99));
        measured_.add(of + "proof_bytes", metric::bytes, bytes.at(50));
        measured_.add(of + "proof_bytes_largest", metric::bytes, bytes.at(100));
    }

    void measure_root_from_scratch() {
        std::vector<state_root::whole_leaf> leaves = objects_.leaves();
        sha256_digest root{};
        const double ns = nanoseconds([&] { root = state_root::root_of(std::move(leaves)); });
        require_figures(root == tree_.tree().root(), "the root computed from scratch differs");
        measured_.add("root_from_scratch", metric::ns, ns);
    }

    /// Compares with a second tree of the same objects, some of which change in the first.
    void measure_differences() {
        root_tree other(place_ / "other");
        measured_.add("build", metric::ns, other.build(objects_, &pool_) / per_object());
        require_figures(other.tree().root() == tree_.tree().root(),
                        "a tree of the same objects has another root");
        const auto change_of_one = change(1);
        tree_.apply_block(change_of_one, nullptr);
        measured_.add("diff_1", metric::ns, difference_from(other, 1));
        other.apply_block(change_of_one, nullptr);
        tree_.apply_block(change(differing), nullptr);
        measured_.add("diff_1000", metric::ns, difference_from(other, differing));
    }
    [[nodiscard]] double difference_from(const root_tree& other, std::uint64_t expected) const {
        std::uint64_t found = 0;
        const double ns = nanoseconds([&] {
            state_root::diff(tree_.tree().nodes(), other.tree().nodes(),
                             [&](const state_root::difference&) { ++found; });
        });
        require_figures(found == expected, "two trees differ in other objects than were changed");
        return ns;
    }

    std::filesystem::path place_;
    versioned_objects objects_;
    root_tree tree_;
    state_root::state_tree by_id_{{std::string(versioned_objects::type)}};
    sha256_digest root_by_id_{};
    thread_pool pool_{1};
    measurements measured_;
    std::mt19937_64 random_{1};
};

/// Makes a tree of this many objects and measures its size; then in each round blocks that change
/// random objects, with one thread and with two, and proofs; finally its difference to another
/// tree, and rebuilding the root. Then replays a generated log with a root for each block and
/// without one.
///
/// Throws damaged_error when a root, a proof or a difference is wrong, what replaying throws, error
/// when interrupted.
void run_root(const root_options& options) {
    require_space(options.directory,
                  (std::uintmax_t{1} << 30) + options.objects * 250ull + options.operations * 200,
                  "fewer objects");
    const bench_run run("root", options);
    const scratch_directory place(options.directory);
    root_rows rows(options, place.path());
    rows.measure_build();
    run.each_round([&] { rows.run_round(); });
    rows.measure_end();
    if (options.operations != 0) {
        const root_replay log(place.path(), options.operations, run.signals());
        run.each_round([&] { log.run_round(rows.measured()); }, "replay");
    }
    run.print(rows.measured().rows(), json_of(options),
              "a tree of " + std::to_string(options.objects) + " objects",
              "ns; bytes, ratios and numbers where the name says so",
              "(the goal of update_50000 is for 10 M objects, those of proofs for 1 M)\n");
}

} // namespace

void declare_root(command& verb) {
    const auto options = std::make_shared<root_options>();
    options->rounds = 5;
    verb.add_option("--objects", options->objects, "How many objects the tree commits to")
        .shows_default()
        .whole_number(100'000, 100'000'000);
    verb.add_option("--operations", options->operations,
                    "Operations of the log that is replayed with and without a root; 0: no replay")
        .shows_default()
        .whole_number(0, 100'000'000);
    declare_common(verb, *options, "Rounds, all settings in each", "Where the states are made");
    verb.runs([options] {
        run_root(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

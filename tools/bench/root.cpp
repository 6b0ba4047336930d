#include <chainbase/state_root/merkle_tree.hpp>
#include <chainbase/state_root/proof.hpp>
#include <pool_allocator/error.hpp>
#include <tools/bench/allocations.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/machine.hpp>
#include <tools/bench/report.hpp>
#include <tools/bench/root.hpp>
#include <tools/bench/root_replay.hpp>
#include <tools/bench/root_tree.hpp>
#include <tools/bench/scratch_directory.hpp>
#include <tools/bench/stopwatch.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::bench {

namespace {

using state_root::node_view;
using state_root::shown;

constexpr std::uint32_t many_changes = 50'000;
constexpr std::uint32_t changes_of_block = 800;
constexpr std::uint32_t blocks_per_round = 10; ///< of the small ones, with as many threads each
constexpr std::uint32_t proofs_per_round = 10'000;
constexpr std::uint32_t differing = 1'000;

void require_figures(bool holds, const char* what) {
    if (!holds) throw damaged_error(std::string("bench: ") + what + "; no figure counts");
}

/// Many figures of one kind.
class spread {
public:
    void add(double figure) { all_.push_back(figure); }
    /// That of which `percent` are not larger: 50, the median; 100, the largest.
    [[nodiscard]] double at(std::size_t percent) {
        const std::size_t place = std::min(all_.size() * percent / 100, all_.size() - 1);
        const auto found = all_.begin() + static_cast<std::ptrdiff_t>(place);
        std::nth_element(all_.begin(), found, all_.end());
        return *found;
    }

private:
    std::vector<double> all_;
};

/// Bytes of the nodes of a tree, and what they would be if all arrays were of 16.
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
    double places = 0; ///< for children, of 38 bytes each: digest, reference, type
    double dense_places = 0;
    double bytes = 0; ///< with heads and kept groups
    double dense_bytes = 0;
};

class root_rows {
public:
    root_rows(const root_options& options, const std::filesystem::path& place)
        : place_(place), objects_(options.objects), tree_(place / "tree") {
        measured_.select("chainbase");
    }

    void measure_build() {
        const double ns = tree_.build(objects_, &helping_);
        measured_.add("build", metric::ns, ns / per_object());
        const node_bytes nodes(state_root::tree_shape::of(tree_.tree().nodes()));
        measured_.add("inner_node_ratio", metric::ratio, nodes.places / nodes.dense_places);
        measured_.add("node_bytes_ratio", metric::ratio, nodes.bytes / nodes.dense_bytes);
        measured_.add("node_bytes_per_object", metric::bytes, nodes.bytes / per_object());
        measured_.add("bytes_per_object", metric::bytes, held_per_object());
    }

    void run_round() {
        measure_updates("update_50000", many_changes, 1);
        measure_updates("update_800", changes_of_block, blocks_per_round);
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

    /// Changes so many objects, and makes their leaves, which is not timed.
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
    [[nodiscard]] block_cost apply_block(std::uint32_t count, state_root::helpers* helping) {
        throw_if_interrupted();
        auto changes = change(count);
        const counted_allocations counted;
        const double ns = nanoseconds([&] { tree_.apply_block(std::move(changes), helping); });
        return {ns, static_cast<double>(counted.so_far())};
    }
    /// With one thread and with two in turns.
    void measure_updates(const std::string& name, std::uint32_t count, std::uint32_t blocks) {
        block_cost alone;
        block_cost helped;
        const auto add = [](block_cost& to, const block_cost& one) {
            to.ns += one.ns;
            to.allocations += one.allocations;
        };
        for (std::uint32_t block = 0; block < blocks; ++block) {
            add(alone, apply_block(count, nullptr));
            add(helped, apply_block(count, &helping_));
        }
        const double changes = static_cast<double>(count) * blocks;
        measured_.add(name + "_one_thread", metric::ns, alone.ns / blocks);
        measured_.add(name + "_two_threads", metric::ns, helped.ns / blocks);
        measured_.add(name + "_one_thread_allocations", metric::count, alone.allocations / changes);
        measured_.add(name + "_two_threads_allocations", metric::count,
                      helped.allocations / changes);
    }

    void measure_proofs() {
        const auto& nodes = tree_.tree().nodes();
        const sha256_digest root = tree_.tree().root();
        const auto content = [&](std::string_view, std::uint32_t id) {
            return objects_.content(id);
        };
        spread making;
        spread verifying;
        spread bytes;
        for (std::uint32_t i = 0; i < proofs_per_round; ++i) {
            const std::uint32_t id = random_id();
            std::vector<std::byte> proof;
            making.add(nanoseconds(
                [&] { proof = state_root::prove(nodes, versioned_objects::type, id, content); }));
            const sha256_digest own = objects_.content(id);
            shown found = shown::nothing;
            verifying.add(nanoseconds([&] {
                found = state_root::verify(root, versioned_objects::type, id, own, proof);
            }));
            require_figures(found == shown::included, "a proof does not hold");
            bytes.add(static_cast<double>(proof.size()));
        }
        measured_.add("prove", metric::ns, making.at(50));
        measured_.add("prove_p99", metric::ns, making.at(99));
        measured_.add("verify", metric::ns, verifying.at(50));
        measured_.add("verify_p99", metric::ns, verifying.at(99));
        measured_.add("proof_bytes", metric::bytes, bytes.at(50));
        measured_.add("proof_bytes_largest", metric::bytes, bytes.at(100));
    }

    void measure_root_from_scratch() {
        std::vector<state_root::whole_leaf> leaves = objects_.leaves();
        sha256_digest root{};
        const double ns = nanoseconds([&] { root = state_root::root_of(std::move(leaves)); });
        require_figures(root == tree_.tree().root(), "the root from scratch is another one");
        measured_.add("root_from_scratch", metric::ns, ns);
    }

    /// Beside a second tree of the same objects, of which some change in the first.
    void measure_differences() {
        root_tree other(place_ / "other");
        measured_.add("build", metric::ns, other.build(objects_, &helping_) / per_object());
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
        require_figures(found == expected, "two trees do not differ in what was changed");
        return ns;
    }

    std::filesystem::path place_;
    versioned_objects objects_;
    root_tree tree_;
    state_root::helpers helping_{1};
    measurements measured_;
    std::mt19937_64 random_{1};
};

void measure_replay(const root_options& options, const std::filesystem::path& place,
                    const catch_interruption& signals, measurements& to) {
    if (options.operations == 0) return;
    const root_replay log(place, options.operations, signals);
    for (std::uint32_t round = 1; round <= options.rounds; ++round) {
        spdlog::info("replay {} of {}", round, options.rounds);
        log.run_round(to);
    }
}

std::vector<row> measure_rounds(const root_options& options, const catch_interruption& signals) {
    const scratch_directory place(options.directory);
    root_rows rows(options, place.path());
    rows.measure_build();
    for (std::uint32_t round = 1; round <= options.rounds; ++round) {
        spdlog::info("round {} of {}", round, options.rounds);
        rows.run_round();
    }
    rows.measure_end();
    measure_replay(options, place.path(), signals, rows.measured());
    return rows.measured().rows();
}

} // namespace

void run_root(const root_options& options) {
    require_space(options.directory,
                  (std::uintmax_t{1} << 30) + options.objects * 250ull + options.operations * 200,
                  "fewer objects");
    warn_about_conditions();
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    const nlohmann::json machine = describe_machine(options.directory);
    const report result{"root", machine,        options.objects,
                        1,      options.rounds, measure_rounds(options, signals)};
    if (options.json) {
        auto all = to_json(result);
        all["operations"] = options.operations;
        return print_or_throw(all.dump().append("\n"));
    }
    std::ostringstream text;
    text << "root: a tree of " << options.objects << " objects; medians of " << options.rounds
         << " rounds; " << in_words(machine)
         << "\nns; bytes, ratios and numbers where the name says so\n\n";
    print_rows(text, result.rows);
    text << "(the goal of update_50000 is for 10 M objects, those of proofs for 1 M)\n";
    print_or_throw(text.str());
}

} // namespace chainbase::bench

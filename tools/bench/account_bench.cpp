#include <pool_allocator/base/error.hpp>
#include <tools/bench/account_engine.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/report_json.hpp>

#include <malloc.h>
#include <sys/prctl.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace chainbase::bench {

namespace {

constexpr std::uint32_t max_per_batch = 100'000;
constexpr std::uint32_t max_small_sessions = 10'000;
constexpr std::uint32_t max_scanned = 250'000;

/// 16 letters of five random bits each: 80 bits, so that names are unique in practice.
account_name random_name(std::uint64_t seed) {
    static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    std::string text(account_name::capacity, ' ');
    for (std::size_t half = 0; half < 2; ++half) {
        std::uint64_t bits = mix(seed ^ mix(half));
        for (std::size_t i = 0; i < 8; ++i, bits >>= 5)
            text[half * 8 + i] = letters[bits & 31];
    }
    return account_name(text);
}

account random_account(std::uint64_t id, std::uint64_t seed) {
    account result;
    result.id = id;
    result.name = random_name(mix(seed + id));
    result.balance = static_cast<std::int64_t>(mix(~seed ^ id) >> 24);
    result.savings = result.balance / 2;
    result.vesting = result.balance / 3;
    result.debt = result.balance / 5;
    result.created = static_cast<std::uint32_t>(id);
    return result;
}

} // namespace

account_plan::account_plan(std::uint32_t objects, std::uint64_t seed)
    : objects_(objects), batch_(std::min(objects / 4, max_per_batch)),
      small_sessions_(std::min(batch_, max_small_sessions)), scan_(std::min(objects, max_scanned)),
      seed_(seed) {
    accounts_.reserve(std::size_t{objects_} + batch_);
    for (std::uint64_t id = 0; id < std::uint64_t{objects_} + batch_; ++id)
        accounts_.push_back(random_account(id, seed));
}

std::vector<std::uint32_t> account_plan::random_ids(std::uint64_t row, std::uint32_t count) const {
    std::vector<std::uint32_t> ids(objects_);
    std::iota(ids.begin(), ids.end(), 0U);
    std::uint64_t state = mix(seed_ ^ mix(row));
    for (std::uint32_t i = 0; i < count; ++i) {
        state = mix(state);
        std::swap(ids[i], ids[i + state % (objects_ - i)]);
    }
    ids.resize(count);
    ids.shrink_to_fit();
    return ids;
}

namespace {

/// In the order of execution and in the report.
constexpr struct {
    std::string_view name;
    std::unique_ptr<account_engine> (*make)();
} account_engines[] = {
    {"chainbase", make_chainbase_engine},
    {"chainbase-btree", make_chainbase_btree_engine},
    {"classical", make_classical_engine},
    {"heap", make_heap_engine},
    {"offset_ptr_pool", make_offset_ptr_pool_engine},
    {"node_allocator", make_node_allocator_engine},
    {"adaptive_pool", make_adaptive_pool_engine},
    {"lmdb", make_lmdb_engine},
    {"rocksdb", make_rocksdb_engine},
};

/// The same objects and orders on every machine and run.
constexpr std::uint64_t seed = 0x636861696e;

struct account_options : bench_options {
    std::uint32_t objects = 1'000'000;
    std::uint32_t types = 60;
    std::vector<std::string> engines;
    bool small_pages = false;
};
BOOST_DESCRIBE_STRUCT(account_options, (), (objects, types))

void check_space(const account_options& options) {
    constexpr std::uintmax_t per_object = 700;
    require_space(options.directory, (std::uintmax_t{64} << 20) + options.objects * per_object,
                  "fewer objects");
}

using measured_group = void (account_engine::*)(const account_plan&, const store_options&,
                                                measurements&);

/// Runs one group of rows in its own folder. Returns free memory to the system between two engines,
/// so that none starts with its predecessor's heap.
void run_group(account_engine& engine, measured_group group, const account_plan& plan,
               const account_options& options, measurements& out) {
    throw_if_interrupted();
    const scratch_directory scratch(options.directory);
    const bool sessions = group == &account_engine::measure_sessions;
    (engine.*
     group)(plan,
            {scratch.path(), plan.objects() + plan.batch(), sessions ? options.types : 1, sessions},
            out);
    malloc_trim(0);
}

/// For the whole process, whatever an engine requests.
void do_without_huge_pages() {
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
        throw error("bench: this system does not let a process turn off huge pages; leave out "
                    "--small-pages");
}

void run(const account_options& options) {
    if (options.small_pages) do_without_huge_pages();
    check_space(options);
    const bench_run run("account", options);
    const account_plan plan(options.objects, seed);
    measurements measured;
    run.each_engine(account_engines, options.engines, [&](const auto& entry) {
        const auto engine = entry.make();
        measured.select(entry.name);
        for (const measured_group group :
             {&account_engine::measure_plain, &account_engine::measure_hashed,
              &account_engine::measure_sessions})
            run_group(*engine, group, plan, options, measured);
    });
    run.print(measured.rows(), json_of(options),
              std::to_string(options.objects) + " objects, " + std::to_string(options.types) +
                  " types",
              "ns per operation, bytes where the name says so; in brackets the ratio to classical");
}

} // namespace

void declare_account(command& verb) {
    const auto options = std::make_shared<account_options>();
    verb.add_option("--objects", options->objects, "How many objects")
        .shows_default()
        .whole_number(account_plan::min_objects, 500'000'000);
    verb.add_option("--types", options->types, "Types registered while sessions are measured")
        .shows_default()
        .whole_number(1, max_types);
    declare_engines(verb, options->engines, account_engines);
    verb.add_flag("--small-pages", options->small_pages, "No huge pages, for any engine");
    declare_common(verb, *options, "Rounds, engines interleaved in each",
                   "Where the databases are made");
    verb.runs([options] {
        run(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace_histogram.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/crash_engine.hpp>
#include <tools/bench/large_conditions.hpp>
#include <tools/bench/large_engine.hpp>
#include <tools/bench/large_replay.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace chainbase::bench {

namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

struct large_options : bench_options {
    std::uint32_t objects = 60'000'000;
    std::uint64_t memory_left = std::uint64_t{3} << 30;
    double seconds = 10;
    std::uint64_t replay_operations = 20'000'000;
    std::vector<std::string> engines;
    fs::path memory = default_directory();
};
BOOST_DESCRIBE_STRUCT(large_options, (), (objects, memory_left, seconds, replay_operations))

constexpr large_engine_entry all_engines[] = {
    {"chainbase_memory", open_large_chainbase, large_engine_entry::files::in_memory, true},
    {"chainbase_default", open_large_chainbase_default, large_engine_entry::files::by_default},
    {"chainbase", open_large_chainbase, large_engine_entry::files::on_disk, true},
    {"lmdb", open_large_lmdb},
    {"rocksdb", open_large_rocksdb},
};

/// Accounts at random: each as often as any other, or u^8 of them, which takes half of all from
/// 0.4 % of the accounts. These lie anywhere, not side by side.
class random_accounts {
public:
    random_accounts(std::uint32_t count, bool skewed) : count_(count), skewed_(skewed) {}

    [[nodiscard]] std::uint64_t next() {
        if (!skewed_) return random_() % count_;
        const auto rank = static_cast<std::uint64_t>(std::pow(unit(), 8) * count_);
        return rank * spread % count_;
    }
    [[nodiscard]] bool chance(double share) { return unit() < share; }

private:
    static constexpr std::uint64_t spread = 2'654'435'761; // a prime

    /// At least 0, below 1.
    double unit() { return std::ldexp(static_cast<double>(random_() >> 11U), -53); }

    std::mt19937_64 random_{0x6c61726765};
    std::uint32_t count_;
    bool skewed_;
};

struct mix_of_work {
    const char* name;
    double changes; ///< their share
    bool skewed;
    bool known_ahead;
};

constexpr mix_of_work mixes[] = {
    {"reads", 0, false, false},
    {"reads_ahead", 0, false, true},
    {"half_changes", 0.5, false, false},
    {"half_changes_ahead", 0.5, false, true},
    {"skewed_reads", 0, true, false},
    {"skewed_reads_ahead", 0, true, true},
    {"skewed_half_changes", 0.5, true, false},
    {"skewed_half_changes_ahead", 0.5, true, true},
};

/// One engine, from empty to the last row.
class large_run {
public:
    large_run(large_engine& engine, const large_options& options, const fs::path& folder,
              measurements& out)
        : engine_(engine), options_(options), folder_(folder), out_(out) {}

    void fill() {
        const double ns = nanoseconds([&] { engine_.fill_large(options_.objects); });
        out_.add("fill", metric::ns, ns / options_.objects);
        std::uint64_t held = held_in_files(folder_);
        if (const fs::path other = engine_.elsewhere(); !other.empty())
            held += held_in_files(other);
        out_.add("object_bytes", metric::bytes, static_cast<double>(held) / options_.objects);
        ::sync();
    }
    void rows(const char* prefix) {
        for (const mix_of_work& mix : mixes) {
            throw_if_interrupted();
            if (mix.known_ahead && !engine_.prepares()) continue;
            spdlog::info("{}{}", prefix, mix.name);
            random_accounts accounts(options_.objects, mix.skewed);
            (void)run(mix, accounts, options_.seconds / 2); // the caches get what they will hold
            report(std::string(prefix) + mix.name, mix, run(mix, accounts, options_.seconds));
        }
    }
    /// Throws damaged_error when an account of a sample does not have all its changes.
    void check() {
        engine_.begin_block();
        for (std::size_t i = 0; i < changes_.size(); ++i)
            if (engine_.find_savings(crash_plan::name_of(i * stride_)) != changes_[i])
                throw damaged_error("bench: changes of an account are missing");
        engine_.end_block();
    }

private:
    static constexpr std::size_t block = 256;

    struct cost {
        double ns = 0;
        std::uint64_t operations = 0;
        trace::histogram each;
        std::optional<disk_count> disk;
    };

    cost run(const mix_of_work& mix, random_accounts& accounts, double seconds) {
        cost sum;
        const auto before = disk_count::below(folder_);
        const auto begin = steady::now();
        const auto end = begin + std::chrono::duration<double>(seconds);
        while (sum.operations == 0 || steady::now() < end)
            apply_block(mix, accounts, sum);
        sum.ns = std::chrono::duration<double, std::nano>(steady::now() - begin).count();
        const auto after = disk_count::below(folder_);
        if (before && after)
            sum.disk = {after->read - before->read, after->written - before->written};
        return sum;
    }
    void apply_block(const mix_of_work& mix, random_accounts& accounts, cost& sum) {
        std::array<std::uint64_t, block> numbers;
        std::array<account_name, block> names;
        for (std::size_t i = 0; i < block; ++i)
            names[i] = crash_plan::name_of(numbers[i] = accounts.next());
        engine_.begin_block();
        if (mix.known_ahead) engine_.prepare(names);
        for (std::size_t i = 0; i < block; ++i) {
            const account_name& name = names[i];
            const bool changes = accounts.chance(mix.changes);
            const auto asked = steady::now();
            if (engine_.find_balance(name) != large_engine::first_balance_of(name))
                throw damaged_error("bench: an account has another balance than it was given");
            if (changes) engine_.change_savings(name);
            const std::chrono::nanoseconds took = steady::now() - asked;
            sum.each.add(trace::histogram::bucket_of(static_cast<std::uint64_t>(took.count())), 1);
            if (changes && numbers[i] % stride_ == 0) ++changes_[numbers[i] / stride_];
        }
        engine_.end_block();
        sum.operations += block;
    }
    void report(const std::string& name, const mix_of_work& mix, const cost& sum) {
        const auto operations = static_cast<double>(sum.operations);
        out_.add(name, metric::ns, sum.ns / operations);
        if (!mix.known_ahead)
            out_.add(name + "_p99", metric::ns,
                     static_cast<double>(sum.each.quantile(0.99, UINT64_MAX)));
        if (!sum.disk) return;
        out_.add(name + "_disk_read", metric::bytes,
                 static_cast<double>(sum.disk->read) / operations);
        out_.add(name + "_disk_written", metric::bytes,
                 static_cast<double>(sum.disk->written) / operations);
    }

    large_engine& engine_;
    const large_options& options_;
    const fs::path& folder_;
    measurements& out_;
    std::uint64_t stride_ = std::max(options_.objects / 1000, 1U);
    std::vector<std::int64_t> changes_ = // of each account whose number is a multiple of the stride
        std::vector<std::int64_t>((options_.objects + stride_ - 1) / stride_);
};

void run_accounts(const large_engine_entry& entry, const large_options& options,
                  measurements& out) {
    const bool in_memory = entry.where == large_engine_entry::files::in_memory;
    const scratch_directory scratch(in_memory ? options.memory : options.directory);
    const auto engine = entry.open({scratch.path(), options.memory_left / 3});
    large_run run(*engine, options, scratch.path(), out);
    run.fill();
    run.rows("");
    if (entry.where == large_engine_entry::files::on_disk && options.memory_left != 0) {
        const taken_memory taken(options.memory_left);
        run.rows("short_");
    }
    run.check();
}

void run_replay(const large_engine_entry& entry, const large_options& options,
                large_replay& replay) {
    using place = large_replay::place;
    const bool in_memory = entry.where == large_engine_entry::files::in_memory;
    const scratch_directory scratch(in_memory ? options.memory : options.directory);
    const place on_disk = options.memory_left == 0 ? place::disk : place::disk_then_short;
    replay.run(scratch.path(), in_memory ? place::memory : on_disk);
}

void run_large(const large_options& options) {
    constexpr std::uintmax_t per_object = 250;
    constexpr std::uintmax_t per_operation = 50;
    const std::uintmax_t needed =
        (std::uintmax_t{256} << 20) +
        std::max(options.objects * per_object, options.replay_operations * per_operation);
    require_space(options.directory, needed, "fewer objects");
    if (options.memory_left >= taken_memory::available())
        throw error(fmt::format("bench: {} bytes of memory are available, and {} are to be left; "
                                "name less with --memory-left",
                                taken_memory::available(), options.memory_left));
    const bench_run run("large", options);
    measurements measured;
    large_replay replay(options.replay_operations, measured);
    run.each_engine(all_engines, options.engines, [&](const large_engine_entry& entry) {
        if (entry.where == large_engine_entry::files::in_memory)
            require_space(options.memory, needed, "fewer objects");
        measured.select(entry.name);
        run_accounts(entry, options, measured);
        if (entry.replays) run_replay(entry, options, replay);
        malloc_trim(0);
    });
    run.print(measured.rows(), json_of(options),
              fmt::format("{} accounts, {} MiB of memory left in the rows that begin with short",
                          options.objects, options.memory_left >> 20U),
              "ns per operation, bytes per operation where the name says so");
}

} // namespace

void declare_large(command& verb) {
    const auto options = std::make_shared<large_options>();
    options->rounds = 1;
    options->directory = fs::temp_directory_path();
    verb.add_option("--objects", options->objects, "How many accounts")
        .shows_default()
        .whole_number(1000, 1'000'000'000);
    verb.add_option_function<std::string>(
            "--memory-left",
            [options](const std::string& size) { options->memory_left = byte_size_of(size); },
            "Memory left to the rows that begin with short, such as 3GiB; 0: no such rows")
        .value_name("SIZE")
        .default_text("3GiB");
    verb.add_option("--seconds", options->seconds, "How long each row runs, after half as long")
        .shows_default()
        .real_number(0.01, 10'000);
    verb.add_option("--replay-operations", options->replay_operations,
                    "Operations of the chain that is replayed; 0: no replay")
        .shows_default()
        .whole_number(0, 10'000'000'000);
    verb.add_option("--memory", options->memory, "Where the state in memory is made")
        .shows_default()
        .existing_folder();
    declare_engines(verb, options->engines, all_engines);
    declare_common(verb, *options, "Rounds, engines interleaved in each",
                   "Where the other states are made, on a disk");
    verb.runs([options] {
        run_large(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

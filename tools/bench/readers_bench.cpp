#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/engines/stored_account.hpp>
#include <tools/report_json.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace chainbase::bench {

struct readers_options : bench_options {
    std::uint32_t objects = 20'000;
    std::uint32_t types = 1;
    std::uint32_t readers = 10;
    std::uint32_t milliseconds = 3000;
    std::filesystem::path inspect; ///< the program
};
BOOST_DESCRIBE_STRUCT(readers_options, (), (objects, types))

namespace {

/// Processes that run a shell command repeatedly until the object is destroyed.
class reader_crowd {
public:
    /// Throws error when a process cannot be started.
    reader_crowd(std::uint32_t readers, const std::string& command) {
        std::string shell = "sh";
        std::string option = "-c";
        std::string loop = "while :; do " + command + "; done";
        char* const arguments[] = {shell.data(), option.data(), loop.data(), nullptr};
        posix_spawnattr_t own_group;
        posix_spawnattr_init(&own_group);
        posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
        int failure = 0;
        while (failure == 0 && groups_.size() < readers) {
            pid_t made = 0;
            failure = posix_spawn(&made, "/bin/sh", nullptr, &own_group, arguments, environ);
            if (failure == 0) groups_.push_back(made);
        }
        posix_spawnattr_destroy(&own_group);
        if (failure == 0) return;
        end();
        throw error(std::string("bench: cannot start a reader: ") + std::strerror(failure));
    }
    reader_crowd(const reader_crowd&) = delete;
    reader_crowd& operator=(const reader_crowd&) = delete;
    ~reader_crowd() { end(); }

private:
    void end() noexcept {
        for (const pid_t group : groups_)
            ::kill(-group, SIGKILL);
        for (const pid_t group : groups_)
            ::waitpid(group, nullptr, 0);
        groups_.clear();
    }

    std::vector<pid_t> groups_;
};

using steady = std::chrono::steady_clock;

constexpr std::uint32_t changes_per_block = 300;

double nanoseconds_of(steady::duration lasted) {
    return std::chrono::duration<double, std::nano>(lasted).count();
}

double processor_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

/// Nanoseconds, per block.
struct block_cost {
    double clock = 0;
    double processor = 0;
    double lock = 0; ///< wait for the lock
};

class block_writer {
public:
    block_writer(const std::filesystem::path& state, std::uint32_t objects)
        : db_(state, options()), objects_(objects) {
        db_.add_type<ordered_account>("account");
        db_.with_write_lock([&] {
            for (std::uint32_t i = 0; i < objects; ++i)
                db_.create<ordered_account>([&](ordered_account& made) {
                    made.name = std::string_view("account" + std::to_string(i));
                    made.balance = i;
                });
        });
    }

    block_cost run(std::chrono::milliseconds lasting) {
        block_cost sum;
        std::uint32_t blocks = 0;
        const double processor = processor_time();
        const auto begin = steady::now();
        const auto end = begin + lasting;
        for (; blocks == 0 || steady::now() < end; ++blocks) {
            const auto asked = steady::now();
            db_.with_write_lock([&] {
                sum.lock += nanoseconds_of(steady::now() - asked);
                apply_block();
            });
        }
        sum.clock = nanoseconds_of(steady::now() - begin) / blocks;
        sum.processor = (processor_time() - processor) / blocks;
        sum.lock /= blocks;
        return sum;
    }

private:
    static open_options options() {
        open_options how;
        how.durability = durability::process;
        how.advise = false;
        return how;
    }
    void apply_block() {
        auto block = db_.start_session();
        for (std::uint32_t i = 0; i < changes_per_block; ++i) {
            const auto which = static_cast<std::uint32_t>(random_() % objects_);
            const auto change = static_cast<std::int64_t>(random_() % 1000);
            db_.modify(db_.get(id<ordered_account>(which)), [&](ordered_account& one) {
                if (i % 4 == 0) one.balance += change;
                one.savings += change;
            });
        }
        block.push();
        if (db_.revision() > 20) db_.commit(db_.revision() - 20);
    }

    database db_;
    std::uint32_t objects_;
    std::mt19937_64 random_{1};
};

/// A reader's cycle: `around` precedes each read, `pause` follows a cycle.
std::string turn_of_looks(const readers_options& options, const std::string& state,
                          const std::string& around, const std::string& pause) {
    const std::string look = around + " '" + options.inspect.string() + "' ";
    const std::string quiet = " '" + state + "' ";
    return look + "range" + quiet + "account named --limit 2000 --json >/dev/null 2>&1; " + look +
           "dump" + quiet + ">/dev/null 2>&1; " + look + "stat" + quiet + "--json >/dev/null 2>&1" +
           pause;
}

/// A reader that stays: one read per second.
std::string staying_look(const readers_options& options, const std::string& state) {
    return "'" + options.inspect.string() + "' top '" + state + "' --json >/dev/null 2>&1";
}

void require_inspector(const readers_options& options, const std::string& state) {
    const std::string call =
        "'" + options.inspect.string() + "' count '" + state + "' account >/dev/null";
    if (std::system(call.c_str()) != 0)
        throw usage_error("bench: " + options.inspect.string() +
                          " cannot read a state; build chainbase-inspect, or name it with "
                          "--inspect");
}

void add(measurements& to, const std::string& setting, const block_cost& cost,
         const block_cost& alone) {
    to.add("block_" + setting, metric::ns, cost.clock);
    to.add("block_processor_" + setting, metric::ns, cost.processor);
    to.add("block_lock_" + setting, metric::ns, cost.lock);
    if (setting == "alone") return;
    to.add("block_to_alone_" + setting, metric::ratio, cost.clock / alone.clock);
    to.add("lock_to_block_" + setting, metric::ratio, cost.lock / alone.clock);
}

void run_round(const readers_options& options, const std::string& state, block_writer& writer,
               measurements& to) {
    const std::chrono::milliseconds lasting(options.milliseconds);
    const block_cost alone = writer.run(lasting);
    add(to, "alone", alone, alone);
    const struct {
        const char* name;
        std::string look;
    } settings[] = {
        {"attached", staying_look(options, state)},
        {"pausing", turn_of_looks(options, state, "", "; sleep 2")},
        {"low_priority", turn_of_looks(options, state, "nice -n 19", "")},
        {"busy", turn_of_looks(options, state, "", "")},
    };
    for (const auto& setting : settings) {
        throw_if_interrupted();
        const reader_crowd crowd(options.readers, setting.look);
        (void)writer.run(lasting / 10); // until all of them have started
        add(to, setting.name, writer.run(lasting), alone);
    }
}

/// Applies blocks as fast as possible to a state of accounts: alone, then beside inspectors that
/// run range, dump and stat in turn and pause for two seconds after each cycle, then beside
/// inspectors without a pause at the lowest priority, then beside the same at equal priority; in
/// each round in this order. Prints the wall and processor time per block, and the wait for the
/// lock; and the ratios to running alone.
///
/// In the last setting writer and readers share the processors, so its ratio shows processor
/// contention more than the lock.
///
/// Throws usage_error when the inspector is missing or cannot read the state, error when
/// interrupted.
void run_readers(const readers_options& options) {
    require_space(options.directory, (std::uintmax_t{256} << 20) + options.objects * 500ull,
                  "fewer objects");
    const bench_run run("readers", options);
    const scratch_directory place(options.directory);
    const std::string state = place.path() / "state";
    block_writer writer(state, options.objects);
    require_inspector(options, state);
    measurements found;
    found.select("chainbase");
    run.each_round([&] { run_round(options, state, writer, found); });
    run.print(found.rows(), json_of(options),
              std::to_string(options.readers) + " beside a writer of " +
                  std::to_string(options.objects) + " objects",
              "ns per block of " + std::to_string(changes_per_block) + " changes, and ratios");
}

} // namespace

void declare_readers(command& verb) {
    const auto options = std::make_shared<readers_options>();
    options->inspect =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "chainbase-inspect";
    verb.add_option("--objects", options->objects, "How many accounts")
        .shows_default()
        .whole_number(1000, 100'000'000);
    verb.add_option("--readers", options->readers, "How many inspectors at once")
        .shows_default()
        .whole_number(1, 1000);
    verb.add_option("--milliseconds", options->milliseconds, "How long each setting runs")
        .shows_default()
        .whole_number(10, 1'000'000);
    verb.add_option("--inspect", options->inspect, "The inspector")
        .value_name("FILE")
        .shows_default();
    declare_common(verb, *options, "Rounds, all settings in each", "Where the state is made");
    verb.runs([options] {
        run_readers(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

#include <chainbase/database.hpp>
#include <chainbase/snapshot/read_pool.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace_histogram.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/engines/stored_account.hpp>
#include <tools/report_json.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::bench {

struct readers_options : bench_options {
    std::uint32_t objects = 20'000;
    std::uint32_t types = 1;
    std::uint32_t readers = 10;
    std::uint32_t threads = 2;
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

    [[nodiscard]] const database& db() const noexcept { return db_; }
    [[nodiscard]] std::uint32_t objects() const noexcept { return objects_; }

private:
    static open_options options() {
        open_options how;
        how.durability = durability::process;
        how.advise = false;
        return how;
    }
    /// What an account gets, the next one gives: all savings together are 0 at the end.
    void apply_block() {
        static_assert(changes_per_block % 2 == 0);
        auto block = db_.start_session();
        std::int64_t change = 0;
        for (std::uint32_t i = 0; i < changes_per_block; ++i) {
            const auto which = static_cast<std::uint32_t>(random_() % objects_);
            change = i % 2 == 0 ? static_cast<std::int64_t>(random_() % 1000) : -change;
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

/// Threads of the writer's process that read without a pause: some accounts by name, twice, and now
/// and then all of them.
class reading_threads {
public:
    enum class way {
        locked,
        snapshot, ///< a new one each time
        renewed,  ///< one for each thread, moved on each time
        pool,     ///< what a server has: one for all, the newest when a request begins
        copied,   ///< under the read lock, which a fork would have to hold all the time
    };
    using times = trace::histogram;
    struct costs {
        times open;  ///< a snapshot, its renewal, or a copy
        times first; ///< a look-up whose pages may not be there
        times again; ///< the same look-up
        std::uint64_t pages = 0;
        double nanoseconds = 0; ///< of whole snapshots
        std::uint64_t mismatches = 0;
        std::uint64_t too_old = 0;
    };

    reading_threads(std::size_t threads, const block_writer& writer, way how)
        : writer_(writer), pool_(writer.db()), found_(threads) {
        for (std::size_t i = 0; i < threads; ++i)
            threads_.emplace_back([this, i, how] {
                std::mt19937_64 random(i);
                std::optional<snapshot> own;
                for (std::uint64_t turn = 0; turn == 0 || !is_over_;) {
                    try {
                        read(how, found_[i], own, names(random), turn);
                        ++turn;
                    } catch (const too_old_error&) {
                        ++found_[i].too_old;
                    } catch (const busy_error&) {
                        ++found_[i].too_old;
                    }
                }
            });
    }
    ~reading_threads() { (void)end(); }
    reading_threads(const reading_threads&) = delete;
    reading_threads& operator=(const reading_threads&) = delete;

    /// What all of them found; they end, when each has read once.
    [[nodiscard]] costs end() {
        is_over_ = true;
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
        costs all;
        for (const costs& one : found_) {
            all.open.add(one.open);
            all.first.add(one.first);
            all.again.add(one.again);
            all.pages += one.pages;
            all.nanoseconds += one.nanoseconds;
            all.mismatches += one.mismatches;
            all.too_old += one.too_old;
        }
        return all;
    }

private:
    static constexpr std::size_t looked_up = 50;
    static constexpr std::uint64_t turns_between_walks = 16;

    template <typename Work>
    static void time(times& into, Work&& work) {
        const auto begin = steady::now();
        work();
        const auto took = static_cast<std::uint64_t>((steady::now() - begin).count());
        into.add(times::bucket_of(took), 1);
    }
    [[nodiscard]] std::vector<account_name> names(std::mt19937_64& random) const {
        std::vector<account_name> some(looked_up);
        for (account_name& name : some)
            name = std::string_view("account" + std::to_string(random() % writer_.objects()));
        return some;
    }
    using account_names = std::vector<account_name>;

    void read(way how, costs& into, std::optional<snapshot>& own, const account_names& some,
              std::uint64_t turn) {
        switch (how) {
        case way::locked:
            return read_locked(some);
        case way::copied:
            return copy(into);
        case way::pool:
            return pool_.read([&](const snapshot& then) { look(into, then, some, turn); });
        case way::renewed:
            if (own) {
                time(into.open, [&] { own->renew(); });
                return look(into, *own, some, turn);
            }
            [[fallthrough]];
        case way::snapshot:
            own.reset();
            time(into.open, [&] { own.emplace(writer_.db()); });
            return look(into, *own, some, turn);
        }
    }
    void read_locked(const account_names& some) const {
        writer_.db().with_read_lock([&] {
            for (const auto& name : some)
                (void)writer_.db().get<ordered_account, named>(name);
        });
    }
    void copy(costs& into) const {
        std::vector<ordered_account> all;
        time(into.open, [&] {
            writer_.db().with_read_lock([&] {
                for (const ordered_account& one : writer_.db().objects<ordered_account>())
                    all.push_back(one);
            });
        });
    }
    static void look(costs& into, const snapshot& then, const account_names& some,
                     std::uint64_t turn) {
        const auto begin = steady::now();
        const std::uint64_t pages = then.costs().pages;
        for (times* each : {&into.first, &into.again})
            for (const auto& name : some)
                time(*each, [&] { (void)then.get<ordered_account, named>(name); });
        if (turn % turns_between_walks != 0) return;
        std::int64_t sum = 0;
        for (const ordered_account& one : then.objects<ordered_account>())
            sum += one.savings;
        into.mismatches += sum != 0;
        into.pages += then.costs().pages - pages;
        into.nanoseconds += nanoseconds_of(steady::now() - begin);
    }

    const block_writer& writer_;
    read_pool pool_;
    std::vector<costs> found_;
    std::atomic<bool> is_over_{false};
    std::vector<std::thread> threads_;
};

double quantile(const trace::histogram& times, double share) {
    return static_cast<double>(times.quantile(share, UINT64_MAX));
}

void add(measurements& to, const std::string& setting, const reading_threads::costs& found) {
    const auto median = [&](const std::string& row, const reading_threads::times& times) {
        if (times.count() != 0) to.add(row, metric::ns, quantile(times, 0.5));
    };
    const auto longest = [&](const std::string& row, const reading_threads::times& times) {
        if (times.count() != 0) to.add(row, metric::ns, quantile(times, 0.99));
    };
    median(setting == "renewed" ? "snapshot_refresh" : setting + "_open", found.open);
    median(setting + "_read_first", found.first);
    longest(setting + "_read_first_p99", found.first);
    median(setting + "_read", found.again);
    longest(setting + "_read_p99", found.again);
    if (setting == "snapshot" && found.pages != 0)
        to.add("snapshot_page", metric::ns, found.nanoseconds / static_cast<double>(found.pages));
    if (found.first.count() == 0) return;
    to.add(setting + "_mismatches", metric::count, static_cast<double>(found.mismatches));
    to.add(setting + "_too_old", metric::count, static_cast<double>(found.too_old));
}

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
    const struct {
        const char* name;
        reading_threads::way how;
    } ways[] = {
        {"locked", reading_threads::way::locked},   {"snapshot", reading_threads::way::snapshot},
        {"renewed", reading_threads::way::renewed}, {"pool", reading_threads::way::pool},
        {"copied", reading_threads::way::copied},
    };
    for (const auto& way : ways) {
        throw_if_interrupted();
        const block_cost before = writer.run(lasting); // the machine may have changed since
        reading_threads readers(options.threads, writer, way.how);
        (void)writer.run(lasting / 10);
        add(to, way.name, writer.run(lasting), before);
        add(to, way.name, readers.end());
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
    verb.add_option("--threads", options->threads,
                    "How many threads read, in the settings without inspectors")
        .shows_default()
        .whole_number(1, 64);
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

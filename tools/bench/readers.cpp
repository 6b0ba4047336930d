#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/engines/stored_account.hpp>
#include <tools/bench/machine.hpp>
#include <tools/bench/reader_crowd.hpp>
#include <tools/bench/readers.hpp>
#include <tools/bench/report.hpp>
#include <tools/bench/scratch_directory.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <random>
#include <sstream>
#include <string>

namespace chainbase::bench {

namespace {

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
    double lock = 0; ///< from asking for it until it is there
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
        how.promise = durability::process;
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

/// Of one reader: `around` stands before each look, `pause` after a turn of them.
std::string turn_of_looks(const readers_options& options, const std::string& state,
                          const std::string& around, const std::string& pause) {
    const std::string look = around + " '" + options.inspect.string() + "' ";
    const std::string quiet = " '" + state + "' ";
    return look + "range" + quiet + "account named --limit 2000 --json >/dev/null 2>&1; " + look +
           "dump" + quiet + ">/dev/null 2>&1; " + look + "stat" + quiet + "--json >/dev/null 2>&1" +
           pause;
}

/// Of one reader that stays: a look each second.
std::string staying_look(const readers_options& options, const std::string& state) {
    return "'" + options.inspect.string() + "' top '" + state + "' --json >/dev/null 2>&1";
}

void require_inspector(const readers_options& options, const std::string& state) {
    const std::string call =
        "'" + options.inspect.string() + "' count '" + state + "' account >/dev/null";
    if (std::system(call.c_str()) != 0)
        throw usage_error("bench: " + options.inspect.string() +
                          " cannot look at a state; build chainbase-inspect, or name it with "
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
        (void)writer.run(lasting / 10); // until all of them came
        add(to, setting.name, writer.run(lasting), alone);
    }
}

} // namespace

void run_readers(const readers_options& options) {
    require_space(options.directory, (std::uintmax_t{256} << 20) + options.objects * 500ull,
                  "fewer objects");
    warn_about_conditions();
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    const nlohmann::json machine = describe_machine(options.directory);
    const scratch_directory place(options.directory);
    const std::string state = place.path() / "state";
    block_writer writer(state, options.objects);
    require_inspector(options, state);
    measurements found;
    found.select("chainbase");
    for (std::uint32_t round = 1; round <= options.rounds; ++round) {
        spdlog::info("round {} of {}", round, options.rounds);
        run_round(options, state, writer, found);
    }
    const report result{"readers", machine, options.objects, 1, options.rounds, found.rows()};
    if (options.json) return print_or_throw(to_json(result).dump().append("\n"));
    std::ostringstream text;
    text << "readers: " << options.readers << " beside a writer of " << options.objects
         << " objects; medians of " << options.rounds << " rounds; " << in_words(machine)
         << "\nns per block of " << changes_per_block << " changes, and ratios\n\n";
    print_rows(text, result.rows);
    print_or_throw(text.str());
}

} // namespace chainbase::bench

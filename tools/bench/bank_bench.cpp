#include <pool_allocator/base/error.hpp>
#include <tools/bench/bank_engine.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/report_json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::bench {

namespace {

namespace fs = std::filesystem;

struct bank_options : bench_options {
    std::uint32_t accounts = 1'000'000;
    std::uint32_t transfers = 1'000'000; ///< in a row
    std::uint32_t synced_batches = 200;  ///< in a row of an engine that is synced, at most
    double seconds = 2;                  ///< that a reader and the writer meet, at least
    std::vector<std::string> engines;
    fs::path memory = default_directory();
};
BOOST_DESCRIBE_STRUCT(bank_options, (), (accounts, transfers, synced_batches, seconds))

/// In the order of execution.
constexpr bank_engine_entry bank_engines[] = {
    {"chainbase", open_bank_chainbase},
    {"chainbase_locked", open_bank_chainbase_locked},
    {"classical_hashed", open_bank_classical, false, false},
    {"lmdb", open_bank_lmdb},
    {"rocksdb", open_bank_rocksdb},
    {"chainbase_commit", open_bank_chainbase_commit, true},
    {"lmdb_sync", open_bank_lmdb_sync, true},
    {"rocksdb_sync", open_bank_rocksdb_sync, true},
};

constexpr std::uint32_t batches[] = {1, 100, 10'000};

/// A thread that reads a bank beside its writer: a hundred accounts at a time until end(), or all
/// of them in one view.
class busy_reader {
public:
    enum class what { some, all };

    /// Returns when the thread has begun.
    busy_reader(bank_engine& bank, const bank_plan& plan, std::span<const account_name> names,
                what read)
        : bank_(bank), plan_(plan), names_(names), thread_([this, read] { run(read); }) {
        has_begun_.wait(false);
    }
    ~busy_reader() { join(); }
    busy_reader(const busy_reader&) = delete;
    busy_reader& operator=(const busy_reader&) = delete;

    /// Whether it has read all, or failed.
    [[nodiscard]] bool is_done() const noexcept { return is_done_; }
    /// Nanoseconds an account. Throws what the thread met; error when an account was missing or
    /// money was.
    [[nodiscard]] double end() {
        join();
        if (failure_) std::rethrow_exception(failure_);
        return ns_;
    }

private:
    static constexpr std::size_t at_once = 100;
    static constexpr int most_walks = 20;

    void run(what read) {
        try {
            const auto reader = bank_.reader();
            (void)reader->look(names_.first(1)); // what only the first view costs
            begin();
            if (read == what::all)
                ns_ = nanoseconds([&] { walk(*reader); }) / plan_.accounts();
            else
                look(*reader);
        } catch (...) {
            failure_ = std::current_exception();
            begin();
        }
        is_done_ = true;
    }
    void look(bank_reader& reader) {
        std::uint64_t looks = 0;
        const double taken = nanoseconds([&] {
            do
                balance_ += reader.look(next());
            while (++looks, !is_over_);
        });
        ns_ = taken / static_cast<double>(looks * at_once);
    }
    /// A view ends when more was changed than its engine keeps for it; then it is walked again.
    void walk(bank_reader& reader) const {
        for (int tries = 1;; ++tries)
            try {
                const bank_totals seen = reader.totals(false);
                if (seen.accounts == plan_.accounts() &&
                    seen.money == bank_plan::first_balance * plan_.accounts())
                    return;
                throw error("bench: a reader saw " + std::to_string(seen.accounts) +
                            " accounts with " + std::to_string(seen.money) +
                            " in all, which no batch left: the figures are invalid");
            } catch (const too_old_error&) {
                if (tries == most_walks) throw;
            }
    }
    std::span<const account_name> next() {
        at_ = at_ + at_once > names_.size() ? 0 : at_;
        const auto some = names_.subspan(at_, at_once);
        at_ += at_once;
        return some;
    }
    void begin() {
        has_begun_ = true;
        has_begun_.notify_one();
    }
    void join() {
        is_over_ = true;
        if (thread_.joinable()) thread_.join();
    }

    bank_engine& bank_;
    const bank_plan& plan_; ///< the number of accounts is read, which does not change
    std::span<const account_name> names_;
    std::size_t at_ = 0;
    std::int64_t balance_ = 0;
    double ns_ = 0;
    std::exception_ptr failure_;
    std::atomic<bool> has_begun_{false};
    std::atomic<bool> is_over_{false};
    std::atomic<bool> is_done_{false};
    std::thread thread_; ///< the last member: it uses the others
};

/// One engine in one round.
class bank_run {
public:
    bank_run(const bank_engine_entry& entry, const bank_options& options, measurements& out)
        : entry_(entry), options_(options), out_(out), on_disk_(options.directory),
          in_memory_(options.memory),
          bank_(
              entry.open({entry.synced ? on_disk_.path() : in_memory_.path(), in_memory_.path()})),
          plan_(options.accounts), names_(bank_plan(options.accounts).names(looked_up)) {}

    void run() {
        const double taken = nanoseconds([&] { bank_->open_accounts(plan_.accounts()); });
        out_.add("open_account", metric::ns, taken / plan_.accounts());
        for (const std::uint32_t batch : batches) {
            throw_if_interrupted();
            const std::string name = std::to_string(batch);
            const std::uint32_t count = in_a_row(batch);
            out_.add("transfer_" + name, metric::ns, transfer(batch, plan_.next(count)));
            if (!entry_.reads_beside) continue;
            const double first_try = beside_reader(batch, count).transfer;
            const auto enough = static_cast<std::uint32_t>(options_.seconds * 1e9 / first_try);
            const both_ns both = beside_reader(batch, std::max(count, enough));
            out_.add("transfer_" + name + "_beside_reader", metric::ns, both.transfer);
            out_.add("read_beside_" + name, metric::ns, both.read);
            busy_reader all(*bank_, plan_, names_, busy_reader::what::all);
            while (!all.is_done()) {
                const std::uint64_t number = plan_.made();
                bank_->transfer(number, plan_.next(batch));
            }
            out_.add("read_all_beside_" + name, metric::ns, all.end());
        }
        if (bank_->reader()->totals(true) != plan_.totals())
            throw error("bench: the bank of " + std::string(entry_.name) +
                        " is not what its transfers make: the figures are invalid");
    }

private:
    static constexpr std::size_t looked_up = 50'000;

    [[nodiscard]] std::uint32_t in_a_row(std::uint32_t batch) const {
        const std::uint64_t most = std::uint64_t{batch} * options_.synced_batches;
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(options_.transfers, entry_.synced ? most : UINT64_MAX));
    }
    struct both_ns {
        double transfer;
        double read;
    };
    both_ns beside_reader(std::uint32_t batch, std::uint32_t count) {
        const std::vector<bank_transfer> all = plan_.next(count);
        busy_reader some(*bank_, plan_, names_, busy_reader::what::some);
        const double taken = transfer(batch, all);
        return {taken, some.end()};
    }
    /// The last ones of the plan. Nanoseconds a transfer.
    double transfer(std::uint32_t batch, const std::vector<bank_transfer>& all) {
        std::uint64_t number = plan_.made() - all.size();
        return nanoseconds([&] {
                   for (std::span rest(all); !rest.empty();) {
                       const auto some = rest.first(std::min<std::size_t>(rest.size(), batch));
                       bank_->transfer(number, some);
                       number += some.size();
                       rest = rest.subspan(some.size());
                   }
               }) /
               static_cast<double>(all.size());
    }

    const bank_engine_entry& entry_;
    const bank_options& options_;
    measurements& out_;
    scratch_directory on_disk_;
    scratch_directory in_memory_;
    std::unique_ptr<bank_engine> bank_;
    bank_plan plan_;
    std::vector<account_name> names_;
};

/// Each engine in each round, from empty to the last row. Throws error when a bank is not what its
/// transfers make, or a reader saw what no batch left; and what the engines throw.
void run_bank(const bank_options& options) {
    constexpr std::uintmax_t per_account = 800;
    constexpr std::uintmax_t per_transfer = 200;
    const auto beside = static_cast<std::uintmax_t>(options.seconds * 3e8); // the fastest engine
    const std::uintmax_t needed =
        (std::uintmax_t{1} << 30) + options.accounts * per_account +
        std::size(batches) * (3 * options.transfers * per_transfer + beside);
    require_space(options.memory, needed, "fewer --transfers, fewer --accounts, another --memory");
    require_space(options.directory, needed, "fewer --transfers, fewer --accounts");
    const bench_run run("bank", options);
    measurements measured;
    run.each_engine(bank_engines, options.engines, [&](const bank_engine_entry& entry) {
        throw_if_interrupted();
        measured.select(entry.name);
        bank_run(entry, options, measured).run();
    });
    run.print(measured.rows(), json_of(options),
              std::to_string(options.accounts) + " accounts, " + std::to_string(options.transfers) +
                  " transfers a row",
              "ns a transfer, or an account that is read");
}

} // namespace

void declare_bank(command& verb) {
    const auto options = std::make_shared<bank_options>();
    options->directory = fs::temp_directory_path();
    verb.add_option("--accounts", options->accounts, "How many accounts")
        .shows_default()
        .whole_number(2, 500'000'000);
    verb.add_option("--transfers", options->transfers, "Transfers in a row")
        .shows_default()
        .whole_number(1, 100'000'000);
    verb.add_option("--synced-batches", options->synced_batches,
                    "Batches in a row, at most, of an engine that syncs each")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--seconds", options->seconds,
                    "How long a reader and the writer meet, at least, by the speed of a first try: "
                    "more than what the first views cost")
        .shows_default()
        .real_number(0, 100);
    declare_engines(verb, options->engines, bank_engines);
    verb.add_option("--memory", options->memory,
                    "Where engines that are not synced, and the segment of chainbase, have their "
                    "files")
        .shows_default()
        .existing_folder();
    declare_common(verb, *options, "Rounds, engines interleaved in each",
                   "Folder on storage for the engines that are synced");
    verb.runs([options] {
        run_bank(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

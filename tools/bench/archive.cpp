#include <archive/lifecycle.hpp>
#include <archive/rocksdb_store.hpp>
#include <chainbase/statistics.hpp>
#include <tools/bench/archive.hpp>
#include <tools/bench/archive_finds.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/chain_engine_over.hpp>
#include <tools/bench/chain_engines.hpp>
#include <tools/bench/chain_log.hpp>
#include <tools/bench/chain_modes.hpp>
#include <tools/bench/machine.hpp>
#include <tools/bench/options_for_bench.hpp>
#include <tools/bench/report.hpp>
#include <tools/bench/scratch_directory.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/generate/generate.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

namespace chainbase::bench {

namespace {

namespace fs = std::filesystem;

archive::store_options store_options_of(const archive_options& from) {
    archive::store_options options;
    options.cache_bytes = std::size_t{from.cache_mib} << 20;
    return options;
}

using comments = archive::lifecycle<social::comment_object>;

/// As the engine `chainbase` of the chain bench, but its finished comments go to RocksDB.
class archived_chain final : public chain_engine_over<database> {
public:
    archived_chain(std::string_view chain, const fs::path& memory, archive::store& rows)
        : chain_engine_over(memory / "state", options_for_bench()) {
        set_model(make_chain_model(chain, state(), rows));
    }
    ~archived_chain() override {
        undo_open_sessions();
        set_model(nullptr);
    }

    [[nodiscard]] bool asks_ahead() const override { return true; }
    [[nodiscard]] std::uint64_t objects() const override { return 0; }
    [[nodiscard]] std::uint64_t held_bytes() const override {
        return segment_statistics::read(state()).total;
    }
};

/// What such a chain left, to look for its comments.
class left_chain {
public:
    left_chain(const fs::path& memory, archive::store& rows)
        : state_(memory / "state", options_for_bench()),
          comments_(with_comments(state_), rows, "comment") {}

    [[nodiscard]] const comments& all() const noexcept { return comments_; }

private:
    static database& with_comments(database& state) {
        state.add_type<social::comment_object>("comment");
        return state;
    }

    database state_;
    comments comments_;
};

/// Only clean pages go, so they are written first.
void forget_files(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) throw io_error("bench: open " + entry.path().string());
        ::fsync(file);
        ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        ::close(file);
    }
}

/// One log, and what both chains come to with it.
class archive_rows {
public:
    archive_rows(const archive_options& options, const chain_log& log)
        : options_(options), log_(log) {}

    void run_round() {
        const figures kept = run_kept();
        const figures archived = run_archived();
        measured_.select("chainbase");
        measured_.add("replay_to_kept", metric::ratio, archived.ns / kept.ns);
        measured_.add("memory_to_kept", metric::ratio, archived.bytes / kept.bytes);
    }
    [[nodiscard]] std::vector<row> rows() const { return measured_.rows(); }
    [[nodiscard]] std::uint64_t archived() const noexcept { return archived_; }

private:
    struct figures {
        double ns;
        double bytes;
    };

    figures replay_in(chain_engine& engine, std::string_view name) {
        const replay_times times = replay(engine, log_, stepping::in_sessions);
        const figures found{times.ns, static_cast<double>(engine.held_bytes())};
        measured_.select(name);
        measured_.add("replay", metric::ns, found.ns / static_cast<double>(log_.operations));
        measured_.add("state_bytes", metric::bytes, found.bytes);
        engine.model().check();
        const std::string digest = engine.model().state_digest();
        if (!digest_) digest_ = digest;
        if (*digest_ != digest)
            throw damaged_error("bench: the archive changed the state: no figure counts");
        return found;
    }

    figures run_kept() {
        throw_if_interrupted();
        malloc_trim(0);
        const scratch_directory memory(options_.memory);
        const auto engine = make_chainbase_chain(log_.chain, memory.path());
        return replay_in(*engine, "kept");
    }

    figures run_archived() {
        throw_if_interrupted();
        malloc_trim(0);
        const scratch_directory disk(options_.directory);
        const scratch_directory memory(options_.memory);
        const fs::path folder = disk.path() / "archive";
        auto rows = std::make_unique<archive::rocksdb_store>(folder, store_options_of(options_));
        const figures found = replay_into(*rows, memory.path());
        const archive_finds finds = measure_rows(*rows);
        finds.measure_warm(left_chain(memory.path(), *rows).all(), measured_);
        rows.reset();
        forget_files(folder);
        rows = std::make_unique<archive::rocksdb_store>(folder, archive::store_options());
        finds.measure_cold(left_chain(memory.path(), *rows).all(), *rows, measured_);
        return found;
    }

    figures replay_into(archive::rocksdb_store& rows, const fs::path& memory) {
        archived_chain engine(log_.chain, memory, rows);
        return replay_in(engine, "chainbase");
    }

    archive_finds measure_rows(archive::rocksdb_store& rows) {
        rows.flush();
        while (rows.engine().merges != 0) // as in a node some minutes later
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const archive::table_id table{0};
        archived_ = rows.count(table);
        archive_finds finds(rows, table, options_.finds);
        measured_.add("disk_to_encoded", metric::ratio,
                      static_cast<double>(rows.engine().file_bytes) /
                          static_cast<double>(archived_) / finds.record_bytes());
        measured_.add("encoded_bytes", metric::bytes, finds.record_bytes());
        return finds;
    }

    const archive_options& options_;
    const chain_log& log_;
    measurements measured_;
    std::optional<std::string> digest_;
    std::uint64_t archived_ = 0;
};

/// Nearly all comments get paid, after a hundredth of the real time, so that the time of a long log
/// is many times that.
generate::chain_options chain_of(const archive_options& options) {
    generate::chain_options chain;
    chain.mix = generate::parse_mix(options.mix);
    const std::uint64_t comments = chain.mix.weights[generate::operation_mix::comment];
    if (comments == 0) throw usage_error("bench: --mix " + options.mix + " has no comments");
    chain.operations = std::uint64_t{options.rows} * 17 / 16 * chain.mix.sum() / comments;
    chain.accounts = std::max<std::uint32_t>(options.rows / 100, 2);
    const std::uint64_t blocks = std::min<std::uint64_t>(options.rows, 200'000);
    chain.transactions_per_block = static_cast<std::uint32_t>(chain.operations / blocks);
    chain.cash_out_percent = 1;
    chain.paid_percent = 98;
    return chain;
}

std::string to_text(const archive_rows& done, const nlohmann::json& machine,
                    const archive_options& options) {
    std::ostringstream text;
    text << "archive: " << done.archived() << " archived comments, medians of " << options.rounds
         << " rounds; " << in_words(machine) << "\nns, bytes where the name says so\n\n";
    print_rows(text, done.rows());
    return text.str();
}

std::string to_json(const archive_rows& done, const nlohmann::json& machine,
                    const archive_options& options) {
    nlohmann::ordered_json all;
    all["bench"] = "archive";
    all["machine"] = machine;
    all["rounds"] = options.rounds;
    all["archived"] = done.archived();
    all["cache_mib"] = options.cache_mib;
    all["mix"] = options.mix;
    all["rows"] = rows_to_json(done.rows());
    return all.dump().append("\n");
}

} // namespace

void run_archive(const archive_options& options) {
    const generate::chain_options chain = chain_of(options);
    require_space(options.directory,
                  (std::uintmax_t{512} << 20) + options.rows * 200ull + chain.operations * 90,
                  "fewer rows");
    require_space(options.memory, (std::uintmax_t{512} << 20) + options.rows * 500ull,
                  "fewer rows, another --memory");
    warn_about_conditions();
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    const nlohmann::json machine = describe_machine(options.directory);
    const scratch_directory place(options.directory);
    (void)generate::generate_log(chain, {}, place.path() / "log", signals);
    throw_if_interrupted();
    const chain_log log = survey(place.path() / "log", 0, 0);
    archive_rows done(options, log);
    for (std::uint32_t round = 1; round <= options.rounds; ++round) {
        spdlog::info("round {} of {}", round, options.rounds);
        done.run_round();
    }
    print_or_throw(options.json ? to_json(done, machine, options)
                                : to_text(done, machine, options));
}

} // namespace chainbase::bench

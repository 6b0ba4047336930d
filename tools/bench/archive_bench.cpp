#include <archive/lifecycle.hpp>
#include <archive/rocksdb/store.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/benches.hpp>
#include <tools/bench/chain_engine.hpp>
#include <tools/bench/chain_engine_over.hpp>
#include <tools/bench/measurements.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/social/objects.hpp>
#include <tools/driver/generate/generate.hpp>
#include <tools/report_json.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::bench {

namespace {

namespace fs = std::filesystem;

using comments = archive::lifecycle<social::comment_object>;

constexpr std::size_t cold_finds = 2000;

void require(bool is_true, std::string_view what) {
    if (!is_true) throw damaged_error("bench: " + std::string(what) + ": the figures are invalid");
}

/// Median and tail of single calls; each includes a clock read of about 40 ns.
void add(measurements& into, const std::string& name, std::vector<double> times) {
    std::ranges::sort(times);
    const auto at = [&](std::size_t thousandths) {
        return times[times.size() * thousandths / 1000];
    };
    into.add(name, metric::ns, at(500));
    into.add(name + "_p99", metric::ns, at(990));
    into.add(name + "_p99_9", metric::ns, at(999));
}

template <typename All, typename Find>
std::vector<double> timed(const All& all, Find&& find) {
    std::vector<double> times;
    times.reserve(all.size());
    for (const auto& one : all)
        times.push_back(nanoseconds([&] { find(one); }));
    return times;
}

/// Archived comments, a uniform sample in random order, looked up as a chain's rules do: in memory
/// first, then in the archive.
class archive_finds {
public:
    /// Samples up to `count` rows of the store's comment table; reads all of it.
    archive_finds(const archive::store& rows, archive::table_id table, std::uint32_t count) {
        using social::comment_object;
        const std::uint64_t all = rows.count(table);
        const std::uint64_t every = std::max<std::uint64_t>(all / count, 1);
        double bytes = 0;
        std::uint64_t number = 0;
        for (auto at = rows.rows(table); at.valid(); at.next(), ++number) {
            bytes += static_cast<double>(at.record().size());
            if (number % every != 0 || wanted_.size() == count) continue;
            const archive::found<comment_object> one(
                archive::pinned_row(at.id(), at.record(), nullptr));
            wanted_.push_back({one.id(), one.get<&comment_object::author>(),
                               std::string(one.get<&comment_object::permlink>())});
        }
        require(number == all && all != 0, "the archive has not as many rows as it says");
        record_bytes_ = bytes / static_cast<double>(all);
        std::shuffle(wanted_.begin(), wanted_.end(), std::mt19937_64(1));
    }

    /// Lookups by key and by id that hit, and by key that miss. Each is made twice and timed the
    /// second time: everything it reads is then cached, if the cache is large enough.
    void measure_warm(const comments& in, measurements& into) const {
        using social::by_permlink;
        const auto measure = [&](const std::string& name, const auto& all, auto&& find) {
            (void)timed(all, find);
            add(into, name, timed(all, find));
        };
        measure("find_warm", wanted_, [&](const wanted& one) {
            const auto found = in.find<by_permlink>(one.author, one.permlink);
            require(found && found->id() == one.id && !found->in_memory(), "a key is not found");
        });
        measure("find_by_id_warm", wanted_, [&](const wanted& one) {
            require(in.find(one.id).has_value(), "a row is not found");
        });
        std::vector<wanted> nowhere = wanted_;
        for (wanted& one : nowhere)
            one.permlink += '~';
        measure("find_nowhere", nowhere, [&](const wanted& one) {
            require(!in.find<by_permlink>(one.author, one.permlink), "an absent object is found");
        });
    }

    /// The first lookups in a newly opened store whose files were dropped from the page cache, and
    /// how many blocks each read.
    void measure_cold(const comments& in, const archive::rocksdb_store& rows,
                      measurements& into) const {
        const std::size_t half = std::min(cold_finds, wanted_.size() / 2);
        const auto measure = [&](const std::string& name, std::size_t from, auto&& find) {
            const std::uint64_t before = rows.engine().block_misses;
            add(into, name, timed(std::span(wanted_).subspan(from, half), find));
            into.add(name + "_blocks", metric::ratio,
                     static_cast<double>(rows.engine().block_misses - before) /
                         static_cast<double>(half));
        };
        measure("find_by_id_cold", 0, [&](const wanted& one) {
            require(in.find(one.id).has_value(), "a row is not found");
        });
        measure("find_cold", half, [&](const wanted& one) {
            require(in.find<social::by_permlink>(one.author, one.permlink).has_value(),
                    "a key is not found");
        });
    }

    /// Average bytes of a record.
    [[nodiscard]] double record_bytes() const noexcept { return record_bytes_; }

private:
    struct wanted {
        chainbase::id<social::comment_object> id;
        social::account_name author;
        std::string permlink;
    };

    std::vector<wanted> wanted_;
    double record_bytes_ = 0;
};

struct archive_options : bench_options {
    std::uint32_t rows = 5'000'000;
    std::uint32_t finds = 400'000;
    std::uint32_t cache_mib = 2048;
    std::string mix = "comment=93,vote=7"; ///< of operations, in the format of `generate`
    std::filesystem::path memory = default_directory();
};
BOOST_DESCRIBE_STRUCT(archive_options, (), (cache_mib, mix))

archive::store_options store_options_of(const archive_options& from) {
    archive::store_options options;
    options.cache_bytes = std::size_t{from.cache_mib} << 20;
    return options;
}

/// The engine `chainbase` of the chain bench, but with finished comments in RocksDB.
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
    [[nodiscard]] std::uint64_t held_bytes() const override { return state().statistics().total; }
};

/// The files of such a chain, reopened to look up its comments.
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

/// Only clean pages can be dropped, so they are written first.
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

/// The rows of one log, for both chains.
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
            throw damaged_error("bench: the archive changed the state: the figures are invalid");
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
        while (rows.engine().merges != 0) // a node reaches this state some minutes later
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

/// Pays nearly all comments, after a hundredth of the real time, so that a long log spans many
/// payout times.
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

/// Generates a log of a social chain, replays it in each round with all comments kept in memory
/// (`kept`) and with the paid ones in RocksDB (`chainbase`), looks up archived ones, and prints the
/// report. Throws usage_error for an invalid mix or one without comments, damaged_error when the
/// two states differ or a row is not found.
void run_archive(const archive_options& options) {
    const generate::chain_options chain = chain_of(options);
    require_space(options.directory,
                  (std::uintmax_t{512} << 20) + options.rows * 200ull + chain.operations * 90,
                  "fewer rows");
    require_space(options.memory, (std::uintmax_t{512} << 20) + options.rows * 500ull,
                  "fewer rows, another --memory");
    const bench_run run("archive", options);
    const scratch_directory place(options.directory);
    (void)generate::generate_log(chain, {}, place.path() / "log", run.signals());
    throw_if_interrupted();
    const chain_log log = survey(place.path() / "log", 0, 0);
    archive_rows done(options, log);
    run.each_round([&] { done.run_round(); });
    json own = json_of(options);
    own["archived"] = done.archived();
    run.print(done.rows(), own, std::to_string(done.archived()) + " archived comments",
              "ns, bytes where the name says so");
}

} // namespace

void declare_archive(command& verb) {
    const auto options = std::make_shared<archive_options>();
    options->directory = std::filesystem::temp_directory_path();
    verb.add_option("--rows", options->rows, "Number of comments; in a long log most get paid")
        .shows_default()
        .whole_number(10'000, 200'000'000);
    verb.add_option("--mix", options->mix, "Operations of the log, as in `generate --mix`")
        .shows_default();
    verb.add_option("--finds", options->finds, "Lookups of each kind, timed one by one")
        .shows_default()
        .whole_number(100, 100'000'000);
    verb.add_option("--cache-mib", options->cache_mib, "The archive's cache while it is warm")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--memory", options->memory, "Where the segments are")
        .shows_default()
        .existing_folder();
    declare_common(verb, *options, "Rounds, both chains in each",
                   "Folder on storage for the log and the archive");
    verb.runs([options] {
        run_archive(*options);
        return exit_code::done;
    });
}

} // namespace chainbase::bench

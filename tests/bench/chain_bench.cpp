// The contract of `chainbase-bench chain` and `growth`: what they print and how they end, on small
// chains. That the states of all engines and modes are equal is checked by the program itself.

#include <tools/bench/scratch_directory.hpp>
#include <tools/block_log/block_log_writer.hpp>
#include <tools/chains/payments/operations.hpp>

#include <nlohmann/json.hpp>
#include <tests/bench/bench_program.hpp>

#include <cmath>
#include <set>
#include <string>

using namespace chainbase;
using namespace chainbase::bench;

namespace {

/// A block log of payments: some accounts, then a payment per transaction, in a folder of its own.
class small_log {
public:
    small_log() : path_(folder_.path() / "small.blocks") {
        block_log_writer writer = block_log_writer::create(path_, payments::chain_name);
        for (std::uint64_t number = 1; number <= 60; ++number)
            writer.append(block_of(number));
        writer.close();
    }
    [[nodiscard]] std::string path() const { return path_.string(); }

private:
    static constexpr std::uint64_t accounts = 20;

    static payments::account_name account(std::uint64_t number) {
        return payments::account_name("account" + std::to_string(number % accounts));
    }
    static block block_of(std::uint64_t number) {
        block made{number, static_cast<std::int64_t>(number), {}};
        for (std::uint64_t i = 0; i < 20; ++i) {
            const payments::operation one =
                number == 1 ? payments::operation(payments::account_create{account(i), 1000})
                            : payments::operation(
                                  payments::payment{account(i), account(i + number % 7 + 1), 1});
            made.transactions.push_back({{payments::encode(one)}});
        }
        return made;
    }

    scratch_directory folder_{std::filesystem::temp_directory_path()};
    std::filesystem::path path_;
};

nlohmann::json run_json(const std::string& arguments) {
    const outcome result = run_bench(arguments + " --rounds 1 --json");
    REQUIRE(result.exit_code == 0);
    return nlohmann::json::parse(result.output);
}

/// The operations of an engine; every figure is one.
std::set<std::string> operations_of(const nlohmann::json& rows, const std::string& engine) {
    std::set<std::string> operations;
    for (const auto& row : rows) {
        INFO(row.dump());
        CHECK(std::isfinite(row.at("value").get<double>()));
        CHECK(row.at("value").get<double>() > 0);
        if (row.at("engine") == engine)
            CHECK(operations.insert(row.at("operation").get<std::string>()).second);
    }
    return operations;
}

} // namespace

TEST_CASE("the chain report names every row of every engine, and one digest for all") {
    const small_log log;
    const nlohmann::json report =
        run_json("chain --live-blocks 5 --pending 50 --log " + log.path());
    CHECK(report.at("bench") == "chain");
    const nlohmann::json& only = report.at("logs").at(0);
    CHECK(only.at("log") == "small.blocks");
    CHECK(only.at("blocks") == 60);
    CHECK(only.at("transactions") == 1200);
    CHECK(only.at("pending") == 5 * 50);
    CHECK(only.at("state_digest").get<std::string>().size() == 64);
    std::set<std::string> all{"replay",       "replay_applying", "replay_helping", "replay_waiting",
                              "sync",         "sync_to_replay",  "live_block",
                              "live_pending", "state_bytes",     "state_bytes_per_object"};
    for (const char* engine : {"chainbase", "chainbase_archive"})
        CHECK(operations_of(only.at("rows"), engine) == all);
    all.insert("replay_in_sessions");
    for (const char* engine : {"classical", "classical_hashed"})
        CHECK(operations_of(only.at("rows"), engine) == all);
}

TEST_CASE("the chain bench also prints a table with the losing rows") {
    const small_log log;
    const outcome result = run_bench(
        "chain --rounds 1 --live-blocks 5 --engines chainbase,classical --log " + log.path());
    CHECK(result.exit_code == 0);
    for (const char* text : {"small.blocks: payments, 60 blocks", "sync_to_replay", "(1.00)",
                             "state digest", "operations/s of replay:"})
        CHECK(result.output.find(text) != std::string::npos);
}

TEST_CASE("the growth report has every size, as JSON and as lines for a plot") {
    const std::string call = "growth --objects 200,400 --operations 100";
    const nlohmann::json report = run_json(call);
    const std::set<std::string> all{
        "create_at_200", "payment_at_200", "state_bytes_per_object_at_200",
        "create_at_400", "payment_at_400", "state_bytes_per_object_at_400"};
    for (const char* engine : {"chainbase", "classical"})
        CHECK(operations_of(report.at("rows"), engine) == all);
    const outcome lines = run_bench(call + " --csv");
    CHECK(lines.exit_code == 0);
    CHECK(lines.output.find("engine,operation,objects,metric,value\nchainbase,create,200,ns,") ==
          0);
}

TEST_CASE("a wrong call of the chain benches ends with 2 and prints no report") {
    for (const char* arguments :
         {"chain", "chain --log /nonexistent", "growth --objects 400,200", "growth --objects many",
          "growth --engines nobody", "growth --csv --json"}) {
        INFO(arguments);
        const outcome result = run_bench(arguments);
        CHECK(result.exit_code == 2);
        CHECK(result.output.empty());
    }
}

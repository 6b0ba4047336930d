// The contract of `chainbase-bench chain` and `growth`: what they print and how they end, on small
// chains. That the states of all engines and modes are equal is checked by the program itself.

#include <tools/bench/bench_setup.hpp>
#include <tools/block_log/block_log_writer.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/generate.hpp>

#include <nlohmann/json.hpp>
#include <tests/bench/bench_program.hpp>

#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::bench;

namespace {

/// A block log of 60 blocks in a folder of its own.
class small_log {
public:
    explicit small_log(std::string_view chain = payments::chain_name,
                       block (*block_of)(std::uint64_t) = payments_of)
        : path_(folder_.path() / "small.blocks") {
        block_log_writer writer = block_log_writer::create(path_, std::string(chain));
        for (std::uint64_t number = 1; number <= 60; ++number)
            writer.append(block_of(number));
        writer.close();
    }
    [[nodiscard]] std::string path() const { return path_.string(); }

    /// A post in each block is paid two blocks later, and all of it goes on to another account in
    /// the block that pays it: as pending, before that block, there is no money yet.
    static block posts_of(std::uint64_t number) {
        const social::account_name author("author");
        const social::account_name reader("reader");
        const auto time = static_cast<std::int64_t>(number);
        if (number == 1)
            return of(number, {social::account_create{author}, social::account_create{reader}});
        social::comment post;
        post.author = author;
        post.permlink = "post" + std::to_string(number);
        post.cashout_time = time + 2;
        post.author_payout = 10;
        std::vector<social::operation> all{post, social::claim{author}};
        if (number >= 4) all.push_back(social::transfer{author, reader, 10, ""});
        return of(number, all);
    }

private:
    static constexpr std::uint64_t accounts = 20;

    static block of(std::uint64_t number, const std::vector<social::operation>& operations) {
        block made{number, static_cast<std::int64_t>(number), {}};
        for (const social::operation& one : operations)
            made.transactions.push_back({{social::encode(one)}});
        return made;
    }

    static payments::account_name account(std::uint64_t number) {
        return payments::account_name("account" + std::to_string(number % accounts));
    }
    static block payments_of(std::uint64_t number) {
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
    std::set<std::string> all{
        "replay",      "replay_applying",       "replay_helping", "replay_waiting",
        "sync",        "sync_to_replay",        "live_block",     "live_pending",
        "state_bytes", "state_bytes_per_object"};
    for (const char* engine : {"chainbase", "chainbase_archive"})
        CHECK(operations_of(only.at("rows"), engine) == all);
    all.insert("replay_in_sessions");
    for (const char* engine : {"classical", "classical_hashed"})
        CHECK(operations_of(only.at("rows"), engine) == all);
}

TEST_CASE("all engines archive and reject alike, and come to one digest") {
    const small_log log(social::generated_chain_name, small_log::posts_of);
    const nlohmann::json report =
        run_json("chain --live-blocks 5 --pending 20 --log " + log.path());
    const nlohmann::json& only = report.at("logs").at(0);
    CHECK(only.at("rejected") > 0);
    CHECK(only.at("rejected") < only.at("pending"));
    for (const char* engine : {"chainbase", "chainbase_archive", "classical", "classical_hashed"})
        CHECK(operations_of(only.at("rows"), engine).contains("live_pending"));
}

TEST_CASE("a chain like a social network is replayed and followed by all engines alike") {
    const scratch_directory folder{std::filesystem::temp_directory_path()};
    generate::chain_options options;
    options.operations = 20'000;
    options.cash_out_percent = 1;
    const catch_interruption signals;
    const auto made = generate_log(options, {}, folder.path() / "social.blocks", signals);
    const nlohmann::json report = run_json("chain --live-blocks 20 --pending 200 --log " +
                                           (folder.path() / "social.blocks").string());
    const nlohmann::json& only = report.at("logs").at(0);
    CHECK(only.at("operations") == made.operations);
    CHECK(only.at("state_digest").get<std::string>().size() == 64);
    for (const char* engine : {"chainbase_archive", "classical", "classical_hashed"})
        CHECK(operations_of(only.at("rows"), engine).contains("live_block"));
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

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/tools/endless_replay.hpp>

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

namespace chainbase::test {

namespace fs = std::filesystem;

endless_replay::endless_replay(std::uint64_t operations, std::uint64_t seed)
    : log_(social_chain(operations, seed)) {}

void endless_replay::be_at_work() {
    if (run_ && !run_->is_running()) finish();
    if (!run_) start();
    while (!is_writing()) {
        if (!run_->is_running()) {
            finish();
            start();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void endless_replay::finish() {
    if (!run_) return;
    const driver_run ended = run_->wait();
    run_.reset();
    INFO(ended.err);
    REQUIRE(ended.code() == 0);
    const std::string digest = ended.json().at("state_digest");
    if (digest_.empty()) digest_ = digest;
    CHECK(digest == digest_);
    ++ends_;
}

bool endless_replay::is_about_to_end() const {
    for (int tenths = 0; tenths < 30 && run_->is_running(); ++tenths)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return !run_->is_running();
}

void endless_replay::start() {
    fs::remove_all(state());
    suffix_ = std::to_string(++started_);
    run_.emplace(std::vector<std::string>{"replay", "--block-log", log_.path().string(), "--state",
                                          state(), "--json"});
}

bool endless_replay::is_writing() const {
    if (!fs::exists(fs::path(state()) / "archive")) return false;
    const outcome count = inspect_with("count " + state() + " applied_block --json 2>/dev/null");
    return count.code == 0 && nlohmann::json::parse(count.output).at("rows") > 0;
}

} // namespace chainbase::test

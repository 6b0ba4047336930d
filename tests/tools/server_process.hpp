#pragma once

#include <catch2/catch.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/real_logs.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::test {

/// `serve` in a process of its own; its port stays the same over restarts.
class server_process {
public:
    explicit server_process(const real_log& log) : server_process(log.path()) {}
    /// `more`: options.
    explicit server_process(const std::filesystem::path& log, std::vector<std::string> more = {})
        : log_(log), more_(std::move(more)) {
        start("127.0.0.1:0");
    }

    void restart() {
        process_.reset();
        start(address_);
    }
    [[nodiscard]] const std::string& address() const { return address_; }
    [[nodiscard]] driver_process& process() { return *process_; }

private:
    void start(const std::string& listen) {
        const std::string out = folder_ / "out";
        write_file(out, "");
        std::vector<std::string> call{"serve",    "--block-log", log_.string(),
                                      "--listen", listen,        "--json"};
        call.insert(call.end(), more_.begin(), more_.end());
        process_ = std::make_unique<driver_process>(call, out);
        std::string said;
        while (said.find('\n') == std::string::npos) {
            if (!process_->is_running()) FAIL(process_->wait().err);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            said = read_file(out);
        }
        address_ = nlohmann::json::parse(said.substr(0, said.find('\n')))["listening"];
    }

    std::filesystem::path log_;
    std::vector<std::string> more_;
    temporary_folder folder_;
    std::unique_ptr<driver_process> process_;
    std::string address_;
};

} // namespace chainbase::test

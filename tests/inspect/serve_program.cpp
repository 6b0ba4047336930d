// The verb serve as a process: what it prints, what it refuses, how it ends.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/trace/http_client.hpp>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace chainbase::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// chainbase-inspect serve, until the end of this object.
class serving_process {
public:
    explicit serving_process(const std::vector<std::string>& arguments) {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        std::vector<const char*> words{"chainbase-inspect", "serve"};
        for (const std::string& word : arguments)
            words.push_back(word.c_str());
        words.push_back(nullptr);
        process_ = ::fork();
        if (process_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::execv(CHAINBASE_INSPECT_PROGRAM, const_cast<char**>(words.data()));
            ::_exit(127);
        }
        ::close(ends[1]);
        char letter = 0;
        while (::read(ends[0], &letter, 1) == 1 && letter != '\n')
            line_ += letter;
        ::close(ends[0]);
    }
    serving_process(const serving_process&) = delete;
    serving_process& operator=(const serving_process&) = delete;
    ~serving_process() {
        if (process_ > 0) (void)end(SIGKILL);
    }

    /// What it printed first.
    [[nodiscard]] const std::string& line() const noexcept { return line_; }
    [[nodiscard]] std::uint16_t port() const {
        const std::size_t begin = line_.find("://127.0.0.1:");
        REQUIRE(begin != std::string::npos);
        return static_cast<std::uint16_t>(std::stoul(line_.substr(begin + 13)));
    }
    /// Sends the signal and returns the exit code.
    int end(int signal) {
        ::kill(process_, signal);
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t process_ = -1;
    std::string line_;
};

std::string get(std::uint16_t port, const std::string& target) {
    const http_client client(port);
    client.send("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                "\r\nConnection: close\r\n\r\n");
    return client.rest();
}

int code_of(const std::string& arguments) {
    return inspect_with("serve " + arguments + " >/dev/null 2>&1").code;
}

} // namespace

TEST_CASE("serve prints where it listens and ends well at a signal") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    for (const int signal : {SIGINT, SIGTERM}) {
        serving_process plain({state.string()});
        CHECK_THAT(plain.line(), StartsWith("http://127.0.0.1:"));
        CHECK_THAT(get(plain.port(), "/api/stat"), StartsWith("HTTP/1.1 200 "));
        const http_client open(plain.port()); // does not keep it
        open.send("GET /");
        CHECK(plain.end(signal) == 0);
    }
    serving_process machine({state.string(), "--json"});
    const auto told = nlohmann::json::parse(machine.line());
    CHECK_THAT(machine.line(), StartsWith("{\"schema_version\":1,"));
    CHECK(told.at("url") == "http://127.0.0.1:" + std::to_string(machine.port()) + "/");
}

TEST_CASE("serve for every address of the machine prints a token and asks for it") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    serving_process open({state.string(), "--listen", "0.0.0.0:0"});
    CHECK_THAT(open.line(), Contains("/?token="));
    CHECK_THAT(get(open.port(), "/"), StartsWith("HTTP/1.1 401 "));
    CHECK_THAT(get(open.port(), open.line().substr(open.line().find("/?"))),
               StartsWith("HTTP/1.1 303 "));

    const auto file = scratch / "token";
    std::ofstream(file) << "0123456789abcdef0123456789abcdef\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    serving_process given({state.string(), "--listen", ":0", "--token-file", file.string()});
    CHECK_THAT(given.line(), !Contains("token"));
    CHECK_THAT(get(given.port(), "/"), StartsWith("HTTP/1.1 401 "));
    CHECK_THAT(get(given.port(), "/?token=0123456789abcdef0123456789abcdef"),
               StartsWith("HTTP/1.1 303 "));
}

TEST_CASE("serve goes on when the writer beside it is killed") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    writer_process writer(state);
    serving_process page({state.string()});
    CHECK_THAT(get(page.port(), "/api/stat"), Contains("writer_running"));
    writer.kill();
    CHECK_THAT(get(page.port(), "/api/stat"), Contains("writer_died"));
    CHECK(page.end(SIGINT) == 0);
    CHECK(reopen_sample_state(state) > 0);
}

TEST_CASE("serve that was called wrongly or cannot begin") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const std::string named = state.string();
    CHECK(code_of(named + " --listen localhost:1") == 2);
    CHECK(code_of(named + " --listen 80") == 2);
    CHECK(code_of(named + " --port 80") == 2);
    CHECK(code_of("") == 2);
    CHECK(code_of(scratch.path().string()) == 1);
    CHECK(code_of(named + " --token-file " + (scratch / "missing").string()) == 1);
    std::ofstream(scratch / "token") << "0123456789abcdef0123456789abcdef\n";
    std::filesystem::permissions(scratch / "token", std::filesystem::perms(0644));
    CHECK(code_of(named + " --token-file " + (scratch / "token").string()) == 1);
    const serving_process taken({named});
    CHECK(code_of(named + " --listen 127.0.0.1:" + std::to_string(taken.port())) == 1);
}

#include <catch2/catch.hpp>
#include <libpq-fe.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <tests/sink/clusters.hpp>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace chainbase::test {

namespace {

/// The folder of the sources.
const std::filesystem::path script =
    std::filesystem::path(__FILE__).parent_path().parent_path() / "programs/postgres_servers.py";

} // namespace

clusters::clusters(std::size_t count) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) throw std::runtime_error("no pipe");
    const std::string number = std::to_string(count);
    process_ = fork();
    if (process_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (const int one : {in[0], in[1], out[0], out[1]})
            close(one);
        execlp("python3", "python3", "-B", script.c_str(), number.c_str(), nullptr);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
    for (std::string one = line(); one != "ready"; one = line()) {
        if (one.starts_with("missing ") || one.empty()) {
            missing_ = one.empty() ? "python3 does not run " + script.string() : one.substr(8);
            return;
        }
        dsns_.push_back(one);
    }
}

clusters::~clusters() {
    fclose(to_); // which ends it
    fclose(from_);
    waitpid(process_, nullptr, 0);
}

clusters* clusters::shared() {
    static clusters all(1);
    if (all.missing().empty()) return &all;
    WARN("skipped: " + all.missing());
    return nullptr;
}

std::string clusters::line() {
    std::string found;
    for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_))
        found += static_cast<char>(c);
    return found;
}

std::string clusters::command(const std::string& words) {
    std::fprintf(to_, "%s\n", words.c_str());
    std::fflush(to_);
    std::string answer = line();
    if (!answer.starts_with("ok")) throw std::runtime_error(words + ": " + answer);
    return answer.size() > 3 ? answer.substr(3) : "";
}

struct other_session::connection {
    PGconn* own;
};

other_session::other_session(const std::string& dsn)
    : own_(std::make_unique<connection>(PQconnectdb(dsn.c_str()))) {
    if (PQstatus(own_->own) != CONNECTION_OK) {
        const std::string why = PQerrorMessage(own_->own);
        PQfinish(own_->own);
        throw std::runtime_error(why);
    }
    PQsetNoticeProcessor(own_->own, [](void*, const char*) {}, nullptr);
}

other_session::~other_session() {
    PQfinish(own_->own);
}

std::vector<std::string> other_session::run(const std::string& sql) {
    PGresult* const found = PQexec(own_->own, sql.c_str());
    const ExecStatusType status = PQresultStatus(found);
    const std::string why = PQresultErrorMessage(found);
    std::vector<std::string> rows;
    for (int row = 0; row < PQntuples(found); ++row) {
        rows.emplace_back();
        for (int at = 0; at < PQnfields(found); ++at)
            rows.back() +=
                (at == 0 ? "" : "|") +
                std::string(PQgetisnull(found, row, at) ? "NULL" : PQgetvalue(found, row, at));
    }
    PQclear(found);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        throw std::runtime_error(sql + ": " + why);
    return rows;
}

} // namespace chainbase::test

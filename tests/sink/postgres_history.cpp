#include <tools/sink/database.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/filled_schema.hpp>
#include <tests/sink/naive_chain.hpp>
#include <tests/support/seeded.hpp>

#include <string>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::test;

TEST_CASE_METHOD(seeded, "a history in a server has the rows of each block since the bootstrap") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()}, {"counter"});
    other_session other(servers->dsn());
    const naive_chain chain =
        require_histories_kept(one, other, one.table_called("counter.history"), random);
    const std::string at = one.table_called("counter.at");
    const revision_number first = chain.states().begin()->first;
    const revision_number middle = first + (chain.head() - first) / 2;
    CHECK(other.run("SELECT count(*) FROM " + at + "(" + std::to_string(middle) + ")").front() ==
          std::to_string(chain.states().at(middle).size()));
}

TEST_CASE("in a server a pop of the block that a history began with leaves the rows before") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()}, {"counter"});
    other_session other(servers->dsn());
    require_history_begun_earlier(one, other, one.table_called("counter.history"));
}

#include <tools/program.hpp>
#include <tools/sink/verbs.hpp>

namespace chainbase {

namespace {

constexpr verb_entry verbs[] = {
    {"follow", "Keep the rows of databases as the objects of a state are", sink::declare_follow,
     "follow --state state --to sqlite:state.sqlite --once"},
    {"verify", "Compare the rows of databases with the objects of a state", sink::declare_verify,
     "verify --state state --to sqlite:state.sqlite"},
    {"ddl", "Print the SQL that makes the tables of a state", sink::declare_ddl,
     "ddl --state state"},
    {"status", "Show how far databases are", sink::declare_status,
     "status --to sqlite:state.sqlite"},
    {"coordinator", "Make foreign tables over the shards, to ask all of them in one database",
     sink::declare_coordinator,
     "coordinator --state state --to dbname=all --shard dbname=one --shard dbname=two"},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    return chainbase::run_program(
        {"chainbase-sink", "Keeps the objects of a state in SQL databases", chainbase::verbs}, argc,
        argv);
}

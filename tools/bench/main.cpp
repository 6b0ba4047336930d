#include <tools/bench/account_bench.hpp>
#include <tools/bench/archive_bench.hpp>
#include <tools/bench/chain_bench.hpp>
#include <tools/bench/crash_bench.hpp>
#include <tools/bench/growth_bench.hpp>
#include <tools/bench/readers_bench.hpp>
#include <tools/bench/root_bench.hpp>
#include <tools/program.hpp>

int main(int argc, char** argv) {
    return chainbase::run_program("chainbase-bench",
                                  "Measures chainbase beside other engines, in one run", argc, argv,
                                  [](CLI::App& program, chainbase::exit_code&) {
                                      chainbase::bench::add_account_bench(program);
                                      chainbase::bench::add_chain_bench(program);
                                      chainbase::bench::add_growth_bench(program);
                                      chainbase::bench::add_crash_bench(program);
                                      chainbase::bench::add_archive_bench(program);
                                      chainbase::bench::add_readers_bench(program);
                                      chainbase::bench::add_root_bench(program);
                                  });
}

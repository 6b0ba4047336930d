#include <tools/bench/report.hpp>

#include <catch2/catch.hpp>

#include <sstream>

using namespace chainbase::bench;

TEST_CASE("small figures are printed with three digits, large ones without decimals") {
    report result;
    result.bench = "account";
    result.machine = nlohmann::json::object();
    result.rows = {{"heap", "squash", metric::ns, 0.00421, {}},
                   {"heap", "modify", metric::ns, 4.2149, {}},
                   {"heap", "create", metric::ns, 42.149, {}},
                   {"heap", "remove", metric::ns, 4214.9, {}},
                   {"heap", "iterate_by_id", metric::ns, 0, {}}};
    std::ostringstream out;
    print_table(out, result);
    for (const char* figure : {" 0.00421 ", " 4.21 ", " 42.1 ", " 4215 ", " 0.0 "}) {
        INFO(out.str());
        CHECK(out.str().find(figure) != std::string::npos);
    }
}

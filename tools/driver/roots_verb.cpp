#include <tools/driver/root/known_roots.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void declare_roots(command& verb) {
    struct call {
        std::filesystem::path from;
        std::uint64_t first = 1;
        std::uint64_t last = UINT64_MAX;
        std::size_t newest = SIZE_MAX;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("STATE", options->from,
                    "folder of the state, running or not; or what this wrote")
        .required();
    verb.add_option("--from", options->first, "number of the first block")
        .whole_number(1, UINT64_MAX);
    verb.add_option("--to", options->last, "number of the last block").whole_number(1, UINT64_MAX);
    verb.add_option("--newest", options->newest, "so many blocks at most, the newest ones")
        .whole_number(1, UINT32_MAX);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        known_roots all = known_roots::read(options->from);
        all.keep(options->first, options->last, options->newest);
        print_or_throw(options->json ? all.to_json() + "\n" : all.to_text(), "call again");
        return exit_code::done;
    });
}

} // namespace chainbase::driver

#include <tools/driver/root/bisection.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/print.hpp>
#include <tools/whole_number.hpp>

#include <memory>

namespace chainbase::driver {

void add_bisect_verb(CLI::App& program, exit_code& result) {
    struct call {
        std::filesystem::path a;
        std::filesystem::path b;
        std::size_t objects = 20;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand(
        "bisect", "Find the first block at which two runs differ, and the objects and fields");
    verb->add_option("A", options->a, "folder of a state with a root, or what `roots` wrote")
        ->required();
    verb->add_option("B", options->b, "another one")->required();
    verb->add_option("--objects", options->objects, "objects to name at most")
        ->transform(whole_number(1, 1'000'000))
        ->capture_default_str();
    verb->add_flag("--json", options->json, "one JSON object on stdout");
    verb->callback([options, &result] {
        const bisection found = bisection::of(options->a, options->b, options->objects);
        print_or_throw(options->json ? to_json(found) + "\n" : to_text(found), "call again");
        result = found.is_different() ? exit_code::different
                 : found.has_moved    ? exit_code::moved
                                      : exit_code::done;
    });
}

} // namespace chainbase::driver

#include <tools/driver/root/bisection.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::driver {

void declare_bisect(command& verb) {
    struct call {
        std::filesystem::path a;
        std::filesystem::path b;
        std::size_t objects = 20;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("A", options->a, "folder of a state with a root, or what `roots` wrote")
        .required();
    verb.add_option("B", options->b, "another one").required();
    verb.add_option("--objects", options->objects, "objects to name at most")
        .whole_number(1, 1'000'000)
        .shows_default();
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        const bisection found = bisection::of(options->a, options->b, options->objects);
        print_or_throw(options->json ? to_json(found) + "\n" : to_text(found), "call again");
        return found.is_different() ? exit_code::different
               : found.has_moved    ? exit_code::moved
                                    : exit_code::done;
    });
}

} // namespace chainbase::driver

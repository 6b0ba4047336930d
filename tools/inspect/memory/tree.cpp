#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/tree.hpp>
#include <tools/inspect/output_file.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>

#include <spdlog/spdlog.h>

#include <memory>

namespace chainbase::inspect {

namespace {

struct tree_call {
    std::string state;
    std::string html;
    bool ncdu = false;
    bool folded = false;
    bool json = false;
};

void tell(const tree_call& asked, const state_tree& found) {
    if (!asked.html.empty())
        return output_file(asked.html, {found.state.state, found.state.segment})
            .write(as_html(found));
    if (asked.ncdu) return print_or_throw(as_ncdu(found));
    if (asked.folded) return print_or_throw(as_folded(found));
    print_or_throw(asked.json ? as_json(found) : as_text(found));
}

exit_code run_tree(const tree_call& asked) {
    state_tree found{read_state(asked.state), {}};
    found.root = memory_tree(found.state);
    tell(asked, found);
    if (found.state.condition != condition::closed || found.state.consistent)
        return exit_code::done;
    spdlog::error("{}: the state is closed, and what it counts is not what its files hold; `stat` "
                  "says more",
                  asked.state);
    return exit_code::failed;
}

} // namespace

void declare_tree(command& verb) {
    const auto asked = std::make_shared<tree_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.at_most_one({
        verb.add_option("--html", asked->html, "Write a page with a treemap to this file"),
        verb.add_flag("--ncdu", asked->ncdu, "Print what `ncdu -f -` reads"),
        verb.add_flag("--folded", asked->folded, "Print folded stacks, for flame graphs"),
        verb.add_flag("--json", asked->json, "Print one JSON object"),
    });
    verb.runs([asked] { return look_at(asked->state, [&] { return run_tree(*asked); }); });
}

} // namespace chainbase::inspect

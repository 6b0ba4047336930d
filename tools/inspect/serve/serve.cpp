#include <tools/inspect/look_at.hpp>
#include <tools/inspect/serve/state_page.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace chainbase::inspect {

namespace {

struct call {
    std::string state;
    std::string listen = "127.0.0.1:0";
    std::string token_file;
    bool json = false;
};

std::string told(const std::string& url, bool is_json) {
    using json = nlohmann::ordered_json;
    return (is_json ? json{{"schema_version", 1}, {"url", url}}.dump() : url) + "\n";
}

void run(const call& asked) {
    // Whoever waits for a writer that hangs is ended by the second signal.
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    page_options options;
    options.listen = listen_address::parse(asked.listen);
    if (!asked.token_file.empty()) options.token = access_token::read(asked.token_file);
    const state_page page(asked.state, options);
    print_or_throw(told(page.url(), asked.json), "direct stdout elsewhere and call again");
    while (!catch_interruption::noted())
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

} // namespace

void declare_serve(command& verb) {
    const auto asked = std::make_shared<call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("--listen", asked->listen,
                    "HOST:PORT, or :PORT for the loopback; port 0: any, told on stdout. Another "
                    "address than the loopback's needs a token, which the printed address has")
        .value_name("HOST:PORT")
        .shows_default();
    verb.add_option("--token-file", asked->token_file,
                    "Ask for the token in this file, which only its owner may read")
        .value_name("FILE");
    verb.add_flag("--json", asked->json, "Print the address as a JSON object");
    verb.runs([asked] {
        look_at(asked->state, [&] { run(*asked); });
        return exit_code::done; // a signal is how it is meant to end
    });
}

} // namespace chainbase::inspect

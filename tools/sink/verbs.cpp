#include <chainbase/feed/feed_files.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/observation.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/sink/coordinator.hpp>
#include <tools/sink/following.hpp>
#include <tools/sink/verbs.hpp>
#include <tools/sink/verify.hpp>
#include <tools/text_table.hpp>

#include <boost/describe.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

namespace chainbase::sink {

BOOST_DESCRIBE_STRUCT(verification::difference, (), (type, id, what))
BOOST_DESCRIBE_STRUCT(following::report, (),
                      (bootstraps, blocks, pops, rows, transactions, revision, has_feed))

namespace {

/// What all verbs take.
struct sink_call {
    sink_options sink;
    bool json = false;
};

constexpr const char* dsn_form =
    "what libpq connects to ('host=... dbname=...', postgresql://...), "
    "or sqlite:FILE";

void add_state(command& verb, sink_call& call, bool is_required = true) {
    auto& option = verb.add_option("--state", call.sink.state, "The folder of the state");
    option.value_name("DIR");
    if (is_required) option.required();
}

void add_databases(command& verb, sink_call& call) {
    verb.add_option("--to", call.sink.to, std::string("The database: ") + dsn_form)
        .value_name("DSN");
    verb.add_option("--shard", call.sink.shards,
                    "Distribute the rows over these databases in place of --to; always the same "
                    "ones, in the same order")
        .value_name("DSN")
        .one_value_each_time();
    verb.add_option("--answer-timeout", call.sink.answer_seconds,
                    "Ask whether a server works still when it has not answered for so many seconds")
        .value_name("SECONDS")
        .whole_number(1, 86'400)
        .shows_default();
}

void add_tables(command& verb, sink_call& call) {
    verb.add_option("--schema", call.sink.tables.schema,
                    "The schema that has the tables; that of the sink's own ones is NAME_sink")
        .value_name("NAME")
        .shows_default();
    verb.add_option("--history", call.sink.tables.history,
                    "Keep what rows of these types were, with the revisions; or all")
        .value_name("TYPE")
        .delimiter(',');
    verb.add_option("--distribute", call.sink.distribute,
                    "Distribute the rows of a type by a field in place of the id")
        .value_name("TYPE:FIELD")
        .one_value_each_time();
    verb.add_option_function<std::string>(
            "--distribute-with",
            [&call](const std::string& with) {
                call.sink.tables.in = with == "citus" ? dialect::citus : dialect::postgres;
            },
            "How: by Citus, whose coordinator --to is, or not at all")
        .one_of({"citus", "none"});
}

void require_databases(const sink_call& call) {
    if (call.sink.to.empty() && call.sink.shards.empty())
        throw usage_error(std::string("no database; give --to DSN, ") + dsn_form);
    if (call.sink.tables.in == dialect::citus && !call.sink.shards.empty())
        throw usage_error("--distribute-with citus: Citus has its own shards; leave --shard out");
}

// --- follow ---

struct follow_call : sink_call {
    bool is_once = false;
    bool begins_again = false;
    driver::observation_options observed;
};

std::string follow_text(const following::report& done) {
    std::string text =
        fmt::format("revision {}: {} blocks, {} pops, {} rows in {} transactions", done.revision,
                    done.blocks, done.pops, done.rows, done.transactions);
    if (done.bootstraps != 0) text += ", after the rows were made anew";
    if (!done.has_feed) text += "; no node writes a feed";
    return text + "\n";
}

exit_code run_follow(const follow_call& asked) {
    require_databases(asked);
    const driver::observation observed(asked.observed);
    const catch_interruption interruption;
    following work({asked.sink, asked.is_once, asked.begins_again}, catch_interruption::caught);
    const following::report done = work.run();
    print_or_throw(asked.json ? line_of(json_of(done)) + "\n" : follow_text(done));
    return catch_interruption::caught() && asked.is_once ? exit_code::interrupted : exit_code::done;
}

// --- verify ---

struct verify_call : sink_call {
    std::size_t most = 20;
};

json report_value(const verification& found) {
    return {{"schema_version", 1},
            {"revision", found.revision},
            {"same", found.is_same()},
            {"state_digest", found.state_digest},
            {"rows_digest", found.rows_digest},
            {"rows", found.rows},
            {"told_since", found.told_since},
            {"different", found.different},
            {"differences", json_of(found.first)}};
}

std::string verify_text(const verification& found) {
    std::string text;
    for (const verification::difference& one : found.first)
        text += fmt::format("{} {}: {}\n", one.type, one.id, one.what);
    if (found.different > found.first.size())
        text += fmt::format("and {} more\n", found.different - found.first.size());
    return text +
           fmt::format("revision     {}\nrows         {}\nstate digest {}\nrows digest  {}\n",
                       found.revision, grouped(found.rows), found.state_digest, found.rows_digest);
}

exit_code run_verify(const verify_call& asked) {
    require_databases(asked);
    const catch_interruption interruption;
    const verification found = verify(asked.sink, asked.most, catch_interruption::caught);
    print_or_throw(asked.json ? line_of(json(report_value(found))) + "\n" : verify_text(found));
    return found.is_same() ? exit_code::done : exit_code::different;
}

// --- ddl ---

exit_code run_ddl(const sink_call& asked) {
    const state_description state = state_description::of(asked.sink.state);
    known_tables tables(asked.sink.distribute);
    const std::vector<const table*> all = tables.take(state.types);
    const ddl made(asked.sink.tables);
    std::vector<std::string> statements = made.begin();
    const auto add = [&](const std::vector<std::string>& more) {
        statements.insert(statements.end(), more.begin(), more.end());
    };
    for (const table* of : all) {
        add(made.create(*of, tables.distribution(*of), tables.has_removed(*of)));
        add(made.index(*of));
    }
    std::string text;
    for (const std::string& one : statements)
        text += asked.json ? line_of(json(one)) + "\n" : one + ";\n";
    print_or_throw(text);
    return exit_code::done;
}

// --- status ---

exit_code run_status(const sink_call& asked) {
    require_databases(asked);
    known_tables tables;
    databases all(asked.sink, tables, catch_interruption::caught, /*reads_only=*/true);
    std::vector<std::optional<cursor>> found(all.count());
    all.each([&](std::size_t number) { found[number] = all.link(number).where(); });
    std::optional<revision_number>
        newest; // looked at last, so that nothing seems nearer than it is
    if (!asked.sink.state.empty()) newest = block_of_state::of(asked.sink.state).revision;
    json shown{{"schema_version", 1}, {"databases", json::array()}};
    if (newest) shown["revision"] = *newest;
    text_table lines({"database", "revision", "behind", "feed"});
    lines.is_text(3);
    for (std::size_t number = 0; number < all.count(); ++number) {
        const std::optional<cursor>& at = found[number];
        json one{{"database", all.link(number).name()}, {"ready", at && at->is_ready}};
        if (at) {
            one["revision"] = at->revision;
            one["serial"] = at->serial;
            one["position"] = json_of(at->at);
            one["shard"] = at->shard;
            one["shards"] = at->shards;
            one["bootstraps"] = at->bootstraps();
            if (newest) one["behind"] = std::max<revision_number>(*newest - at->revision, 0);
        }
        lines.add({all.link(number).name(),
                   !at             ? "no rows"
                   : !at->is_ready ? "being copied"
                                   : std::to_string(at->revision),
                   at && newest
                       ? std::to_string(std::max<revision_number>(*newest - at->revision, 0))
                       : "",
                   at && at->at ? std::to_string(*at->at) : "none"});
        shown["databases"].push_back(std::move(one));
    }
    print_or_throw(asked.json ? line_of(shown) + "\n" : lines.text());
    return exit_code::done;
}

// --- coordinator ---

struct coordinator_call : sink_call {
    bool prints_only = false;
};

exit_code run_coordinator(const coordinator_call& asked) {
    if (asked.sink.shards.empty() || (asked.sink.to.empty() && !asked.prints_only))
        throw usage_error("a coordinator is --to DSN, and its --shard are several");
    const state_description state = state_description::of(asked.sink.state);
    known_tables tables(asked.sink.distribute);
    (void)tables.take(state.types);
    const ddl made(asked.sink.tables);
    const std::vector<std::string> statements = coordinator_sql(asked.sink.shards, tables, made);
    if (asked.prints_only) {
        std::string text;
        for (const std::string& one : statements)
            text += one + ";\n";
        print_or_throw(text);
        return exit_code::done;
    }
    const link_options how{.tables = made,
                           .answers_within = std::chrono::seconds(asked.sink.answer_seconds)};
    open_postgres(asked.sink.to, how)->run(statements);
    print_or_throw(
        fmt::format("{} tables over {} shards\n", tables.all().size(), asked.sink.shards.size()));
    return exit_code::done;
}

} // namespace

void declare_coordinator(command& verb) {
    const auto asked = std::make_shared<coordinator_call>();
    add_state(verb, *asked);
    add_databases(verb, *asked);
    add_tables(verb, *asked);
    verb.add_flag("--dry-run", asked->prints_only, "Print the SQL only; passwords are in it");
    verb.runs([asked] {
        return inspect::look_at(asked->sink.state, [&] { return run_coordinator(*asked); });
    });
}

void declare_follow(command& verb) {
    const auto asked = std::make_shared<follow_call>();
    add_state(verb, *asked);
    add_databases(verb, *asked);
    add_tables(verb, *asked);
    verb.add_flag("--once", asked->is_once,
                  "End when the databases have what is there; also of a state that nobody wrote "
                  "with its feed");
    verb.add_option_function<std::string>(
            "--bootstrap",
            [asked](const std::string& how) { asked->begins_again = how == "again"; },
            "Where the feed does not go on from where the databases are: make the rows anew, or "
            "end with an error")
        .one_of({"again", "never"})
        .default_text("never");
    verb.add_option("--cursor", asked->sink.name,
                    "The name of the cursor in the state's feed; default: made of the databases")
        .value_name("NAME");
    driver::add_observation_options(verb, asked->observed);
    verb.add_flag("--json", asked->json, "Print one JSON object at the end");
    verb.runs([asked] {
        inspect::yield_to_writer(asked->sink.state);
        return inspect::look_at(asked->sink.state, [&] { return run_follow(*asked); });
    });
}

void declare_verify(command& verb) {
    const auto asked = std::make_shared<verify_call>();
    add_state(verb, *asked);
    add_databases(verb, *asked);
    add_tables(verb, *asked);
    verb.add_option("--differences", asked->most, "Name as many rows that differ at most")
        .shows_default();
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] {
        inspect::yield_to_writer(asked->sink.state);
        return inspect::look_at(asked->sink.state, [&] { return run_verify(*asked); });
    });
}

void declare_ddl(command& verb) {
    const auto asked = std::make_shared<sink_call>();
    add_state(verb, *asked);
    add_tables(verb, *asked);
    verb.add_option_function<std::string>(
            "--dialect",
            [asked](const std::string& in) {
                if (in == "sqlite") asked->sink.tables.in = dialect::sqlite;
            },
            "Of which database")
        .one_of({"postgres", "sqlite"})
        .default_text("postgres");
    verb.add_flag("--json", asked->json, "Print a JSON text a statement");
    verb.runs(
        [asked] { return inspect::look_at(asked->sink.state, [&] { return run_ddl(*asked); }); });
}

void declare_status(command& verb) {
    const auto asked = std::make_shared<sink_call>();
    add_state(verb, *asked, /*is_required=*/false);
    add_databases(verb, *asked);
    verb.add_option("--schema", asked->sink.tables.schema, "The schema that has the tables")
        .value_name("NAME")
        .shows_default();
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return run_status(*asked); });
}

} // namespace chainbase::sink

#include <pool_allocator/base/error.hpp>
#include <tools/interruption.hpp>
#include <tools/sink/databases.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace chainbase::sink {

namespace {

const trace::site applying("sink.apply");
const trace::counter rows_applied("sink.rows");
const trace::counter bytes_applied("sink.bytes");
const trace::counter retries("sink.retries");

constexpr std::chrono::milliseconds first_pause{50};
constexpr std::chrono::milliseconds longest_pause{5'000};

bool is_sqlite(const std::string& dsn) {
    return dsn.starts_with("sqlite:");
}

ddl ddl_of(const sink_options& asked) {
    ddl_options how = asked.tables;
    if (is_sqlite(asked.targets().front())) how.in = dialect::sqlite;
    return ddl(std::move(how));
}

} // namespace

std::unique_ptr<database_link> open_database(const std::string& dsn, const link_options& how) {
    constexpr std::string_view prefix = "sqlite:";
    if (is_sqlite(dsn)) return open_sqlite(dsn.substr(prefix.size()), how);
    return open_postgres(dsn, how);
}

databases::databases(const sink_options& asked, const known_tables& tables,
                     std::function<bool()> is_over, bool reads_only)
    : tables_(tables), made_(ddl_of(asked)), is_over_(std::move(is_over)) {
    const std::vector<std::string> targets = asked.targets();
    if (targets.size() > 1 && std::ranges::any_of(targets, is_sqlite))
        throw usage_error("--shard: the databases of several are servers; one file is given by "
                          "--to alone");
    link_options how{made_, [&tables](const table& of) { return tables.distribution(of); },
                     reads_only, std::chrono::seconds(asked.answer_seconds), is_over_};
    for (const std::string& dsn : targets)
        all_.emplace_back(open_database(dsn, how));
}

databases::figures::figures(const std::string& name)
    : revision("sink.database.revision", {"database", name}),
      rows("sink.database.rows", {"database", name}),
      retries("sink.database.retries", {"database", name}) {
    retries.set(0); // shown before the first one, too
}

databases::one::one(std::unique_ptr<database_link> to) : link(std::move(to)), shown(link->name()) {}

databases::~databases() {
    for (one& each : all_)
        if (each.work.valid()) each.work.wait();
}

/// Waits longer each time, as far as the caller does.
void databases::patiently(one& of, const std::function<void()>& work) const {
    for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        try {
            return work();
        } catch (const retry_error& problem) {
            retries.add(1);
            of.shown.retries.set(static_cast<double>(++of.retries));
            if (pause == first_pause) spdlog::warn("{}; it is tried again", problem.what());
        }
        const auto until = std::chrono::steady_clock::now() + pause;
        while (std::chrono::steady_clock::now() < until) {
            if (is_over_())
                throw interrupted_error(of.link->name() + ": it was not reached any more");
            std::this_thread::sleep_for(first_pause);
        }
    }
}

void databases::each(const std::function<void(std::size_t)>& work) {
    wait();
    for (std::size_t number = 0; number < all_.size(); ++number)
        all_[number].work = std::async(
            std::launch::async, [&, number] { patiently(all_[number], [&] { work(number); }); });
    wait();
}

void databases::wait() {
    std::exception_ptr first;
    for (one& each : all_)
        try {
            if (each.work.valid()) each.work.get();
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    if (first) std::rethrow_exception(first);
}

void databases::give_up() {
    for (one& each : all_)
        try {
            if (each.work.valid()) each.work.get();
        } catch (const fenced_error&) {
            throw;
        } catch (const error&) { // what was begun is made anew
        }
}

bool databases::is_idle() const {
    return std::ranges::all_of(all_, [](const one& each) {
        return !each.work.valid() ||
               each.work.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
}

void databases::look(const std::string& state) {
    each([&](std::size_t number) { all_[number].at = all_[number].link->where(); });
    for (std::size_t number = 0; number < all_.size(); ++number) {
        const std::optional<cursor>& at = all_[number].at;
        if (!at) continue;
        const std::string& name = all_[number].link->name();
        if (at->state != state)
            throw usage_error(name + ": its tables are of another state; name another schema with "
                                     "--schema, or drop this one");
        if (at->shard != number || at->shards != all_.size())
            throw usage_error(fmt::format("{}: it was shard {} of {}, not {} of {}; give the same "
                                          "--shard in the same order, or another --schema",
                                          name, at->shard + 1, at->shards, number + 1,
                                          all_.size()));
    }
}

void databases::make() {
    each([&](std::size_t number) { all_[number].link->run(made_.begin()); });
}

void databases::make(const std::vector<const table*>& tables, bool indexed) {
    std::vector<std::string> statements;
    for (const table* of : tables) {
        std::ranges::move(made_.create(*of, tables_.distribution(*of), tables_.has_removed(*of)),
                          std::back_inserter(statements));
        if (indexed) std::ranges::move(made_.index(*of), std::back_inserter(statements));
    }
    statements.push_back("UPDATE " + made_.own("types") +
                         " SET catalogue = " + literal(tables_.made_from()));
    each([&](std::size_t number) { all_[number].link->run(statements); });
}

void databases::begin_bootstrap(const std::vector<cursor>& to,
                                const std::vector<const table*>& tables) {
    const std::string catalogue = tables_.made_from();
    const auto begin = [&](std::size_t number) {
        one& at = all_[number];
        // Where it is done again, its answer was lost.
        const std::optional<cursor> now = at.link->where();
        at.link->begin_bootstrap(now == to[number] ? now : at.at, to[number], tables, catalogue);
        at.at = to[number];
    };
    // Of two sinks that begin at once the first database decides which one does.
    patiently(all_.front(), [&] { begin(0); });
    each([&](std::size_t number) {
        if (number != 0) begin(number);
    });
}

void databases::begin_load(std::vector<load_batch> rows) {
    for (std::size_t number = 0; number < all_.size(); ++number)
        if (!rows[number].rows.empty())
            all_[number].work = std::async(
                std::launch::async,
                [&link = *all_[number].link, part = std::move(rows[number])] { link.load(part); });
}

void databases::begin(std::vector<batch> changes, const std::vector<cursor>& to) {
    for (std::size_t number = 0; number < all_.size(); ++number) {
        one& each = all_[number];
        if (*each.at == to[number]) continue;
        each.work =
            std::async(std::launch::async, [this, &each, batch = std::move(changes[number]),
                                            next = to[number]] { apply(each, batch, next); });
    }
}

/// After a lost connection nobody knows whether the transaction was done; the cursor does. One that
/// a server does only now, as it was frozen, is met by the next attempt.
void databases::apply(one& to, const batch& changes, const cursor& next) const {
    const trace::span timed(applying);
    bool is_in_doubt = false;
    patiently(to, [&] {
        if (is_in_doubt && to.link->where() == next) return;
        try {
            to.link->apply(changes, *to.at, next);
        } catch (const fenced_error&) {
            if (!is_in_doubt || to.link->where() != next) throw;
        } catch (...) {
            is_in_doubt = true;
            throw;
        }
    });
    to.at = next;
    std::size_t rows = 0;
    for (const table_batch& one : changes.tables)
        rows += one.changes.size();
    rows_applied.add(rows);
    to.rows += rows;
    to.shown.rows.set(static_cast<double>(to.rows));
    to.shown.revision.set(static_cast<double>(next.revision));
    bytes_applied.add(changes.records.size());
}

} // namespace chainbase::sink

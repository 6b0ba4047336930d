#include <archive/record/integers.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/sink/database.hpp>
#include <tools/sink/postgres/binary.hpp>
#include <tools/sink/postgres/connection.hpp>
#include <tools/sink/postgres/errors.hpp>
#include <tools/sink/postgres/table_writer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <set>
#include <utility>

namespace chainbase::sink {

namespace {

using postgres::array_parameter;
using postgres::connection;
using postgres::data_source;
using postgres::parameter;
using postgres::result;
using postgres::table_writer;

constexpr const char* begin_writing = "BEGIN ISOLATION LEVEL READ COMMITTED";
constexpr const char* begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
constexpr std::size_t rows_of_fetch = 4'096;

std::string text_of(const std::optional<cursor>& at) {
    if (!at) return "not there";
    return fmt::format("at position {} of epoch {} (revision {})",
                       at->at ? std::to_string(*at->at) : "none", at->epoch, at->revision);
}

/// Values of bigint and boolean, which are parameters.
class scalars {
public:
    parameter big(std::int64_t number) {
        archive::detail::store_big(bytes_.at(used_).data(), number);
        return {postgres::type_of(column_kind::big), bytes_.at(used_++)};
    }
    parameter position(const std::optional<feed::feed_position>& at) {
        if (at) return big(static_cast<std::int64_t>(*at));
        return parameter::null(postgres::type_of(column_kind::big));
    }
    parameter boolean(bool is_true) {
        bytes_.at(used_)[0] = std::byte{is_true};
        return {postgres::type_of(column_kind::boolean),
                archive::bytes_view(bytes_.at(used_++)).first(1)};
    }

private:
    std::array<std::array<std::byte, sizeof(std::int64_t)>, 12> bytes_{};
    std::size_t used_ = 0;
};

class postgres_link final : public database_link {
    /// After an exception the next call connects anew: a transaction of this one is undone.
    template <typename Work>
    auto guarded(Work&& work) {
        try {
            if (!now_) now_ = std::make_unique<connection>(to_, how_);
            return work(*now_);
        } catch (...) {
            now_.reset();
            throw;
        }
    }

public:
    postgres_link(const std::string& dsn, const link_options& how) : to_(dsn), how_(how) {}

    const std::string& name() const noexcept override { return to_.name(); }

    void run(std::span<const std::string> statements) override {
        guarded([&](connection& now) {
            now.begin_pipeline();
            now.send(begin_writing);
            lock_schema(now);
            for (const std::string& one : statements)
                now.send_once(one);
            now.send("COMMIT");
            now.end_pipeline();
        });
    }

    /// A process of the server that a dead sink left may still be moving it.
    std::optional<cursor> where() override {
        return guarded([&](connection& now) {
            const result reads_only =
                now.ask("SELECT current_setting('transaction_read_only')::boolean");
            return cursor_now(now, reads_only.is_true(0, 0) ? "" : " FOR SHARE");
        });
    }

    std::string catalogue() override {
        return guarded([&](connection& now) {
            if (!has(now, own("types"))) return std::string();
            require_format(now);
            const result found = now.ask("SELECT catalogue FROM " + own("types"));
            return found.rows() == 0 ? std::string() : std::string(found.text(0, 0));
        });
    }

    void begin_bootstrap(const std::optional<cursor>& from, const cursor& to,
                         std::span<const table* const> tables,
                         const std::string& catalogue) override {
        guarded([&](connection& now) {
            now.ask(begin_writing);
            now.ask("LOCK TABLE " + own("cursor") + " IN SHARE ROW EXCLUSIVE MODE");
            require_at(from, cursor_now(now));
            const std::vector<std::string> all = those_there(now, tables);
            if (!all.empty()) now.ask(fmt::format("TRUNCATE {}", fmt::join(all, ", ")));
            put_cursor(now, to);
            now.ask("UPDATE " + own("types") + " SET catalogue = $1", {parameter::text(catalogue)});
            now.ask("COMMIT");
        });
        begun_ = to;
        filled_ = {tables.begin(), tables.end()};
    }

    void load(const load_batch& rows) override {
        if (rows.rows.empty()) return;
        try {
            load(rows, /*replaces=*/false);
        } catch (const postgres::taken_error&) {
            // A commit before whose answer was lost.
            load(rows, /*replaces=*/true);
        }
    }

    void apply(const batch& changes, const cursor& from, const cursor& to) override {
        guarded([&](connection& now) {
            now.begin_pipeline();
            now.send(begin_writing);
            advance(now, from, to);
            for (const table_batch& one : changes.tables) {
                if (!from.is_ready) filled_.insert(one.of);
                writer_of(*one.of).apply(now, one, changes, to.revision, from.is_ready);
            }
            if (to.is_ready && !from.is_ready)
                for (const table* one : filled_)
                    writer_of(*one).begin_history(now, to);
            now.send("COMMIT");
            now.end_pipeline();
        });
    }

    void read(std::span<const table* const> tables, const std::function<void(const cursor&)>& begun,
              const std::function<void(const table&, std::span<const value>)>& visit) override {
        guarded([&](connection& now) {
            now.ask(begin_reading);
            lock(now, tables);
            const std::optional<cursor> at = cursor_now(now);
            if (!at)
                throw usage_error(name() + ": it has no rows of a sink in this --schema; run "
                                           "chainbase-sink follow");
            begun(*at);
            for (const table* one : tables)
                read(now, *one, visit);
            now.ask("COMMIT");
        });
    }

private:
    [[nodiscard]] const ddl& made() const noexcept { return how_.tables; }
    [[nodiscard]] std::string own(std::string_view name) const { return made().own(name); }

    table_writer& writer_of(const table& one) {
        const auto found = writers_.find(&one);
        if (found != writers_.end()) return found->second;
        return writers_.try_emplace(&one, made(), one, how_.distribution(one)).first->second;
    }

    /// Statements that make what is missing fail when two sessions run them at once.
    void lock_schema(connection& now) {
        now.send("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                 {parameter::text("chainbase-sink " + made().options().schema)});
    }

    /// What empties tables waits for those who read them: it is seen in transactions that began
    /// before. Requires that the transaction has read nothing.
    void lock(connection& now, std::span<const table* const> tables) {
        std::vector<std::string> names;
        for (const table* one : tables)
            names.push_back(made().name_of(*one));
        if (!names.empty())
            now.ask(fmt::format("LOCK TABLE {} IN ACCESS SHARE MODE", fmt::join(names, ", ")));
    }

    static bool has(connection& now, const std::string& name) {
        return now.ask("SELECT to_regclass($1) IS NOT NULL", {parameter::text(name)}).is_true(0, 0);
    }

    /// Those tables, and what belongs to them.
    std::vector<std::string> those_there(connection& now, std::span<const table* const> tables) {
        array_parameter names(column_kind::text);
        for (const table* one : tables)
            for (const std::string& name :
                 {made().name_of(*one), made().history_of(*one), made().removed_of(*one)})
                names.add_text(name);
        const result found = now.ask("SELECT name FROM unnest($1) AS of(name) WHERE "
                                     "to_regclass(name) IS NOT NULL",
                                     {{names.type(), names.bytes()}});
        std::vector<std::string> all;
        for (std::size_t row = 0; row < found.rows(); ++row)
            all.emplace_back(found.text(row, 0));
        return all;
    }

    // --- the cursor ---

    void require_format(connection& now) {
        const result found = now.ask("SELECT format::bigint FROM " + own("types"));
        if (found.rows() == 0 || found.number(0, 0) == ddl::format) return;
        throw usage_error(fmt::format("{}: its tables are of format {}, this program has {}; use "
                                      "the one that made them, or another --schema",
                                      name(), found.number(0, 0), ddl::format));
    }

    std::optional<cursor> cursor_now(connection& now, const std::string& locked = {}) {
        if (!has(now, own("cursor"))) return std::nullopt;
        require_format(now);
        const result found = now.ask("SELECT is_ready, state, position, revision, serial, epoch, "
                                     "since, shard, shards FROM " +
                                         own("cursor") + locked,
                                     {}, "the cursor");
        if (found.rows() == 0) return std::nullopt;
        cursor at;
        at.is_ready = found.is_true(0, 0);
        at.state = found.text(0, 1);
        if (!found.is_null(0, 2)) at.at = static_cast<feed::feed_position>(found.number(0, 2));
        at.revision = found.number(0, 3);
        at.serial = static_cast<std::uint32_t>(found.number(0, 4));
        at.epoch = static_cast<std::uint64_t>(found.number(0, 5));
        at.since = found.number(0, 6);
        at.shard = static_cast<std::uint32_t>(found.number(0, 7));
        at.shards = static_cast<std::uint32_t>(found.number(0, 8));
        return at;
    }

    void require_at(const std::optional<cursor>& from, const std::optional<cursor>& now) const {
        if (now == from) return;
        throw fenced_error(fmt::format("{}: another sink follows into this database: its cursor is "
                                       "{}, and was {}; stop one of them",
                                       name(), text_of(now), text_of(from)));
    }

    void put_cursor(connection& now, const cursor& to) {
        scalars all;
        now.ask("DELETE FROM " + own("cursor"));
        now.ask("INSERT INTO " + own("cursor") +
                    " (is_ready, state, position, revision, serial, epoch, since, shard, shards) "
                    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                {all.boolean(to.is_ready), parameter::text(to.state), all.position(to.at),
                 all.big(to.revision), all.big(to.serial),
                 all.big(static_cast<std::int64_t>(to.epoch)), all.big(to.since), all.big(to.shard),
                 all.big(to.shards)});
    }

    /// Waits for a transaction that moves it just now, and then fails.
    void advance(connection& now, const cursor& from, const cursor& to) {
        scalars all;
        now.send("SELECT " + own("advance") + "($1, $2, $3, $4, $5, $6)",
                 {all.position(from.at), all.big(static_cast<std::int64_t>(from.epoch)),
                  all.position(to.at), all.big(to.revision), all.big(to.serial),
                  all.boolean(to.is_ready)},
                 "the cursor");
    }

    // --- rows ---

    /// The cursor keeps its place until the rows are there.
    void load(const load_batch& rows, bool replaces) {
        guarded([&](connection& now) {
            now.ask(begin_writing);
            now.ask("SELECT FROM " + own("cursor") + " FOR SHARE", {}, "the cursor");
            const std::optional<cursor> at = cursor_now(now);
            if (!at || at->is_ready || (begun_ && at->epoch != begun_->epoch))
                throw fenced_error(fmt::format("{}: another sink follows into this database: its "
                                               "cursor is {}, not where rows are copied; stop one "
                                               "of them",
                                               name(), text_of(at)));
            writer_of(*rows.of).load(now, rows, replaces);
            now.ask("COMMIT");
        });
    }

    /// While rows are visited, the server makes the next ones.
    void read(connection& now, const table& of,
              const std::function<void(const table&, std::span<const value>)>& visit) {
        const std::string what = "table " + made().name_of(of);
        now.ask("DECLARE sink NO SCROLL CURSOR FOR " + writer_of(of).rows_by_id(), {}, what);
        const std::string fetch = fmt::format("FETCH {} FROM sink", rows_of_fetch);
        std::vector<value> row(of.columns().size());
        now.begin_to_ask(fetch, what);
        for (result rows = now.answer(); rows.rows() != 0; rows = now.answer()) {
            require_types(of, rows);
            now.begin_to_ask(fetch, what);
            for (std::size_t at = 0; at < rows.rows(); ++at) {
                decode(of, rows, at, row);
                visit(of, row);
            }
        }
        now.ask("CLOSE sink", {}, what);
    }

    void require_types(const table& of, const result& rows) const {
        for (std::size_t at = 0; at < of.columns().size(); ++at)
            if (rows.type_of(at) != postgres::type_of(of.columns()[at]))
                throw usage_error(fmt::format("{}, table {}: its column {} is not {} any more; "
                                              "undo that change, or drop the table and begin anew "
                                              "with --bootstrap again",
                                              name(), made().name_of(of), of.columns()[at].name,
                                              made().type_of(of.columns()[at])));
    }

    void decode(const table& of, const result& rows, std::size_t at, std::vector<value>& to) const {
        for (std::size_t i = 0; i < to.size(); ++i) {
            const archive::bytes_view bytes = rows.bytes(at, i);
            const std::string problem = postgres::decode(of.columns()[i], bytes.data(),
                                                         bytes.size(), rows.is_null(at, i), to[i]);
            if (problem.empty()) continue;
            throw usage_error(fmt::format("{}, table {}, row {}, column {}: {}; it was changed by "
                                          "others than the sink: begin anew with --bootstrap again",
                                          name(), made().name_of(of), to[0].digits(),
                                          of.columns()[i].name, problem));
        }
    }

    const data_source to_;
    const link_options how_;
    std::optional<cursor> begun_;                  ///< the bootstrap that this object began
    std::set<const table*> filled_;                ///< tables that had rows when it became ready
    std::map<const table*, table_writer> writers_; ///< of tables, which outlive it
    std::unique_ptr<connection> now_;
};

} // namespace

std::unique_ptr<database_link> open_postgres(const std::string& dsn, const link_options& how) {
    if (how.tables.options().in == dialect::sqlite)
        throw usage_error("a server's tables are made with the dialect of PostgreSQL");
    return std::make_unique<postgres_link>(dsn, how);
}

} // namespace chainbase::sink

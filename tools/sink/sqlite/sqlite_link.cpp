#include <pool_allocator/base/error.hpp>
#include <tools/sink/database.hpp>
#include <tools/sink/sqlite/connection.hpp>
#include <tools/sink/sqlite/table_writer.hpp>

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace chainbase::sink {

namespace {

using sqlite::connection;
using sqlite::statement;
using sqlite::table_writer;
using sqlite::transaction;

std::string unquoted(const std::string& name) {
    std::string all;
    for (std::size_t at = 1; at + 1 < name.size(); ++at) {
        all += name[at];
        if (name[at] == '"') ++at;
    }
    return all;
}

std::string text_of(const std::optional<cursor>& at) {
    if (!at) return "not there";
    return fmt::format("at position {} of epoch {} (revision {})",
                       at->at ? std::to_string(*at->at) : "none", at->epoch, at->revision);
}

class sqlite_link final : public database_link {
public:
    sqlite_link(std::string file, const link_options& how)
        : file_(std::move(file)), name_("sqlite:" + file_), how_(how) {}

    const std::string& name() const noexcept override { return name_; }

    void run(std::span<const std::string> statements) override {
        again_after_retry([&] {
            transaction all(open(), transaction::kind::writes);
            for (const std::string& one : statements)
                open().run(one);
            all.commit();
        });
    }

    std::optional<cursor> where() override {
        std::optional<cursor> found;
        again_after_retry([&] {
            const transaction all(open(), transaction::kind::reads);
            found = cursor_now();
        });
        return found;
    }

    std::string catalogue() override {
        std::string found;
        again_after_retry([&] {
            const transaction all(open(), transaction::kind::reads);
            if (!has_own("types")) return;
            require_format();
            statement ask = open().prepare("SELECT catalogue FROM " + ddl_of().own("types"));
            if (ask.step()) found = ask.text(0);
        });
        return found;
    }

    void begin_bootstrap(const std::optional<cursor>& from, const cursor& to,
                         std::span<const table* const> tables,
                         const std::string& catalogue) override {
        again_after_retry([&] {
            transaction all(open(), transaction::kind::writes);
            require_at(from, cursor_now());
            for (const table* one : tables)
                writer_of(*one).erase_all();
            open().run("DELETE FROM " + ddl_of().own("cursor"));
            put_cursor(to);
            put_catalogue(catalogue);
            all.commit();
        });
        begun_ = to;
        filled_ = {tables.begin(), tables.end()};
    }

    void load(const load_batch& rows) override {
        again_after_retry([&] {
            transaction all(open(), transaction::kind::writes);
            const std::optional<cursor> now = cursor_now();
            if (!now || now->is_ready || (begun_ && now->epoch != begun_->epoch))
                throw fenced_error(fmt::format("{}: another sink follows into this database: its "
                                               "cursor is {}, not where rows are copied; stop one "
                                               "of them",
                                               name_, text_of(now)));
            writer_of(*rows.of).load(rows);
            all.commit();
        });
    }

    void apply(const batch& changes, const cursor& from, const cursor& to) override {
        again_after_retry([&] {
            transaction all(open(), transaction::kind::writes);
            advance(from, to);
            for (const table_batch& one : changes.tables) {
                if (!from.is_ready) filled_.insert(one.of);
                writer_of(*one.of).apply(one, changes, to.revision, from.is_ready);
            }
            if (to.is_ready && !from.is_ready)
                for (const table* one : filled_)
                    writer_of(*one).begin_history(to);
            all.commit();
        });
    }

    void read(std::span<const table* const> tables, const std::function<void(const cursor&)>& begun,
              const std::function<void(const table&, std::span<const value>)>& visit) override {
        again_after_retry([&] {
            const transaction all(open(), transaction::kind::reads);
            const std::optional<cursor> at = cursor_now();
            if (!at)
                throw usage_error(name_ + ": it has no rows of a sink in this --schema; run "
                                          "chainbase-sink follow");
            begun(*at);
            for (const table* one : tables)
                read(*one, visit);
        });
    }

private:
    [[nodiscard]] const ddl& ddl_of() const noexcept { return how_.tables; }

    /// After an error that may pass, the next call opens the file anew.
    template <typename Work>
    void again_after_retry(Work&& work) {
        try {
            work();
        } catch (const retry_error&) {
            writers_.clear();
            open_.reset();
            throw;
        }
    }

    connection& open() {
        if (!open_) open_ = std::make_unique<connection>(file_, how_);
        return *open_;
    }

    table_writer& writer_of(const table& one) {
        const auto found = writers_.find(&one);
        if (found != writers_.end()) return found->second;
        return writers_.try_emplace(&one, open(), ddl_of(), one).first->second;
    }

    bool has_own(const char* table) { return open().has_table(unquoted(ddl_of().own(table))); }

    void require_format() {
        statement ask = open().prepare("SELECT format FROM " + ddl_of().own("types"));
        if (!ask.step() || ask.number(0) == ddl::format) return;
        throw usage_error(fmt::format("{}: its tables are of format {}, this program has {}; use "
                                      "the one that made them, or another --schema",
                                      name_, ask.number(0), ddl::format));
    }

    /// Requires a transaction.
    std::optional<cursor> cursor_now() {
        if (!has_own("cursor")) return std::nullopt;
        require_format();
        statement ask = open().prepare("SELECT is_ready, state, position, revision, serial, epoch, "
                                       "since, shard, shards FROM " +
                                       ddl_of().own("cursor"));
        if (!ask.step()) return std::nullopt;
        cursor now;
        now.is_ready = ask.number(0) != 0;
        now.state = ask.text(1);
        if (!ask.is_null(2)) now.at = static_cast<feed::feed_position>(ask.number(2));
        now.revision = ask.number(3);
        now.serial = static_cast<std::uint32_t>(ask.number(4));
        now.epoch = static_cast<std::uint64_t>(ask.number(5));
        now.since = ask.number(6);
        now.shard = static_cast<std::uint32_t>(ask.number(7));
        now.shards = static_cast<std::uint32_t>(ask.number(8));
        return now;
    }

    void require_at(const std::optional<cursor>& from, const std::optional<cursor>& now) const {
        if (now == from) return;
        throw fenced_error(fmt::format("{}: another sink follows into this database: its cursor is "
                                       "{}, and was {}; stop one of them",
                                       name_, text_of(now), text_of(from)));
    }

    static void bind_position(statement& to, int at, const cursor& of) {
        if (of.at)
            to.bind(at, static_cast<std::int64_t>(*of.at));
        else
            to.bind_null(at);
    }

    void put_cursor(const cursor& to) {
        statement put = open().prepare(
            "INSERT INTO " + ddl_of().own("cursor") +
            " (is_ready, state, position, revision, serial, epoch, since, shard, shards) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
        put.bind(0, std::int64_t{to.is_ready});
        put.bind(1, to.state);
        bind_position(put, 2, to);
        put.bind(3, to.revision);
        put.bind(4, std::int64_t{to.serial});
        put.bind(5, static_cast<std::int64_t>(to.epoch));
        put.bind(6, to.since);
        put.bind(7, std::int64_t{to.shard});
        put.bind(8, std::int64_t{to.shards});
        put.run();
    }

    void put_catalogue(const std::string& text) {
        statement put = open().prepare("INSERT INTO " + ddl_of().own("types") +
                                       " (format, catalogue) VALUES (?, ?) ON CONFLICT (one) DO "
                                       "UPDATE SET format = excluded.format, "
                                       "catalogue = excluded.catalogue");
        put.bind(0, std::int64_t{ddl::format});
        put.bind(1, text);
        put.run();
    }

    void advance(const cursor& from, const cursor& to) {
        statement move = open().prepare("UPDATE " + ddl_of().own("cursor") +
                                        " SET position = ?, revision = ?, serial = ?, since = ?, "
                                        "is_ready = ? WHERE position IS ? AND epoch = ?");
        bind_position(move, 0, to);
        move.bind(1, to.revision);
        move.bind(2, std::int64_t{to.serial});
        move.bind(3, to.since);
        move.bind(4, std::int64_t{to.is_ready});
        bind_position(move, 5, from);
        move.bind(6, static_cast<std::int64_t>(from.epoch));
        move.run();
        if (open().changes() == 0) require_at(from, cursor_now());
    }

    void read(const table& one,
              const std::function<void(const table&, std::span<const value>)>& visit) {
        std::string names;
        for (const column& each : one.columns())
            names += (names.empty() ? "" : ", ") + quoted(each.name);
        statement rows = open().prepare(
            fmt::format("SELECT {} FROM {} ORDER BY 1", names, ddl_of().name_of(one)));
        std::vector<value> values(one.columns().size());
        while (rows.step()) {
            for (std::size_t at = 0; at < values.size(); ++at)
                rows.read(static_cast<int>(at), one.columns()[at], values[at]);
            visit(one, values);
        }
    }

    const std::string file_;
    const std::string name_;
    const link_options how_;
    std::optional<cursor> begun_;   ///< the bootstrap that this object began
    std::set<const table*> filled_; ///< tables that had rows when it became ready
    std::unique_ptr<connection> open_;
    std::map<const table*, table_writer> writers_; ///< destroyed before their connection
};

} // namespace

std::unique_ptr<database_link> open_sqlite(const std::string& file, const link_options& how) {
    if (file.empty() || file == ":memory:" || file.find('\0') != std::string::npos)
        throw usage_error("sqlite:" + file + ": name a file, as sqlite:/var/lib/chain/rows.db");
    if (how.tables.options().in != dialect::sqlite)
        throw usage_error("sqlite:" + file + ": its tables are made with the dialect of SQLite");
    return std::make_unique<sqlite_link>(file, how);
}

} // namespace chainbase::sink

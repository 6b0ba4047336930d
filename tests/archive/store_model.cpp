// Every store against a naive model: random puts, rewrites, erases, finds, scans and reopenings.
#include <archive/record/key.hpp>

#include <tests/archive/stores.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/operation_sequence.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

#include "support.hpp"

using namespace archive_test;
using chainbase::test::any_store;
using chainbase::test::check_random_operations;
using chainbase::test::engine;
using chainbase::test::expect;
using chainbase::test::operation_sequence;

namespace {

constexpr std::uint32_t ids = 300;
constexpr std::uint32_t key_values = 400; // so that rows share keys

struct model_row {
    std::string record;
    std::map<std::uint32_t, std::string> keys; // by key number
};

struct model_table {
    std::map<std::uint32_t, model_row> rows;

    /// The ids of each key, newest first.
    std::map<std::string, std::vector<std::uint32_t>> keys(std::uint32_t index) const {
        std::map<std::string, std::vector<std::uint32_t>> found;
        for (const auto& [id, row] : std::views::reverse(rows))
            if (const auto key = row.keys.find(index); key != row.keys.end())
                found[key->second].push_back(id);
        return found;
    }
};

/// A store and its model under the same random steps. Throws mismatch.
class trial {
public:
    trial(engine which, std::function<void(std::string)> tell)
        : store_(which, folder_ / "store", half_of_the_batches_as_files()), tell_(std::move(tell)) {
        open();
    }

    void step(random_source random) {
        random_ = random;
        if (random_.one_in(8)) reopen();
        write();
        for (int i = 0; i < 20; ++i)
            compare_lookup();
        if (random_.one_in(4)) compare_scans();
    }

private:
    static store_options half_of_the_batches_as_files() {
        store_options options;
        options.ingest_rows = 12;
        return options;
    }

    void open() {
        for (auto& table : tables_)
            table = store_->open_table(table.value == 0 ? "posts" : "votes", {"first", "second"});
    }

    void tell(const char* what, std::uint32_t table = 2, std::uint32_t id = 0) const {
        if (tell_)
            tell_(table == 2 ? what
                             : what + std::to_string(id) + " of table " + std::to_string(table));
    }

    void reopen() {
        tell("reopen");
        if (random_.one_in(2)) random_.one_in(2) ? store_->sync() : store_->flush();
        store_.reopen();
        open();
    }

    void write() {
        write_batch batch;
        for (std::uint64_t left = random_.below(30); left > 0; --left) {
            const std::uint32_t table = random_.below(2);
            const std::uint32_t id = random_.below(ids);
            if (random_.one_in(4)) {
                tell("erase ", table, id);
                batch.erase(tables_[table], id);
                models_[table].rows.erase(id);
            } else {
                tell("put ", table, id);
                put(batch, table, id);
            }
        }
        tell("write");
        store_->write(batch);
    }

    void put(write_batch& batch, std::uint32_t table, std::uint32_t id) {
        auto& rows = models_[table].rows;
        if (!random_.one_in(3) || !rows.contains(id)) rows[id] = random_row(); // else unchanged
        std::vector<secondary_key> keys;
        for (const auto& [index, key] : rows[id].keys)
            keys.push_back({index, as_bytes(key)});
        batch.put(tables_[table], id, as_bytes(rows[id].record), keys);
    }

    model_row random_row() {
        model_row row{random_bytes(random_, 60), {}};
        for (std::uint32_t index = 0; index < 2; ++index)
            if (!random_.one_in(3)) row.keys[index] = random_key();
        return row;
    }
    std::string random_key() {
        return std::string(
            as_text(make_key(static_cast<std::uint32_t>(random_.below(key_values)))));
    }

    void compare_lookup() {
        const std::uint32_t table = random_.below(2);
        const auto& rows = models_[table].rows;
        const std::uint32_t id = random_.below(ids);
        compare(store_->find(tables_[table], id), rows, rows.find(id));
        expect(store_->contains(tables_[table], id) == rows.contains(id), "contains");
        expect(store_->count(tables_[table]) == rows.size(), "count");
        const std::uint32_t index = random_.below(2);
        const std::string key = random_key();
        const auto keys = models_[table].keys(index);
        const auto found = keys.find(key);
        const auto led_to = found == keys.end() ? std::vector<std::uint32_t>() : found->second;
        const auto newest = [&](const row_predicate& counts) {
            const auto id = std::ranges::find_if(led_to, counts);
            return id == led_to.end() ? rows.end() : rows.find(*id);
        };
        const auto any = [](std::uint32_t) { return true; };
        const auto is_odd = [](std::uint32_t row) { return row % 2 == 1; };
        compare(store_->find(tables_[table], index, as_bytes(key)), rows, newest(any));
        compare(store_->find(tables_[table], index, as_bytes(key), is_odd), rows, newest(is_odd));
    }

    template <typename Rows, typename At>
    void compare(const std::optional<pinned_row>& row, const Rows& rows, At expected) {
        expect(row.has_value() == (expected != rows.end()), "a row");
        if (!row) return;
        expect(row->id() == expected->first, "the id of a row");
        expect(as_text(row->record()) == expected->second.record, "a record");
    }

    void compare_scans() {
        for (std::uint32_t table = 0; table < 2; ++table) {
            const std::uint32_t from = random_.one_in(2) ? 0 : random_.below(ids);
            auto expected = models_[table].rows.lower_bound(from);
            for (auto at = store_->rows(tables_[table], from); at.valid(); at.next(), ++expected) {
                expect(expected != models_[table].rows.end(), "a row too many");
                expect(at.id() == expected->first, "the order of rows");
                expect(as_text(at.record()) == expected->second.record, "a record of a scan");
            }
            expect(expected == models_[table].rows.end(), "a row too few");
            compare_keys(table, random_.below(2), random_key());
        }
    }

    void compare_keys(std::uint32_t table, std::uint32_t index, const std::string& from) {
        const auto keys = models_[table].keys(index);
        auto at = store_->keys(tables_[table], index, as_bytes(from));
        for (auto expected = keys.lower_bound(from); expected != keys.end(); ++expected)
            for (const std::uint32_t id : expected->second) {
                expect(at.valid(), "a key too few");
                expect(as_text(at.key()) == expected->first, "the order of keys");
                expect(at.id() == id, "the rows of a key");
                at.next();
            }
        expect(!at.valid(), "a key too many");
    }

    scratch_folder folder_;
    any_store store_;
    std::function<void(std::string)> tell_;
    random_source random_{0}; ///< for the current step
    std::array<table_id, 2> tables_{table_id{0}, table_id{1}};
    std::array<model_table, 2> models_;
};

void walk(engine which, std::uint64_t steps) {
    check_random_operations(new_seed(), steps, [&](operation_sequence& sequence) {
        trial run(which, sequence.tell());
        random_source random(0);
        while (sequence.next(random))
            run.step(random);
    });
}

} // namespace

TEST_CASE("a store in the state behaves as the model does, across reopenings") {
    walk(engine::memory, 300);
}

TEST_CASE("a store on the heap behaves as the model does") {
    walk(engine::heap, 1500);
}

TEST_CASE("a rocksdb store behaves as the model does, across reopenings") {
    walk(engine::rocksdb, 300);
}

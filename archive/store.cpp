#include <archive/statistics.hpp>
#include <archive/store.hpp>
#include <chainbase/database.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace chainbase::archive {

namespace {

const trace::site writing("archive.write");
const trace::site syncing("archive.sync");
const trace::site finding("archive.find", trace::kind::sampled);

constexpr std::size_t longest_name = 200;
// The limits of the two-byte numbers of a stored row.
constexpr std::size_t most_keys = 65535;
constexpr std::size_t longest_key = 65535;

bool acceptable(std::string_view name) {
    return !name.empty() && name.size() <= longest_name &&
           std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

void check_name(std::string_view what, std::string_view name) {
    if (acceptable(name)) return;
    throw usage_error("archive: the " + std::string(what) + " \"" + std::string(name) +
                      "\" must have 1 to 200 printable characters and no '/'");
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return "(" + text + ")";
}

constexpr std::array<std::pair<std::string_view, store_kind>, 3> kinds{
    {{"rocksdb", store_kind::rocksdb}, {"memory", store_kind::memory}, {"none", store_kind::none}}};

} // namespace

// Counts failures of the disk and damage; not wrong calls.
template <typename Work>
auto store::counting_failures(Work&& work) const {
    const auto count = [&] { counted_->failures.add(1); };
    try {
        return work();
    } catch (const io_error&) {
        count();
        throw;
    } catch (const damaged_error&) {
        count();
        throw;
    } catch (const out_of_space_error&) {
        count();
        throw;
    }
}

template <typename Read>
std::optional<pinned_row> store::measured(Read&& read) const {
    const trace::span timed(finding);
    const stopwatch watch;
    auto row = counting_failures(read);
    counted_->record(row ? lookup::hit_in_archive : lookup::miss, watch.elapsed());
    return row;
}

store::store() : page_(std::make_unique<statistics_page>()), counted_(&**page_) {
    trace::clock::calibrate(); // for stopwatch
}

store::~store() = default;

void store::publish_statistics(const std::filesystem::path& folder) {
    try {
        page_ = std::make_unique<statistics_page>(folder);
        counted_ = &**page_;
    } catch (const error&) {
        // Most likely the disk is full.
    }
}

table_id store::open_table(std::string_view name, std::vector<std::string> key_names) {
    check_name("table name", name);
    for (const std::string& key : key_names)
        check_name("key name", key);
    if (key_names.size() > most_keys) throw usage_error("archive: a table has at most 65535 keys");
    const auto found = std::ranges::find(tables_, name, &table_description::name);
    if (found == tables_.end()) {
        table_description table{std::string(name), std::move(key_names)};
        counting_failures([&] { create_table(table); });
        tables_.push_back(std::move(table));
        return {static_cast<std::uint32_t>(tables_.size() - 1)};
    }
    if (found->key_names != key_names)
        throw schema_error(this->name() + ": table \"" + found->name + "\" has the keys " +
                           joined(found->key_names) + ", this program asks for " +
                           joined(key_names) +
                           "; use the program that made it, or rebuild the archive by a replay");
    return {static_cast<std::uint32_t>(found - tables_.begin())};
}

void store::write(const write_batch& batch) {
    check(batch);
    const trace::span timed(writing);
    const stopwatch watch;
    const write_totals totals = counting_failures([&] { return apply(batch); });
    statistics& all = *counted_;
    all.rows_put.add(totals.put);
    all.rows_unchanged.add(totals.unchanged);
    all.rows_erased.add(totals.erased);
    all.bytes_put.add(totals.bytes);
    all.record_bytes_put.add(totals.record_bytes);
    all.largest_batch_rows.raise_to(batch.size());
    all.largest_batch_bytes.raise_to(batch.bytes());
    all.batches.record(watch.elapsed());
}

std::optional<pinned_row> store::find(table_id table, std::uint32_t id) const {
    (void)describe(table);
    return measured([&] { return read(table, id); });
}

std::optional<pinned_row> store::find(table_id table, std::uint32_t index, bytes_view key) const {
    return find(table, index, key, [](std::uint32_t) { return true; });
}

std::optional<pinned_row> store::find(table_id table, std::uint32_t index, bytes_view key,
                                      const row_predicate& counts) const {
    check(table, index);
    return measured([&] { return read(table, index, key, counts); });
}

bool store::contains(table_id table, std::uint32_t id) const {
    (void)describe(table);
    return counting_failures([&] { return read(table, id).has_value(); });
}

std::uint64_t store::count(table_id table) const {
    (void)describe(table);
    return counting_failures([&] { return row_count(table); });
}

row_cursor store::rows(table_id table, std::uint32_t from) const {
    (void)describe(table);
    return row_cursor(counting_failures([&] { return scan(table, from); }));
}

key_cursor store::keys(table_id table, std::uint32_t index, bytes_view from) const {
    check(table, index);
    return key_cursor(counting_failures([&] { return scan(table, index, from); }));
}

void store::sync() {
    measured_sync(false);
}

void store::flush() {
    measured_sync(true);
}

void store::sync_before_checkpoints_of(database& state) {
    if (!has_to_sync()) return;
    relied_on_by_.reserve(relied_on_by_.size() + 1);
    const auto part = state.sync_before_checkpoints([this] { sync(); }, this);
    if (part && std::ranges::find(relied_on_by_, part) == relied_on_by_.end())
        relied_on_by_.push_back(part);
}

void store::measured_sync(bool empty_buffers) {
    const trace::span timed(syncing);
    const stopwatch watch;
    counting_failures([&] { make_durable(empty_buffers); });
    counted_->syncs.record(watch.elapsed());
}

const table_description& store::describe(table_id table) const {
    if (table.value < tables_.size()) return tables_[table.value];
    throw usage_error(name() + ": there is no table number " + std::to_string(table.value) +
                      "; use the table_id that open_table returned");
}

void store::check(table_id table, std::uint32_t index) const {
    const table_description& description = describe(table);
    if (index >= description.key_names.size())
        throw usage_error(name() + ": table \"" + description.name + "\" has no key number " +
                          std::to_string(index) + ", only " + joined(description.key_names));
}

void store::check(const write_batch& batch) const {
    for (std::size_t number = 0; number < batch.size(); ++number) {
        const write_batch::operation operation = batch[number];
        (void)describe(operation.table());
        std::size_t longest = 0;
        for (const secondary_key& key : operation.keys()) {
            check(operation.table(), key.index);
            longest = std::max(longest, key.bytes.size());
        }
        if (longest > longest_key || operation.keys().size() > most_keys)
            throw limit_error(name() + ": row " + std::to_string(operation.id()) + " of table \"" +
                              describe(operation.table()).name + "\" has " +
                              std::to_string(operation.keys().size()) + " keys of up to " +
                              std::to_string(longest) +
                              " bytes; both are limited to 65535: store a hash of long keys");
    }
}

store_kind store_kind_of(std::string_view name) {
    for (const auto& [known, kind] : kinds)
        if (known == name) return kind;
    throw usage_error("archive: \"" + std::string(name) +
                      "\" is not a kind of store; the kinds are rocksdb, memory and none");
}

std::string_view to_string(store_kind kind) noexcept {
    return kinds[static_cast<std::size_t>(kind)].first;
}

} // namespace chainbase::archive

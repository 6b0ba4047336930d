#include <archive/record/key.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_reader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <compare>
#include <utility>

namespace chainbase::inspect {

namespace {

using archive::byte_buffer;
using archive::bytes_view;

/// Rows read ahead from the archive, and from memory at first and beside an archive; from memory
/// never much more than this many bytes.
constexpr std::size_t at_once = 256;
constexpr std::size_t bytes_at_once = std::size_t{1} << 20;

using words = std::vector<std::string>;

byte_buffer id_key(std::uint32_t id) {
    return archive::make_key(id);
}

[[noreturn]] void fail_without_form(const row_query& asked) {
    throw usage_error(fmt::format("{}.{}: the given value has no form in the archive; leave the "
                                  "archive out",
                                  asked.type, asked.key));
}

words joined(words first, const words& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
}

/// Call it in a turn: whether an archived row is an object of the state that is only there. Same
/// rule as archive::detail::removed_objects::counts.
bool is_in_archive_only(row_source& state, const std::string& type, std::uint32_t id) {
    const rows::type_rows live = state.of(type);
    const rows::slot_reader& slots = live.slots();
    if (id >= slots.next_id() || slots.slot_of(id) != 0) return false;
    const std::string removed = type + ".removed";
    if (!state.has(removed)) return true;
    const rows::type_rows all = state.of(removed);
    const type_schema::key& key = all.key_called("by_object");
    return all.find(key, probe_of(all.schema(), key, {std::to_string(id)}, all.buffers())).empty();
}

/// Call it in a turn: a key, or its leading parts, as bytes in a store; nothing when the store has
/// no such key.
std::optional<byte_buffer> stored_key(const rows::type_rows& of, const std::string& key,
                                      const words& parts) {
    if (key == "id") return id_key(id_of(parts));
    return archive::detail::key_of(probe_of(of.schema(), of.key_called(key), parts, of.buffers()));
}

/// The number of a table's key, and whether it is unique: else its keys end with the id.
struct stored_index {
    std::uint32_t number;
    bool is_unique;
};

std::optional<stored_index> index_called(const archive::table_description& table,
                                         const std::string& key) {
    for (std::uint32_t number = 0; number < table.key_names.size(); ++number) {
        const std::string& name = table.key_names[number];
        if (name == key || name == key + ",id") return stored_index{number, name == key};
    }
    return std::nullopt;
}

std::size_t bytes_of(const found_row& row) {
    return sizeof row + row.text.json.size();
}

} // namespace

merged_rows::merged_rows(row_source& state, const row_query& asked, const archive::store* archive,
                         std::optional<std::uint32_t> after)
    : state_(state), asked_(asked), archive_(archive), cursor_(asked.cursor(state)),
      ahead_(at_once) {
    state_.take_turn([&] { format_.emplace(state_.of(asked_.type).schema()); });
    if (archive_) find_table();
    is_archive_read_ = archive_ == nullptr;
    if (archive_ && asked_.is_reverse)
        throw usage_error("rows of the archive can only be read from the first to the last; "
                          "leave out the archive, or the reverse order");
    if (archive_) handed_over_ = handed_over();
    if (after) go_on_after(*after);
    if (archive_) find_bounds();
}

/// Drops the archive if it has no rows of the type.
void merged_rows::find_table() {
    const auto table = table_called(*archive_, asked_.type);
    if (!table) {
        archive_ = nullptr;
        return;
    }
    table_ = *table;
    if (asked_.key == "id") return;
    const archive::table_description& found = archive_->tables()[table_.value];
    if (const auto index = index_called(found, asked_.key)) {
        index_ = index->number;
        is_unique_ = index->is_unique;
        return;
    }
    std::string known = "id";
    for (const std::string& name : found.key_names)
        known += ", " + name.substr(0, name.find(','));
    throw usage_error(fmt::format("{}: table \"{}\" cannot be read in the order of {}, only of "
                                  "{}; choose one of these, or leave the archive out",
                                  archive_->name(), asked_.type, asked_.key, known));
}

/// Takes a turn.
byte_buffer merged_rows::key_bytes(const words& parts) {
    if (parts.empty()) return {};
    std::optional<byte_buffer> bytes;
    state_.take_turn([&] { bytes = stored_key(state_.of(asked_.type), asked_.key, parts); });
    if (!bytes) fail_without_form(asked_);
    return *std::move(bytes);
}

void merged_rows::find_bounds() {
    if (!is_begin_known_) begin_ = key_bytes(joined(asked_.only, asked_.from));
    end_ = key_bytes(joined(asked_.only, asked_.to));
    if (asked_.key != "id") {
        by_key_.emplace(archive_->keys(table_, index_, begin_));
        return;
    }
    std::uint32_t first = 0;
    for (const std::byte one : begin_)
        first = first << 8 | std::to_integer<std::uint32_t>(one);
    by_id_.emplace(archive_->rows(table_, first));
}

void merged_rows::go_on_after(std::uint32_t id) {
    if (asked_.key == "id") {
        go_on_after_id(id);
    } else if (!find_in_memory(id) && !(archive_ && find_in_archive(id))) {
        throw usage_error(fmt::format("{} {}, after which the next rows come, was removed; begin "
                                      "anew",
                                      asked_.type, id));
    }
}

/// Continues after an id, unless it lies before the range. Takes a turn.
void merged_rows::go_on_after_id(std::uint32_t id) {
    row_query behind = asked_;
    if (!asked_.only.empty()) behind.from = behind.to = std::exchange(behind.only, {});
    words& begin = asked_.is_reverse ? behind.to : behind.from;
    if (!begin.empty() && (asked_.is_reverse ? id > id_of(begin) : id < id_of(begin))) return;
    begin = {std::to_string(id)};
    cursor_ = behind.cursor(state_);
    begin_ = id_key(id);
    is_begin_known_ = true;
    if (!archive_) after_ = id;
}

/// Takes a turn.
bool merged_rows::find_in_memory(std::uint32_t id) {
    bool is_there = false;
    const auto whole = cursor_->copy();
    state_.take_turn([&] {
        begin_anew(*whole);
        const rows::type_rows of = state_.of(asked_.type);
        const slot_number slot = of.slots().slot_of(id);
        is_there = slot != 0;
        if (is_there) begin_at(of, of.slots().value(slot), of.buffers(), id);
    });
    return is_there;
}

/// Takes a turn.
bool merged_rows::find_in_archive(std::uint32_t id) {
    const auto found = archive_->find(table_, id);
    if (!found) return false;
    const auto fields = exact_json(format_->text_of(found->record()).json);
    bool is_there = false;
    const auto whole = cursor_->copy();
    state_.take_turn([&] {
        begin_anew(*whole);
        const rows::type_rows of = state_.of(asked_.type);
        is_there = is_in_archive_only(state_, asked_.type, id);
        if (!is_there) return;
        restored_ = std::make_unique<row_reader>(of.schema());
        begin_at(of, restored_->read(fields), *restored_, id);
    });
    return is_there;
}

/// Takes back what begin_at() did, of which `whole` is the cursor before.
void merged_rows::begin_anew(const rows::row_cursor& whole) {
    cursor_ = whole.copy();
    begin_.clear();
    is_begin_known_ = false;
    place_.reset();
    after_.reset();
}

/// Call it in a turn: begins with an object's key, unless it lies before the range.
void merged_rows::begin_at(const rows::type_rows& of, const std::byte* object,
                           const rows::buffer_source& buffers, std::uint32_t id) {
    const type_schema::key& key = of.key_called(asked_.key);
    rows::probe place(of.schema(), key, {object, buffers}, of.buffers());
    if (archive_) {
        begin_ = key_of(place, id);
        if (begin_.empty()) fail_without_form(asked_);
    }
    if (is_ahead_of_all(of, object)) return;
    is_begin_known_ = true;
    if (!archive_) {
        place_.emplace(of.schema(), key, rows::probe::source{object, buffers}, of.buffers());
        after_ = id;
    }
    std::optional<rows::probe> first;
    if (place.parts() != 0) first.emplace(std::move(place));
    std::optional<rows::probe> last;
    const words end = joined(asked_.only, asked_.is_reverse ? asked_.from : asked_.to);
    if (!end.empty()) last.emplace(probe_of(of.schema(), key, end, of.buffers()));
    using bounds = rows::key_cursor::bounds;
    cursor_ = std::make_unique<rows::key_cursor>(
        key, asked_.is_reverse ? bounds{std::move(last), std::move(first), true}
                               : bounds{std::move(first), std::move(last), false});
}

/// Call it in a turn: whether an object, whose key `begin_` is with an archive, comes before the
/// range.
bool merged_rows::is_ahead_of_all(const rows::type_rows& of, const std::byte* object) const {
    const words begin = joined(asked_.only, asked_.is_reverse ? asked_.to : asked_.from);
    if (begin.empty()) return false;
    if (archive_) {
        const auto first = stored_key(of, asked_.key, begin);
        if (!first) fail_without_form(asked_);
        return archive::bytes_less()(begin_, *first);
    }
    const rows::probe first = probe_of(of.schema(), of.key_called(asked_.key), begin, of.buffers());
    const std::strong_ordering place = first.place_of(object);
    return asked_.is_reverse ? place > 0 : place < 0;
}

bool merged_rows::is_passed(bytes_view key) const {
    return is_begin_known_ && !archive::bytes_less()(begin_, key);
}

/// For memory alone, where objects with equal keys have no order: skips those up to the object
/// after which the rows continue.
bool merged_rows::is_passed(const rows::type_rows& of, slot_number slot,
                            std::optional<std::uint32_t>& after) const {
    if (!after) return false;
    const bool is_it = of.slots().id(slot) == *after;
    const bool is_behind =
        !is_it && place_ && place_->place_of(of.slots().value(slot)) != std::strong_ordering::equal;
    if (is_it || is_behind) after.reset();
    return is_it || (place_ && !is_behind);
}

bool merged_rows::is_beyond(bytes_view key) const {
    return !end_.empty() && !archive::starts_with(key, end_) && archive::bytes_less()(end_, key);
}

byte_buffer merged_rows::key_of(const rows::type_rows& of, slot_number slot) const {
    const std::uint32_t id = of.slots().id(slot);
    if (asked_.key == "id") return id_key(id);
    const rows::probe::source from{of.slots().value(slot), of.buffers()};
    return key_of(rows::probe(of.schema(), of.key_called(asked_.key), from, of.buffers()), id);
}

byte_buffer merged_rows::key_of(const rows::probe& found, std::uint32_t id) const {
    auto key = archive::detail::key_of(found);
    if (!key) return {};
    if (!is_unique_) archive::append_key(*key, id);
    return *std::move(key);
}

void merged_rows::read_memory() {
    struct batch {
        std::deque<placed_row> rows;
        std::size_t bytes = 0;
        std::optional<std::uint32_t> after;
        bool is_begun = false;
    };
    std::size_t bytes = 0;
    const auto read = [&](batch& to, const rows::type_rows& of, slot_number slot) {
        if (!std::exchange(to.is_begun, true)) to.after = after_;
        byte_buffer key = archive_ ? key_of(of, slot) : byte_buffer();
        if (archive_ ? is_passed(key) : is_passed(of, slot, to.after)) return true;
        found_row one{of.slots().id(slot), false,
                      format_->text_of(of.slots().value(slot), of.buffers())};
        to.bytes += bytes_of(one);
        to.rows.push_back({std::move(key), std::move(one)});
        return in_memory_.size() + to.rows.size() < ahead_ && bytes + to.bytes < bytes_at_once;
    };
    const auto take = [&](batch&& from) {
        if (from.is_begun) after_ = from.after;
        bytes += from.bytes;
        std::ranges::move(from.rows, std::back_inserter(in_memory_));
    };
    is_memory_read_ = !scan<batch>(state_, asked_.type, cursor_, read, take);
    if (!archive_ && bytes < bytes_at_once) ahead_ *= 2;
}

std::vector<merged_rows::record> merged_rows::next_by_id() {
    std::vector<record> found;
    for (; by_id_->valid() && found.size() < at_once; by_id_->next()) {
        record one{by_id_->id(), id_key(by_id_->id()), {}};
        if (is_beyond(one.key)) break;
        archive::append(one.bytes, by_id_->record());
        found.push_back(std::move(one));
    }
    return found;
}

std::vector<merged_rows::record> merged_rows::next_by_key() {
    std::vector<record> found;
    for (; by_key_->valid() && found.size() < at_once; by_key_->next()) {
        if (is_beyond(by_key_->key())) break;
        const auto row = archive_->find(table_, by_key_->id());
        if (!row) continue; // popped meanwhile, from an archive in memory
        record one{by_key_->id(), {}, {}};
        archive::append(one.key, by_key_->key());
        archive::append(one.bytes, row->record());
        found.push_back(std::move(one));
    }
    return found;
}

void merged_rows::read_archive() {
    while (archived_.empty() && !is_archive_read_) {
        const std::vector<record> found = by_id_ ? next_by_id() : next_by_key();
        is_archive_read_ = found.size() < at_once;
        if (!found.empty()) keep_those_that_count(found);
    }
}

void merged_rows::keep_those_that_count(const std::vector<record>& found) {
    std::vector<bool> is_wanted;
    state_.take_turn([&] {
        is_wanted.clear();
        for (const record& one : found)
            is_wanted.push_back(is_in_archive_only(state_, asked_.type, one.id));
    });
    for (std::size_t i = 0; i < found.size(); ++i)
        if (is_wanted[i] && !is_passed(found[i].key))
            archived_.push_back(
                {found[i].key, {found[i].id, true, format_->text_of(found[i].bytes)}});
}

bool merged_rows::is_memory_first() const {
    if (in_memory_.empty()) return false;
    return archived_.empty() ||
           !archive::bytes_less()(archived_.front().key, in_memory_.front().key);
}

const merged_rows::row* merged_rows::next() {
    if (in_memory_.empty() && !is_memory_read_) read_memory();
    read_archive();
    if (is_memory_first()) return &in_memory_.front().found;
    return archived_.empty() ? nullptr : &archived_.front().found;
}

void merged_rows::pop() {
    (is_memory_first() ? in_memory_ : archived_).pop_front();
}

/// Takes a turn.
std::uint64_t merged_rows::handed_over() {
    std::uint64_t all = 0;
    state_.take_turn([&] { all = objects_handed_over(state_, asked_.type).value_or(0); });
    return all;
}

bool merged_rows::has_moved() {
    return archive_ && handed_over() != handed_over_;
}

std::optional<object_row> object_row::find(row_source& state, const archive::store* archive,
                                           const std::string& type, std::uint32_t id) {
    const std::string word = std::to_string(id);
    merged_rows rows(state, row_query{type, "id", {}, {word}, {word}, false}, archive);
    const merged_rows::row* const one = rows.next();
    if (!one) return std::nullopt;
    const row_format& format = rows.format();
    return object_row{one->text.json, format.names(), format.cells_of(one->text)};
}

std::optional<std::vector<found_row>> find_archived(row_source& state, const std::string& type,
                                                    const std::string& key, const words& parts) {
    std::optional<byte_buffer> wanted;
    std::uint64_t expected = 0;
    state.take_turn([&] {
        wanted = stored_key(state.of(type), key, parts);
        expected = objects_handed_over(state, type).value_or(0);
    });
    const auto store = wanted ? open_archive(state) : nullptr;
    if (wanted) require_rows(state, store.get(), type, expected);
    if (!store) return std::nullopt;
    const auto records = find_archived(state, *store, type, key, *wanted);
    if (!records) return std::nullopt;
    std::vector<found_row> found;
    state.take_turn([&] {
        const row_format format(state.of(type).schema());
        found.clear();
        for (const archived_record& one : *records)
            found.push_back({one.id, true, format.text_of(one.record)});
    });
    return found;
}

std::optional<std::vector<archived_record>>
find_archived(row_source& state, const archive::store& in, const std::string& type,
              const std::string& key, bytes_view wanted) {
    const auto table = table_called(in, type);
    if (!table) return std::nullopt;
    std::vector<std::uint32_t> ids;
    if (key == "id") {
        ids.push_back(archive::detail::load_big<std::uint32_t>(wanted.data()));
    } else {
        const auto index = index_called(in.tables()[table->value], key);
        if (!index) return std::nullopt;
        for (auto at = in.keys(*table, index->number, wanted);
             at.valid() && archive::starts_with(at.key(), wanted); at.next())
            ids.push_back(at.id());
    }
    std::vector<archived_record> records; // a store may take its own turns
    for (const std::uint32_t id : ids)
        if (const auto row = in.find(*table, id))
            records.push_back({id, byte_buffer(row->record().begin(), row->record().end())});
    std::vector<archived_record> found;
    state.take_turn([&] {
        found.clear();
        for (const archived_record& one : records)
            if (is_in_archive_only(state, type, one.id)) found.push_back(one);
    });
    return found;
}

} // namespace chainbase::inspect

#include <archive/key.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archived_rows.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_query.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::inspect {

namespace {

using archive::byte_buffer;
using archive::bytes_view;

constexpr std::size_t at_once = 256;

byte_buffer id_key(std::uint32_t id) {
    return archive::make_key(id);
}

[[noreturn]] void fail_without_form(const row_query& asked) {
    throw usage_error(fmt::format("{}.{}: what is given has no form in the archive; leave the "
                                  "archive out",
                                  asked.type, asked.key));
}

} // namespace

merged_rows::merged_rows(row_source& state, const row_query& asked, const archive::store* archive,
                         std::optional<std::uint32_t> after)
    : state_(state), asked_(asked), archive_(archive), cursor_(asked.cursor(state)) {
    state_.take_turn([&] {
        const type_schema& schema = state_.of(asked_.type).schema();
        format_.emplace(schema);
        records_.emplace(schema);
    });
    if (archive_) find_table();
    is_archive_read_ = archive_ == nullptr;
    if (!archive_) return;
    if (asked_.is_reverse)
        throw usage_error("rows of the archive are gone through from the first to the last only; "
                          "leave out the archive, or the other order");
    handed_over_ = handed_over();
    if (after) go_on_after(*after);
    find_bounds();
}

/// No archive any more where it has no rows of the type.
void merged_rows::find_table() {
    const auto& tables = archive_->tables();
    const auto table = std::find_if(tables.begin(), tables.end(),
                                    [&](const auto& one) { return one.name == asked_.type; });
    if (table == tables.end()) {
        archive_ = nullptr;
        return;
    }
    table_ = {static_cast<std::uint32_t>(table - tables.begin())};
    if (asked_.key == "id") return;
    std::string known = "id";
    for (std::uint32_t number = 0; number < table->key_names.size(); ++number) {
        const std::string& name = table->key_names[number];
        index_ = number;
        is_unique_ = name == asked_.key;
        if (is_unique_ || name == asked_.key + ",id") return;
        known += ", " + name.substr(0, name.find(','));
    }
    throw usage_error(fmt::format("{}: table \"{}\" is not gone through by {}, but by {}; choose "
                                  "one of these, or leave the archive out",
                                  archive_->name(), asked_.type, asked_.key, known));
}

/// The bytes in a store of leading parts. Takes a turn.
byte_buffer merged_rows::key_bytes(const std::vector<std::string>& parts) {
    if (parts.empty()) return {};
    if (asked_.key == "id") return id_key(id_of(parts));
    std::optional<byte_buffer> bytes;
    state_.take_turn([&] {
        const rows::type_rows of = state_.of(asked_.type);
        bytes = archive::detail::key_of(
            rows::probe(of.schema(), of.key_called(asked_.key), parts, of.buffers()));
    });
    if (!bytes) fail_without_form(asked_);
    return *std::move(bytes);
}

void merged_rows::find_bounds() {
    const auto joined = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = asked_.only;
        all.insert(all.end(), more.begin(), more.end());
        return key_bytes(all);
    };
    if (!is_begin_known_) begin_ = joined(asked_.from);
    end_ = joined(asked_.to);
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
    is_begin_known_ = true;
    if (asked_.key == "id") {
        begin_ = id_key(id);
        row_query behind = asked_;
        if (!asked_.only.empty()) behind.to = std::exchange(behind.only, {});
        behind.from = {std::to_string(id)};
        cursor_ = behind.cursor(state_);
    } else if (!find_in_memory(id) && !find_in_archive(id)) {
        throw usage_error(fmt::format("{} {}, after which the next rows come, was removed; begin "
                                      "anew",
                                      asked_.type, id));
    }
}

/// Takes a turn.
bool merged_rows::find_in_memory(std::uint32_t id) {
    bool is_there = false;
    state_.take_turn([&] {
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
    record one{id, {}, {}};
    archive::append(one.bytes, found->record());
    const nlohmann::json fields = nlohmann::json::parse(row_of(one).json);
    bool is_there = false;
    state_.take_turn([&] {
        const rows::type_rows of = state_.of(asked_.type);
        is_there = archived_rows::counts(state_, asked_.type, id);
        if (!is_there) return;
        restored_ = std::make_unique<row_reader>(of.schema());
        begin_at(of, restored_->read(fields), *restored_, id);
    });
    return is_there;
}

/// In a turn: begins both places with the key of an object.
void merged_rows::begin_at(const rows::type_rows& of, const std::byte* object,
                           const rows::buffer_source& buffers, std::uint32_t id) {
    const type_schema::key& key = of.key_called(asked_.key);
    rows::probe first(of.schema(), key, object, buffers);
    begin_ = key_of(first, id);
    if (begin_.empty()) fail_without_form(asked_);
    std::vector<std::string> last = asked_.only;
    last.insert(last.end(), asked_.to.begin(), asked_.to.end());
    std::optional<rows::probe> end;
    if (!last.empty()) end.emplace(of.schema(), key, last, of.buffers());
    cursor_ = std::make_unique<rows::key_cursor>(
        key, rows::key_cursor::bounds{std::move(first), std::move(end), false});
}

bool merged_rows::is_passed(bytes_view key) const {
    return is_begin_known_ && !archive::bytes_less()(begin_, key);
}

bool merged_rows::is_beyond(bytes_view key) const {
    return !end_.empty() && !archive::starts_with(key, end_) && archive::bytes_less()(end_, key);
}

byte_buffer merged_rows::key_of(const rows::type_rows& of, slot_number slot) const {
    const std::uint32_t id = of.slots().id(slot);
    if (asked_.key == "id") return id_key(id);
    return key_of(
        rows::probe(of.schema(), of.key_called(asked_.key), of.slots().value(slot), of.buffers()),
        id);
}

byte_buffer merged_rows::key_of(const rows::probe& found, std::uint32_t id) const {
    auto key = archive::detail::key_of(found);
    if (!key) return {};
    if (!is_unique_) archive::append_key(*key, id);
    return *std::move(key);
}

void merged_rows::read_memory() {
    scan(state_, asked_.type, *cursor_, [&](const rows::type_rows& of, slot_number slot) {
        const std::byte* const object = of.slots().value(slot);
        byte_buffer key = archive_ ? key_of(of, slot) : byte_buffer();
        if (is_passed(key)) return true;
        placed_row& one = in_memory_.emplace_back();
        one.key = std::move(key);
        one.found.id = of.slots().id(slot);
        format_->append_json(one.found.json, object, of.buffers());
        one.found.cells = format_->cells(object, of.buffers());
        return in_memory_.size() < at_once;
    });
    is_memory_read_ = in_memory_.size() < at_once;
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
        if (!row) continue; // popped meanwhile, of an archive in memory
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
        for (const record& one : found)
            is_wanted.push_back(archived_rows::counts(state_, asked_.type, one.id));
    });
    for (std::size_t i = 0; i < found.size(); ++i)
        if (is_wanted[i] && !is_passed(found[i].key))
            archived_.push_back({found[i].key, row_of(found[i])});
}

merged_rows::row merged_rows::row_of(const record& found) const {
    std::vector<std::string> values = records_->values(found.bytes);
    std::string json = format_->json_of(values);
    return {found.id, true, std::move(json), format_->cells_of(std::move(values))};
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
    return object_row{one->json, rows.names(), one->cells};
}

} // namespace chainbase::inspect

#include <archive/detail/probe_key.hpp>
#include <archive/key.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archived_rows.hpp>
#include <tools/inspect/archive/handed_over.hpp>
#include <tools/inspect/json_text.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_scan.hpp>

#include <fmt/format.h>

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

} // namespace

merged_rows::merged_rows(row_source& state, const row_query& asked, const archive::store* archive)
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
                          "leave out --reverse, or --archive");
    handed_over_ = handed_over();
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
                                  "one of these, or leave out --archive",
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
    if (bytes) return *std::move(bytes);
    throw usage_error(fmt::format("{}.{}: what is given has no form in the archive; leave out "
                                  "--archive",
                                  asked_.type, asked_.key));
}

void merged_rows::find_bounds() {
    const auto joined = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = asked_.only;
        all.insert(all.end(), more.begin(), more.end());
        return key_bytes(all);
    };
    begin_ = joined(asked_.from);
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

bool merged_rows::is_beyond(bytes_view key) const {
    return !end_.empty() && !archive::starts_with(key, end_) && archive::bytes_less()(end_, key);
}

byte_buffer merged_rows::key_of(const rows::type_rows& of, slot_number slot) const {
    const std::uint32_t id = of.slots().id(slot);
    if (asked_.key == "id") return id_key(id);
    auto key = archive::detail::key_of(
        rows::probe(of.schema(), of.key_called(asked_.key), of.slots().value(slot), of.buffers()));
    if (!key) return {};
    if (!is_unique_) archive::append_key(*key, id);
    return *std::move(key);
}

void merged_rows::read_memory() {
    scan(state_, asked_.type, *cursor_, [&](const rows::type_rows& of, slot_number slot) {
        const std::byte* const object = of.slots().value(slot);
        placed_row& one = in_memory_.emplace_back();
        if (archive_) one.key = key_of(of, slot);
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
        if (is_wanted[i]) archived_.push_back({found[i].key, row_of(found[i])});
}

merged_rows::row merged_rows::row_of(const record& found) const {
    row made{found.id, true, {}, records_->values(found.bytes)};
    const std::vector<std::string> fields = format_->names();
    for (std::size_t field = 0; field < fields.size(); ++field) {
        made.json += made.json.empty() ? '{' : ',';
        append_json_string(made.json, fields[field]);
        made.json += ':' + made.cells[field];
        std::string& cell = made.cells[field];
        if (format_->is_text(field) && cell.starts_with('"'))
            cell = cell.substr(1, cell.size() - 2);
    }
    made.json += '}';
    return made;
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

} // namespace chainbase::inspect

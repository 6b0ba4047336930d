#include <archive/key.hpp>
#include <archive/store.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archived_rows.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_query.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace chainbase::inspect {

namespace {

using kind = rows::value_type::kind;
using bytes_view = std::span<const std::byte>;

/// Takes values off a record's front; `is_whole` becomes false where it ends before they do.
struct record_reader {
    bytes_view left;
    std::string& to;
    bool is_whole = true;

    void read(const rows::value_type& type) {
        switch (type.what) {
        case kind::boolean:
            to += take(1).front() == std::byte{0} ? "false" : "true";
            break;
        case kind::number:
            append_number(to, type, take(type.bytes).data());
            break;
        case kind::floating: // has no record
        case kind::opaque:
            append_hex(to, take(type.bytes));
            break;
        case kind::fixed_text:
        case kind::text: {
            const bytes_view text = take(count());
            append_text(to, {reinterpret_cast<const char*>(text.data()), text.size()});
            break;
        }
        case kind::vector:
            read_all(type, count());
            break;
        case kind::array:
            read_all(type, type.element().bytes == 0 ? 0 : type.bytes / type.element().bytes);
            break;
        case kind::structure:
            read_structure(type);
            break;
        }
    }

private:
    static constexpr std::byte nothing[16] = {};

    /// Zeros where there are no more.
    bytes_view take(std::size_t bytes) {
        if (bytes > left.size()) {
            is_whole = false;
            left = {};
            return bytes_view(nothing).first(bytes < sizeof nothing ? bytes : sizeof nothing);
        }
        const bytes_view taken = left.first(bytes);
        left = left.subspan(bytes);
        return taken;
    }
    std::size_t count() { return rows::copy_at<std::uint32_t>(take(4).data()); }

    void read_all(const rows::value_type& type, std::size_t elements) {
        if (type.is_bytes()) return append_hex(to, take(elements));
        to += '[';
        for (std::size_t i = 0; i < elements && is_whole; ++i) {
            if (i != 0) to += ',';
            read(type.element());
        }
        to += ']';
    }

    void read_structure(const rows::value_type& type) {
        char before = '{';
        for (const rows::value_type::member& member : type.members) {
            to += before;
            append_json_string(to, member.name);
            to += ':';
            read(member.type);
            before = ',';
        }
        to += '}';
    }
};

} // namespace

record_format::record_format(const type_schema& schema) : type_(schema.name) {
    for (const type_schema::field& one : schema.fields)
        fields_.push_back({one.name, one.offset, rows::value_type::of(one.type, one.bytes)});
}

std::vector<std::string> record_format::values(bytes_view record) const {
    constexpr std::size_t fingerprint_bytes = 4;
    std::vector<std::string> all;
    const auto refuse = [&](const std::string& where) {
        throw damaged_error("archive: a record of " + type_ + " is not one of this state's type: " +
                            where + "; run chainbase-inspect check");
    };
    if (record.size() < fingerprint_bytes) refuse("it is too short");
    bytes_view left = record.subspan(fingerprint_bytes);
    for (const rows::value_type::member& field : fields_) {
        record_reader reader{left, all.emplace_back()};
        reader.read(field.type);
        if (!reader.is_whole) refuse("it ends before " + field.name + " does");
        left = reader.left;
    }
    if (!left.empty()) refuse("it is longer than its fields");
    return all;
}

namespace {

using archive::byte_buffer;
using words = std::vector<std::string>;

struct found_record {
    std::uint32_t id;
    byte_buffer record;
};

/// What is asked of a store: an id, or the begin of a key.
struct question {
    std::string table;
    std::string key; ///< or "id"
    std::uint32_t id = 0;
    byte_buffer begin;
};

/// Nothing when the store has no such table or key.
std::optional<std::vector<found_record>> ask(const archive::store& store, const question& of) {
    const auto& tables = store.tables();
    const auto table = std::find_if(tables.begin(), tables.end(),
                                    [&](const auto& one) { return one.name == of.table; });
    if (table == tables.end()) return std::nullopt;
    const archive::table_id number{static_cast<std::uint32_t>(table - tables.begin())};
    const auto key = std::find_if(
        table->key_names.begin(), table->key_names.end(),
        [&](const std::string& name) { return name == of.key || name == of.key + ",id"; });
    std::vector<std::uint32_t> ids;
    if (of.key == "id") {
        ids.push_back(of.id);
    } else if (key == table->key_names.end()) {
        return std::nullopt;
    } else {
        const auto index = static_cast<std::uint32_t>(key - table->key_names.begin());
        for (auto at = store.keys(number, index, of.begin);
             at.valid() && archive::starts_with(at.key(), of.begin); at.next())
            ids.push_back(at.id());
    }
    std::vector<found_record> found;
    for (const std::uint32_t id : ids)
        if (const auto row = store.find(number, id))
            found.push_back({id, {row->record().begin(), row->record().end()}});
    return found;
}

std::optional<std::vector<found_record>> ask(row_source& state, const question& of) {
    const auto store = open_archive(state);
    if (!store) return std::nullopt;
    return ask(*store, of);
}

/// In a turn: nothing when the key has no bytes in a store.
std::optional<question> question_of(row_source& state, const std::string& type,
                                    const std::string& key, const words& parts) {
    question asked{type, key, 0, {}};
    if (key == "id") {
        asked.id = id_of(parts);
        return asked;
    }
    const rows::type_rows of = state.of(type);
    auto begin =
        archive::detail::key_of(rows::probe(of.schema(), of.key_called(key), parts, of.buffers()));
    if (!begin) return std::nullopt;
    asked.begin = std::move(*begin);
    return asked;
}

} // namespace

/// As archive::detail::removed_objects::counts.
bool archived_rows::counts(row_source& state, const std::string& type, std::uint32_t id) {
    const rows::type_rows live = state.of(type);
    const rows::slot_reader& slots = live.slots();
    if (id >= slots.next_id() || slots.slot_of(id) != 0) return false;
    const auto types = state.types();
    const std::string removed = type + ".removed";
    const bool has_removed = std::any_of(types.begin(), types.end(),
                                         [&](const auto* one) { return one->name == removed; });
    if (!has_removed) return true;
    const rows::type_rows all = state.of(removed);
    const type_schema::key& key = all.key_called("by_object");
    return all.find(key, rows::probe(all.schema(), key, words{std::to_string(id)}, all.buffers()))
        .empty();
}

archived_rows archived_rows::find(row_source& state, const std::string& type,
                                  const std::string& key, const words& parts) {
    archived_rows all;
    std::optional<question> asked;
    state.take_turn([&] { asked = question_of(state, type, key, parts); });
    if (!asked) return all;
    const auto found = ask(state, *asked);
    if (!found) return all;
    all.is_asked = true;
    state.take_turn([&] {
        const record_format format(state.of(type).schema());
        for (const found_record& one : *found)
            if (counts(state, type, one.id))
                all.rows.push_back({one.id, format.values(one.record)});
    });
    return all;
}

} // namespace chainbase::inspect

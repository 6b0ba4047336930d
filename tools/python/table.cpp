#include <archive/record/key.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_reader.hpp>
#include <tools/python/table.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace chainbase::python {

// --- key_values ---

void key_values::store(std::string_view content, std::byte* at) {
    buffer_handle handle;
    if (!content.empty()) {
        contents_.emplace_back(content);
        handle.bits = contents_.size();
    }
    std::memcpy(at, &handle, sizeof handle);
}

std::optional<std::span<const std::byte>> key_values::content(buffer_handle handle) const {
    if (handle.bits == 0) return std::span<const std::byte>();
    if (handle.bits > contents_.size()) return std::nullopt;
    return std::as_bytes(std::span(contents_[handle.bits - 1]));
}

namespace {

rows::probe probe_of(const rows::type_rows& of, const type_schema::key& key,
                     const key_values& values) {
    return inspect::probe_of(of.schema(), key, {values.object(), values}, values.parts,
                             of.buffers());
}

/// Call it in a turn. Throws replaced_error when the type is not what it was.
rows::type_rows rows_of(inspect::row_source& in, const type_schema& schema) {
    rows::type_rows of = in.of(schema.name);
    if (&of.schema() != &schema)
        throw replaced_error(
            fmt::format("{}: was made anew with another layout of {}; open it again",
                        in.state().string(), schema.name));
    return of;
}

/// The schema to which all turns refer, as long as the state is held. Throws as rows_of() when it
/// is not equal.
const type_schema& schema_of(opened::reading& in, const type_schema& as) {
    const type_schema* found = nullptr;
    in.take_turn([&] { found = &in.source().of(as.name).schema(); });
    if (*found != as) in.take_turn([&] { rows_of(in.source(), as); });
    return *found;
}

// --- rows ---

class rows_in_memory final : public row_stream {
public:
    /// `schema` is that of rows_of().
    rows_in_memory(std::shared_ptr<opened::reading> in, const type_schema& schema,
                   std::unique_ptr<rows::row_cursor> at)
        : in_(std::move(in)), schema_(schema), record_(schema), cursor_(std::move(at)) {}

    [[nodiscard]] bool next(record_batch& into) override {
        into.clear();
        while (into.size() == 0 && is_more_)
            read_turn(into);
        constexpr std::size_t most = 4096;
        ahead_ = std::min(most, 2 * ahead_);
        return into.size() != 0;
    }

private:
    void read_turn(record_batch& into) {
        constexpr std::size_t most_bytes = std::size_t{1} << 20;
        std::unique_ptr<rows::row_cursor> next;
        in_->take_turn([&] {
            into.clear();
            next = cursor_->copy();
            inspect::turn_end end;
            const rows::type_rows of = rows_of(in_->source(), schema_);
            is_more_ = next->advance(of, [&](slot_number slot) {
                into.add(record_, of.slots().value(slot), of.buffers());
                return into.size() < ahead_ && into.bytes() < most_bytes && !end.is_reached();
            });
        });
        cursor_ = std::move(next);
        signals_.look();
    }

    std::shared_ptr<opened::reading> in_;
    const type_schema& schema_;
    archive::described_record record_;
    std::unique_ptr<rows::row_cursor> cursor_;
    interruption signals_;
    std::size_t ahead_ = 16;
    bool is_more_ = true;
};

/// The rows of merged_rows, whose JSON has one form for each value, back as records.
class rows_with_archive final : public row_stream {
public:
    rows_with_archive(std::shared_ptr<opened::reading> in, const type_schema& schema,
                      const inspect::row_query& asked)
        : in_(std::move(in)), archive_(in_->archive_of(schema.name)), record_(schema),
          reader_(schema), rows_(in_->source(), asked, archive_.get()) {}

    [[nodiscard]] bool next(record_batch& into) override {
        constexpr std::size_t most = 256;
        into.clear();
        for (; into.size() < most; rows_.pop()) {
            const inspect::merged_rows::row* const one = rows_.next();
            if (!one) break;
            into.add(record_, reader_.read(inspect::exact_json(one->text.json)), reader_);
            signals_.look();
        }
        in_->take_turn([] {}); // they are of its block, if it is one
        return into.size() != 0;
    }

private:
    std::shared_ptr<opened::reading> in_;
    std::shared_ptr<const archive::store> archive_;
    archive::described_record record_;
    inspect::row_reader reader_;
    inspect::merged_rows rows_;
    interruption signals_;
};

/// The parts as `chainbase-inspect range` takes them.
std::vector<std::string> words_of(const type_schema& schema, const type_schema::key& key,
                                  const std::optional<key_values>& values) {
    std::vector<std::string> words;
    if (!values) return words;
    const inspect::row_format format(schema);
    const std::vector<std::string> names = format.names();
    const inspect::row_text text = format.text_of(values->object(), *values);
    for (std::size_t part = 0; part < values->parts; ++part) {
        const auto field = std::ranges::find(names, key.parts[part].field) - names.begin();
        const std::string_view value = format.value(text, static_cast<std::size_t>(field));
        words.push_back(value.starts_with('"') ? inspect::exact_json(value).get<std::string>()
                                               : std::string(value));
    }
    return words;
}

// --- columns ---

/// Those in memory, from where they are.
class columns_in_memory final : public column_stream {
public:
    columns_in_memory(std::shared_ptr<opened> block, const type_schema& schema,
                      std::vector<std::string> names, column::form as)
        : in_(block->now()), schema_(schema_of(*in_, schema)), names_(std::move(names)), form_(as) {
        static_cast<void>(empty()); // throws for wrong names
    }

    [[nodiscard]] std::vector<column> next(std::size_t most_rows) override {
        std::vector<column> all = empty();
        rows_ = 0;
        while (is_more_ && rows_ < most_rows && bytes_of(all) < most_bytes)
            read_turn(all, most_rows);
        return all;
    }
    [[nodiscard]] std::vector<column> empty() const override {
        return column::of(schema_, names_, form_);
    }
    [[nodiscard]] const std::string& type() const noexcept override { return schema_.name; }

private:
    static constexpr std::size_t at_once = 512;
    static constexpr std::size_t most_bytes = std::size_t{64} << 20;
    using clock = std::chrono::steady_clock;

    [[nodiscard]] std::size_t bytes_of(const std::vector<column>& all) const {
        std::size_t bytes = 0;
        if (form_ == column::form::arrow)
            for (const column& one : all)
                bytes += one.bytes();
        return bytes;
    }

    /// A turn is called again only when something could not be read as of the block.
    void read_turn(std::vector<column>& all, std::size_t most_rows) {
        bool is_called = false;
        in_->take_turn([&] {
            if (std::exchange(is_called, true)) throw inspect::state_changed{};
            const rows::type_rows of = rows_of(in_->source(), schema_);
            const std::uint64_t end = of.slots().next_id();
            if (rows_ == 0)
                for (column& one : all)
                    one.reserve(std::min<std::size_t>({most_rows, of.slots().live(), end}));
            const auto until = clock::now() + inspect::row_source::slice;
            while (next_ < end && rows_ < most_rows && clock::now() < until)
                read_some(of, all, std::min(at_once, most_rows - rows_));
            is_more_ = next_ < end;
        });
        if (form_ == column::form::numpy) signals_.look(); // Arrow may call in any thread
    }

    /// Finds objects first, so that they are on their way from memory when they are copied.
    void read_some(const rows::type_rows& of, std::vector<column>& all, std::size_t most) {
        std::array<const std::byte*, at_once> objects;
        std::size_t found = 0;
        const std::uint64_t end =
            std::min<std::uint64_t>(of.slots().next_id(), next_ + 8 * at_once);
        for (; next_ < end && found < most; ++next_) {
            const slot_number slot = of.slots().slot_of(static_cast<std::uint32_t>(next_));
            if (slot == 0) continue;
            objects[found] = of.slots().value(slot);
            __builtin_prefetch(objects[found++]);
        }
        for (column& one : all)
            one.append({objects.data(), found}, of.buffers());
        rows_ += found;
    }

    std::shared_ptr<opened::reading> in_;
    const type_schema& schema_;
    const std::vector<std::string> names_;
    const column::form form_;
    interruption signals_;
    std::uint64_t next_ = 0; ///< id
    std::size_t rows_ = 0;   ///< of the columns that are being made
    bool is_more_ = true;
};

/// Those in memory and in the archive, from their records.
class columns_of_records final : public column_stream {
public:
    columns_of_records(std::shared_ptr<opened> block, const type_schema& schema,
                       std::vector<std::string> names, column::form as)
        : in_(block->now()), schema_(schema_of(*in_, schema)), names_(std::move(names)), form_(as),
          archive_(in_->archive_of(schema.name)),
          records_(in_->still(), schema.name, archive_.get(), inspect::type_records::places::both),
          object_(schema) {
        static_cast<void>(empty());
    }

    [[nodiscard]] std::vector<column> next(std::size_t most_rows) override {
        constexpr std::uint32_t ids_at_once = 4096;
        constexpr std::size_t most_bytes = std::size_t{64} << 20;
        std::vector<column> all = empty();
        std::size_t bytes = 0;
        for (std::size_t rows = 0;
             next_ < records_.end() && rows < most_rows && bytes < most_bytes;) {
            const std::uint64_t ids = std::min<std::uint64_t>(ids_at_once, most_rows - rows);
            const auto end =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(records_.end(), next_ + ids));
            records_.each(static_cast<std::uint32_t>(next_), end,
                          [&](const inspect::type_records::seen& one) {
                              const std::byte* const object = object_.read(one.record).data();
                              for (column& to : all)
                                  to.append({&object, 1}, object_);
                              ++rows;
                              if (form_ == column::form::arrow) bytes += one.record.size();
                          });
            next_ = end;
            if (form_ == column::form::numpy) signals_.look(); // Arrow may call in any thread
        }
        return all;
    }
    [[nodiscard]] std::vector<column> empty() const override {
        return column::of(schema_, names_, form_);
    }
    [[nodiscard]] const std::string& type() const noexcept override { return schema_.name; }

private:
    std::shared_ptr<opened::reading> in_;
    const type_schema& schema_;
    const std::vector<std::string> names_;
    const column::form form_;
    std::shared_ptr<const archive::store> archive_;
    inspect::type_records records_;
    snapshot_file::object_of_record object_;
    interruption signals_;
    std::uint64_t next_ = 0; ///< id
};

} // namespace

// --- table ---

namespace {

const type_schema* schema_in(opened::reading& in, const std::string& type) {
    const type_schema* found = nullptr;
    in.begin();
    in.take_turn([&] { found = &in.source().of(type).schema(); });
    return found;
}

} // namespace

table::table(std::shared_ptr<opened> in, const std::string& type)
    : in_(std::move(in)), read_as_(schema_in(*in_->now(), type)), schema_(*read_as_),
      record_(schema_) {}

const type_schema::key& table::key_called(const std::string& name) const {
    std::string known = "id";
    for (const type_schema::key& one : schema_.keys) {
        if (one.name == name) return one;
        known += ", " + one.name;
    }
    throw usage_error(fmt::format("{} has no key \"{}\"; it has {}", schema_.name, name, known));
}

void table::require_whole(const type_schema::key& key, std::size_t parts) const {
    inspect::require_parts(schema_, key, parts);
    if (parts == key.parts.size()) return;
    throw usage_error(fmt::format(
        "{}.{} has {} parts, {} given{}", schema_.name, key.name, key.parts.size(), parts,
        key.kind.starts_with("hashed") ? "" : "; for all that begin with them, use range"));
}

std::uint64_t table::count() const {
    const auto in = in_->now();
    std::uint64_t count = 0;
    in->begin();
    in->take_turn([&] { count = rows_of(in->source(), *read_as_).slots().live(); });
    return count;
}

std::optional<archive::byte_buffer> table::get(std::uint32_t id, bool archive) const {
    const auto in = in_->now();
    archive::byte_buffer found;
    in->begin();
    in->take_turn([&] {
        found.clear();
        const rows::type_rows of = rows_of(in->source(), *read_as_);
        const slot_number slot = of.slots().slot_of(id);
        if (slot != 0) record_.append(of.slots().value(slot), of.buffers(), found);
    });
    if (!found.empty()) return found;
    const auto store = archive ? in->archive_of(schema_.name) : nullptr;
    if (!store) return std::nullopt;
    auto archived =
        inspect::find_archived(in->source(), *store, schema_.name, "id", archive::make_key(id));
    if (in->is_block()) in->take_turn([] {});
    if (!archived || archived->empty()) return std::nullopt;
    return std::move(archived->front().record);
}

record_batch table::find(const type_schema::key& key, const key_values& values, std::size_t limit,
                         bool archive) const {
    const auto in = in_->now();
    record_batch found;
    std::optional<archive::byte_buffer> stored;
    in->begin();
    in->take_turn([&] {
        found.clear();
        const rows::type_rows of = rows_of(in->source(), *read_as_);
        const type_schema::key& its = of.key_called(key.name);
        const rows::probe wanted = probe_of(of, its, values);
        for (const slot_number slot : of.find(its, wanted)) {
            if (found.size() == limit) break;
            found.add(record_, of.slots().value(slot), of.buffers());
        }
        const bool is_enough = found.size() == limit ||
                               (found.size() != 0 && key.kind.find("non_unique") == key.kind.npos);
        stored = archive && !is_enough ? archive::detail::key_of(wanted) : std::nullopt;
    });
    const auto store = stored ? in->archive_of(schema_.name) : nullptr;
    if (!store) return found;
    const auto archived =
        inspect::find_archived(in->source(), *store, schema_.name, key.name, *stored);
    if (in->is_block()) in->take_turn([] {});
    if (!archived) return found;
    for (const inspect::archived_record& one : *archived)
        if (found.size() < limit) found.add(one.record);
    return found;
}

std::unique_ptr<row_stream> table::rows(range asked) const {
    const auto in = in_->now();
    in->begin();
    if (asked.archive) {
        in->take_turn([&] { rows_of(in->source(), *read_as_); });
        inspect::row_query query{schema_.name,    asked.key ? asked.key->name : "id", {}, {}, {},
                                 asked.is_reverse};
        if (asked.key) {
            query.from = words_of(schema_, *asked.key, asked.first);
            query.to = words_of(schema_, *asked.key, asked.last);
        } else {
            query.from = {std::to_string(asked.first_id)};
            query.to = {std::to_string(asked.last_id)};
        }
        return std::make_unique<rows_with_archive>(in, schema_, query);
    }
    std::unique_ptr<rows::row_cursor> cursor;
    if (!asked.key)
        cursor = std::make_unique<rows::id_cursor>(asked.first_id, asked.last_id, asked.is_reverse);
    else
        in->take_turn([&] {
            const rows::type_rows of = rows_of(in->source(), *read_as_);
            const type_schema::key& key = of.key_called(asked.key->name);
            if (!of.tree(key))
                throw usage_error(fmt::format("{}.{} is {}: it has no order; use find, or another "
                                              "key",
                                              schema_.name, key.name, key.kind));
            const auto bound = [&](const std::optional<key_values>& of_range) {
                return of_range ? std::optional(probe_of(of, key, *of_range)) : std::nullopt;
            };
            cursor = std::make_unique<rows::key_cursor>(
                key,
                rows::key_cursor::bounds{bound(asked.first), bound(asked.last), asked.is_reverse});
        });
    return std::make_unique<rows_in_memory>(in, *read_as_, std::move(cursor));
}

std::unique_ptr<column_stream> table::columns(const std::vector<std::string>& names,
                                              column::form as, bool archive) const {
    const bool is_block = in_->now()->is_block();
    const std::shared_ptr<opened> block = is_block ? in_ : in_->at_block();
    if (!is_block) block->now()->source().read_all(/*and_keys=*/false);
    if (archive) return std::make_unique<columns_of_records>(block, schema_, names, as);
    return std::make_unique<columns_in_memory>(block, schema_, names, as);
}

} // namespace chainbase::python

#include <archive/lifecycle_objects.hpp>
#include <archive/record/described_record.hpp>
#include <archive/record/integers.hpp>
#include <chainbase/offline/archive_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::archive {

namespace {

using check::part_report;
using check::type_check;

const type_check* type_called(const check::state_check& state, const std::string& name) {
    const auto found =
        std::find_if(state.types().begin(), state.types().end(),
                     [&](const type_check& one) { return one.schema().name == name; });
    return found == state.types().end() || !found->objects() ? nullptr : &*found;
}

constexpr std::string_view queue_suffix = ".retired";

/// Whether the type has the two fields of an entry that names an object.
bool names_objects(const type_check& type) {
    const auto& fields = type.schema().fields;
    return fields.size() > 1 && fields[1].name == "object" && fields[1].type == "id" &&
           fields[1].offset + 4 <= type.schema().value_bytes;
}

/// Whether it is the queue of a life cycle (lifecycle_objects.hpp).
bool is_queue(const type_check& type) {
    return type.objects() && type.schema().name.ends_with(queue_suffix) && names_objects(type);
}

/// The queue of the retired objects of the type with this name; null if it has no life cycle.
const type_check* queue_of(const check::state_check& state, const std::string& name) {
    const type_check* const found = type_called(state, name + std::string(queue_suffix));
    return found && is_queue(*found) ? found : nullptr;
}

/// The objects that the entries of a type name.
std::set<std::uint32_t> objects_named_in(const type_check& type) {
    std::set<std::uint32_t> all;
    const check::object_slots& entries = *type.objects();
    const std::uint32_t at = type.schema().fields[1].offset;
    for (slot_number slot = 1; slot < entries.end(); ++slot)
        if (entries.is_live(slot))
            all.insert(check::copy_at<std::uint32_t>(entries.value(slot) + at));
    return all;
}

std::set<std::uint32_t> objects_named_in(const check::state_check& state, const std::string& name) {
    const type_check* const type = type_called(state, name);
    return type && names_objects(*type) ? objects_named_in(*type) : std::set<std::uint32_t>();
}

/// The name of the type that the queue belongs to.
std::string type_of(const type_check& queue) {
    const std::string& name = queue.schema().name;
    return name.substr(0, name.size() - queue_suffix.size());
}

/// Ids are given in order, and an entry goes with its object: when that is handed over, or, for
/// those withdrawn, removed.
std::uint64_t handed_over(const check::state_check& state, const type_check& queue) {
    const type_check* const withdrawn = type_called(state, type_of(queue) + ".withdrawn");
    const std::uint64_t others =
        queue.objects()->live() + (withdrawn ? withdrawn->objects()->live() : 0);
    return queue.next_id() - std::min<std::uint64_t>(queue.next_id(), others);
}

/// The life cycle's filter over the keys of objects that left memory (lifecycle_objects.hpp).
class filter_blocks {
public:
    filter_blocks(const check::state_check& state, const std::string& name)
        : blocks_(type_called(state, name + ".filter")) {}

    [[nodiscard]] bool may_have(std::uint64_t hash) const {
        using layout = detail::filter_layout;
        if (!blocks_) return false;
        const auto bits = layout::bits_of(hash);
        for (layout::generation at; at.first < blocks_->next_id(); at = at.next()) {
            const auto slot = blocks_->find(at.block_of(hash));
            if (slot && layout::has(bits_at(*slot), bits)) return true;
        }
        return false;
    }

private:
    [[nodiscard]] detail::filter_layout::block bits_at(slot_number slot) const {
        const std::uint32_t at = blocks_->schema().fields[1].offset;
        return check::copy_at<detail::filter_layout::block>(blocks_->objects()->value(slot) + at);
    }

    const type_check* blocks_;
};

/// The rows of one table.
class table_check {
public:
    table_check(const check::state_check& state, const store& rows, table_id table, part_report& to)
        : state_(state), rows_(rows), table_(table), to_(to),
          name_(rows.tables()[table.value].name), type_(type_called(state, name_)),
          queue_(queue_of(state, name_)), filter_(state, name_),
          removed_(objects_named_in(state, name_ + ".removed")),
          withdrawn_(objects_named_in(state, name_ + ".withdrawn")) {
        if (type_) as_described_.emplace(type_->schema());
    }

    void run() {
        if (!type_)
            to_.not_checked.emplace_back("rows against objects: no type of this name is in the "
                                         "segment, or it cannot be read");
        else if (!as_described_->undescribed().empty())
            to_.not_checked.push_back("contents: " + undescribed_field());
        if (queue_) retired_ = objects_named_in(*queue_);
        for (const std::uint32_t id : removed_)
            if (type_ && type_->find(id)) add(id, "was removed, but its object is in memory");
        check_all_rows();
        check_keys();
        check_handed_over();
    }

private:
    void add(std::uint32_t id, std::string what) {
        check::finding found{"archive", {}, fmt::format("row {}: {}", id, what)};
        found.object = id;
        to_.add(std::move(found));
    }

    [[nodiscard]] std::string undescribed_field() const {
        const std::string& name = as_described_->undescribed().front();
        const auto& fields = type_->schema().fields;
        const auto field = std::ranges::find(fields, name, &type_schema::field::name);
        return "field " + name + " is of type " + field->type;
    }

    /// The content of the record of an object in memory; nothing when it cannot be told.
    [[nodiscard]] std::optional<byte_buffer> content_in_memory(slot_number slot) const {
        if (!as_described_->undescribed().empty()) return std::nullopt;
        byte_buffer record;
        try {
            as_described_->append(type_->objects()->value(slot), state_.buffers(), record);
        } catch (const damaged_error&) { // the check of its type says so
            return std::nullopt;
        }
        record.erase(record.begin(), record.begin() + sizeof(std::uint32_t)); // its fingerprint
        return record;
    }

    void check_all_rows() {
        for (row_cursor row = rows_.rows(table_); row.valid(); row.next()) {
            ids_.push_back(row.id());
            const std::uint64_t before = archived_;
            check_row(row.id(), row.record());
            has_left_.push_back(archived_ != before);
        }
        const std::uint64_t count = ids_.size();
        to_.count("rows", count);
        to_.count("also in memory", in_memory_);
        to_.count("ahead of the state", ahead_);
        if (!removed_.empty()) to_.count("removed", removed_.size());
        if (count != rows_.count(table_))
            to_.add(
                {"archive",
                 {},
                 fmt::format("{} rows are counted, but there are {}", rows_.count(table_), count)});
    }

    void check_row(std::uint32_t id, bytes_view record) {
        if (record.size() < sizeof(std::uint32_t)) return add(id, "has no fingerprint");
        const auto layout = detail::load_little<std::uint32_t>(record.data());
        if (!layout_) layout_ = layout;
        if (layout != *layout_)
            add(id,
                fmt::format("has layout {:08x}, but the first row has {:08x}", layout, *layout_));
        if (!type_) return;
        const bytes_view content = record.subspan(sizeof layout);
        const std::string wrong = as_described_->problem_of(content, id);
        if (!wrong.empty()) add(id, wrong);
        if (id >= type_->next_id()) {
            ++ahead_;
            return;
        }
        const auto slot = type_->find(id);
        if (!slot) {
            ++(withdrawn_.contains(id) ? ahead_ : archived_);
            return;
        }
        ++in_memory_;
        if (!retired_.contains(id)) {
            ++ahead_;
            return;
        }
        const auto now = content_in_memory(*slot);
        if (now && !std::ranges::equal(*now, content))
            add(id, "differs from the object in memory, which is retired and must not change");
    }

    /// Both ways: every entry leads to a row, and every row is led to by one of each key, as a
    /// life cycle leaves it.
    void check_keys() {
        const auto& names = rows_.tables()[table_.value].key_names;
        if (!names.empty() && !queue_)
            to_.not_checked.emplace_back("whether every row has its keys: the state has no life "
                                         "cycle for this type");
        for (std::uint32_t index = 0; index < names.size(); ++index)
            check_key(index, names[index]);
    }

    void check_key(std::uint32_t index, const std::string& name) {
        std::uint64_t entries = 0;
        std::vector<bool> is_found(ids_.size());
        byte_buffer last;                        // key of a row that counts
        std::optional<std::uint32_t> last_owner; // that row
        for (key_cursor key = rows_.keys(table_, index); key.valid(); key.next(), ++entries) {
            const auto row = std::ranges::lower_bound(ids_, key.id());
            if (row == ids_.end() || *row != key.id()) {
                add(key.id(), "does not exist, but key " + name + " leads to it");
                continue;
            }
            const auto at = static_cast<std::size_t>(row - ids_.begin());
            if (is_found[at]) add(*row, "two entries of key " + name + " lead to it");
            is_found[at] = true;
            if (queue_ && has_left_[at] && !is_passed(index, name, key.key()))
                add(*row, "is not found by key " + name + ": the state's filter lacks it");
            if (!queue_ || !has_left_[at] || removed_.contains(*row)) continue;
            if (last_owner && same(last, key.key()))
                add(*row, fmt::format("has the same key {} as row {}", name, *last_owner));
            last.assign(key.key().begin(), key.key().end());
            last_owner = *row;
        }
        to_.count("key " + name, entries);
        for (std::size_t at = 0; queue_ && at < ids_.size(); ++at)
            if (!is_found[at]) add(ids_[at], "no entry of key " + name + " leads to it");
    }

    /// Keys that end with the id are walked, not looked for, and in no filter.
    [[nodiscard]] bool is_passed(std::uint32_t index, const std::string& name,
                                 bytes_view key) const {
        return name.ends_with(",id") || filter_.may_have(detail::filter_layout::hash(index, key));
    }

    void check_handed_over() {
        if (!queue_ || !type_) return;
        const std::uint64_t expected = handed_over(state_, *queue_);
        to_.count("handed over", expected);
        if (archived_ < expected)
            to_.add(
                {"archive",
                 {},
                 fmt::format("{} objects were handed over, {} of those not in memory have a row",
                             expected, archived_)});
    }

    const check::state_check& state_;
    const store& rows_;
    table_id table_;
    part_report& to_;
    std::string name_;
    const type_check* type_;
    const type_check* queue_; ///< of what is finished and still in memory
    filter_blocks filter_;
    std::set<std::uint32_t> removed_;
    std::set<std::uint32_t> withdrawn_; ///< of them those of which the state does not know a row
    std::optional<described_record> as_described_;
    std::set<std::uint32_t> retired_;
    std::vector<std::uint32_t> ids_;      ///< of the rows, rising
    std::vector<bool> has_left_;          ///< memory, the object of each
    std::optional<std::uint32_t> layout_; ///< of the first row
    std::uint64_t in_memory_ = 0;
    std::uint64_t ahead_ = 0;
    std::uint64_t archived_ = 0; ///< rows of objects that are not in memory any more
};

bool has_table(const std::vector<table_description>& tables, const std::string& name) {
    return std::ranges::find(tables, name, &table_description::name) != tables.end();
}

} // namespace

void check_rows(const check::state_check& state, const store& rows, part_report& to) {
    for (std::uint32_t table = 0; table < rows.tables().size(); ++table) {
        part_report& part = to.enter(rows.tables()[table].name);
        part.type = part.name;
        const check::stopwatch timed(part);
        try {
            table_check(state, rows, table_id{table}, part).run();
        } catch (const damaged_error& e) {
            part.add({"archive", {}, e.what()});
        }
    }
    require_tables(state, rows.tables(), to);
}

void require_tables(const check::state_check& state, const std::vector<table_description>& tables,
                    part_report& to) {
    for (const type_check& queue : state.types()) {
        if (!is_queue(queue)) continue;
        const std::string type = type_of(queue);
        const std::uint64_t gone = handed_over(state, queue);
        if (gone == 0 || has_table(tables, type)) continue;
        part_report& part = to.enter(type);
        part.type = type;
        part.add({"archive",
                  {},
                  fmt::format("{} objects were handed over, but {}; put the archive of this "
                              "state back in place, or replay into a new folder",
                              gone,
                              tables.empty() ? "there is no archive"
                                             : "the archive has no table of them")});
    }
}

void check_rows_in_memory(const check::state_check& state, part_report& to) {
    std::uint64_t gone = 0;
    for (const type_check& one : state.types())
        if (is_queue(one)) gone += handed_over(state, one);
    const type_check* const kept = type_called(state, "archive.row");
    const std::uint64_t rows = kept ? kept->objects()->live() : 0;
    to.count("handed over", gone);
    to.count("rows", rows);
    if (rows < gone)
        to.add({"segment/archive.row.objects",
                {},
                fmt::format("{} objects were handed over, but there are {} rows", gone, rows)});
}

} // namespace chainbase::archive

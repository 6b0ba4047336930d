#include <archive/archive_check.hpp>
#include <archive/detail/integers.hpp>
#include <archive/detail/row_decoder.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

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

/// The rows of one table.
class table_check {
public:
    table_check(const check::state_check& state, const store& rows, table_id table, part_report& to)
        : rows_(rows), table_(table), to_(to), name_(rows.tables()[table.value].name),
          type_(type_called(state, name_)), queue_(type_called(state, name_ + ".retired")) {
        if (type_) decoder_.emplace(type_->schema(), state.buffers());
    }

    void run() {
        if (!type_)
            to_.not_checked.emplace_back("rows against objects: no type of this name is in the "
                                         "state, or it cannot be read");
        else if (!decoder_->why_not().empty())
            to_.not_checked.push_back("contents: " + decoder_->why_not());
        read_retired();
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

    /// The objects whose entries are in the queue.
    void read_retired() {
        if (!queue_) return;
        const check::object_slots& entries = *queue_->objects();
        const auto& fields = queue_->schema().fields;
        const bool is_queue = fields.size() > 1 && fields[1].name == "object" &&
                              fields[1].type == "id" &&
                              fields[1].offset + 4 <= queue_->schema().value_bytes;
        if (!is_queue) return;
        for (slot_number slot = 1; slot < entries.end(); ++slot)
            if (entries.is_live(slot))
                retired_.insert(
                    check::copy_at<std::uint32_t>(entries.value(slot) + fields[1].offset));
    }

    void check_all_rows() {
        std::uint64_t count = 0;
        for (row_cursor row = rows_.rows(table_); row.valid(); row.next(), ++count)
            check_row(row.id(), row.record());
        to_.count("rows", count);
        to_.count("also in memory", in_memory_);
        to_.count("ahead of the state", ahead_);
        if (count != rows_.count(table_))
            to_.add({"archive",
                     {},
                     fmt::format("{} rows are counted, {} are there", rows_.count(table_), count)});
    }

    void check_row(std::uint32_t id, bytes_view record) {
        if (record.size() < sizeof(std::uint32_t)) return add(id, "has no fingerprint");
        const auto layout = detail::load_little<std::uint32_t>(record.data());
        if (!layout_) layout_ = layout;
        if (layout != *layout_)
            add(id, fmt::format("is of layout {:08x}, the first row of {:08x}", layout, *layout_));
        if (!type_) return;
        const bytes_view content = record.subspan(sizeof layout);
        const std::string wrong = decoder_->problem_of(content, id);
        if (!wrong.empty()) add(id, wrong);
        if (id >= type_->next_id()) {
            ++ahead_;
            return;
        }
        const auto slot = type_->find(id);
        if (!slot) {
            ++archived_;
            return;
        }
        ++in_memory_;
        if (!retired_.contains(id)) {
            ++ahead_;
            return;
        }
        const auto now = decoder_->encode(type_->objects()->value(*slot));
        if (now && !std::ranges::equal(*now, content))
            add(id, "differs from the object in memory, which is retired and must not change");
    }

    void check_keys() {
        const auto& names = rows_.tables()[table_.value].key_names;
        for (std::uint32_t index = 0; index < names.size(); ++index) {
            std::uint64_t entries = 0;
            for (key_cursor key = rows_.keys(table_, index); key.valid(); key.next(), ++entries)
                if (!rows_.contains(table_, key.id()))
                    add(key.id(), "is not there, and key " + names[index] + " leads to it");
            to_.count("key " + names[index], entries);
        }
    }

    void check_handed_over() {
        if (!queue_ || !type_) return;
        const std::uint64_t handed_over =
            queue_->next_id() - std::min<std::uint64_t>(queue_->next_id(), retired_.size());
        to_.count("handed over", handed_over);
        if (archived_ < handed_over)
            to_.add(
                {"archive",
                 {},
                 fmt::format("{} objects were handed over, {} of those not in memory have a row",
                             handed_over, archived_)});
    }

    const store& rows_;
    table_id table_;
    part_report& to_;
    std::string name_;
    const type_check* type_;
    const type_check* queue_; ///< of what is finished and still in memory
    std::optional<detail::row_decoder> decoder_;
    std::set<std::uint32_t> retired_;
    std::optional<std::uint32_t> layout_; ///< of the first row
    std::uint64_t in_memory_ = 0;
    std::uint64_t ahead_ = 0;
    std::uint64_t archived_ = 0; ///< rows of objects that are not in memory any more
};

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
}

} // namespace chainbase::archive

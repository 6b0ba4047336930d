#include <archive/record/integers.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace chainbase::inspect {

namespace {

using archive::byte_buffer;
using archive::bytes_view;

constexpr std::size_t length_bytes = sizeof(std::uint32_t);

const type_schema* schema_in(unchanging_state& state, const std::string& type) {
    const type_schema* found = nullptr;
    state.take_turn([&] { found = &state.source().of(type).schema(); });
    return found;
}

} // namespace

unchanging_state::unchanging_state(row_source& state, const std::function<void()>& look)
    : state_(state) {
    state_.take_turn([&] {
        revision_ = state_.revision();
        changes_ = state_.changes();
        if (changes_ % 2 != 0) throw state_changed{};
        look_at(look);
    });
}

void unchanging_state::take_turn(const std::function<void()>& look) {
    state_.take_turn([&] { look_at(look); });
}

/// Also works without turns: results and errors of a read during a change are discarded.
void unchanging_state::look_at(const std::function<void()>& look) const {
    if (state_.changes() != changes_) throw state_changed{};
    try {
        look();
    } catch (const error&) {
        if (state_.changes() == changes_) throw;
    }
    if (state_.changes() != changes_) throw state_changed{};
}

/// Concatenated records, each preceded by its length, and their offsets.
struct type_records::in_memory {
    struct place {
        std::uint32_t id;
        std::size_t begin;
    };
    byte_buffer records;
    std::vector<place> places; ///< kept for a type with rows that are only in the archive

    /// A record.
    [[nodiscard]] seen at(std::size_t number) const {
        const std::size_t begin = places[number].begin + length_bytes;
        const std::size_t end =
            number + 1 < places.size() ? places[number + 1].begin : records.size();
        return {places[number].id, bytes_view(records).subspan(begin, end - begin), false, {}};
    }
};

type_records::type_records(unchanging_state& state, const std::string& type,
                           const archive::store* archive, places where)
    : state_(state), type_(type), schema_(schema_in(state, type)), record_(*schema_) {
    state_.take_turn([&] { end_ = state_.source().of(type_).slots().next_id(); });
    if (where != places::memory) find_table(archive);
    has_removed_ = where == places::with_removed;
    if (archive_) find_removed();
}

void type_records::find_table(const archive::store* archive) {
    std::uint64_t expected = 0;
    state_.take_turn([&] { expected = objects_handed_over(state_.source(), type_).value_or(0); });
    std::uint64_t there = 0;
    if (const auto table = archive ? table_called(*archive, type_) : std::nullopt) {
        table_ = *table;
        there = archive->count(table_);
    }
    if (there < expected)
        throw damaged_error(fmt::format(
            "{}: the state handed over {} rows of {}; {} has {}; put the archive of this state "
            "back in place",
            state_.source().state().string(), expected, type_,
            archive ? archive->name() : "its archive, which is missing,", there));
    if (there != 0) archive_ = archive;
}

void type_records::find_removed() {
    const std::string name = type_ + ".removed";
    bool is_there = false;
    state_.take_turn([&] { is_there = state_.source().has(name); });
    if (!is_there) return;
    using numbers = std::vector<std::uint32_t>;
    std::unique_ptr<rows::row_cursor> all = std::make_unique<rows::id_cursor>();
    scan<numbers>(
        state_.source(), name, all,
        [](numbers& found, const rows::type_rows& of, slot_number slot) {
            found.push_back(number_of<std::uint32_t>(of, slot, "object"));
            return true;
        },
        [&](const numbers& found) { removed_.insert(removed_.end(), found.begin(), found.end()); });
    state_.take_turn([] {}); // confirms that all belongs to that moment
    std::sort(removed_.begin(), removed_.end());
}

void type_records::read_memory(std::uint32_t begin, std::uint32_t end, in_memory& to) {
    using clock = std::chrono::steady_clock;
    constexpr std::uint32_t between = 64; ///< rows between two clock reads
    while (begin < end) {
        state_.take_turn([&] {
            const auto until = clock::now() + row_source::slice;
            const rows::type_rows of = state_.source().of(type_);
            for (; begin < end; ++begin) {
                if (begin % between == 0 && clock::now() > until) break;
                const slot_number slot = of.slots().slot_of(begin);
                if (slot == 0) continue;
                const std::size_t start = to.records.size();
                to.places.push_back({begin, start});
                to.records.resize(start + length_bytes);
                record_.append(of.slots().value(slot), of.buffers(), to.records);
                archive::detail::store_little(
                    to.records.data() + start,
                    static_cast<std::uint32_t>(to.records.size() - start - length_bytes));
            }
        });
    }
    rows_ += to.places.size();
}

/// Copies a row without its leading layout: the record as described_record writes it.
void type_records::append_row(bytes_view record, byte_buffer& to) {
    if (record.size() < sizeof(std::uint32_t))
        throw damaged_error("archive: a record of " + type_ +
                            " is too short; run chainbase-inspect check");
    const auto layout = archive::detail::load_little<std::uint32_t>(record.data());
    std::uint64_t known = no_layout;
    if (!row_layout_.compare_exchange_strong(known, layout) && known != layout)
        throw schema_error("archive: rows of " + type_ +
                           " are of several layouts; use the program that wrote them, or rebuild "
                           "the archive by a replay");
    const std::size_t start = to.size();
    archive::append(to, record);
    archive::detail::store_little(to.data() + start, record_.fingerprint());
}

/// Memory takes precedence.
void type_records::merge(std::uint32_t begin, std::uint32_t end, const in_memory& memory,
                         const std::function<void(const seen&)>& visit) {
    std::size_t next = 0;
    std::uint64_t archived = 0;
    byte_buffer restored;
    const auto take_below = [&](std::uint64_t id) {
        for (; next < memory.places.size() && memory.places[next].id < id; ++next)
            visit(memory.at(next));
    };
    for (auto row = archive_->rows(table_, begin); row.valid() && row.id() < end; row.next()) {
        take_below(row.id());
        const bool is_in_memory = next < memory.places.size() && memory.places[next].id == row.id();
        const bool is_removed = std::binary_search(removed_.begin(), removed_.end(), row.id());
        if (is_in_memory || (is_removed && !has_removed_)) continue;
        restored.clear();
        append_row(row.record(), restored);
        visit({row.id(), restored, true, row.stored().subspan(restored.size()), is_removed});
        archived += is_removed ? 0 : 1;
    }
    take_below(std::uint64_t{end});
    archived_rows_ += archived;
}

byte_buffer type_records::read(std::uint32_t begin, std::uint32_t end) {
    in_memory memory;
    read_memory(begin, end, memory);
    if (!archive_) return std::move(memory.records);
    byte_buffer all;
    all.reserve(memory.records.size());
    merge(begin, end, memory, [&](const seen& one) {
        const std::size_t start = all.size();
        all.resize(start + length_bytes);
        archive::detail::store_little(all.data() + start,
                                      static_cast<std::uint32_t>(one.record.size()));
        archive::append(all, one.record);
    });
    return all;
}

void type_records::each(std::uint32_t begin, std::uint32_t end,
                        const std::function<void(const seen&)>& visit) {
    in_memory memory;
    read_memory(begin, end, memory);
    if (archive_) return merge(begin, end, memory, visit);
    for (std::size_t number = 0; number < memory.places.size(); ++number)
        visit(memory.at(number));
}

} // namespace chainbase::inspect

#include <pool_allocator/base/error.hpp>
#include <tools/inspect/snapshot/row_differences.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace chainbase::inspect {

using archive::bytes_view;
using snapshot_file::chunk_entry;
using snapshot_file::chunk_row;
using snapshot_file::folder_reader;
using snapshot_file::type_entry;

namespace {

/// The rows of a type in the chunks that the other snapshot has not, by rising ids.
class other_rows {
public:
    other_rows(const folder_reader& from, const type_entry& of, const type_entry& other)
        : from_(from), of_(of) {
        std::set<sha256_digest> known;
        for (const chunk_entry& one : other.chunks)
            known.insert(one.digest);
        for (const chunk_entry& one : of.chunks)
            if (!known.contains(one.digest)) chunks_.push_back(&one);
    }

    /// The row that is next; null at the end.
    [[nodiscard]] const chunk_row* now() {
        while (at_ == rows_.size()) {
            if (next_ == chunks_.size()) return nullptr;
            const chunk_entry& one = *chunks_[next_++];
            content_ = from_.content(of_, one);
            rows_.clear();
            at_ = 0;
            snapshot_file::each_row(content_, name_of(of_, one),
                                    [&](const chunk_row& row) { rows_.push_back(row); });
        }
        return &rows_[at_];
    }
    void next() { ++at_; }

private:
    const folder_reader& from_;
    const type_entry& of_;
    std::vector<const chunk_entry*> chunks_;
    std::size_t next_ = 0;
    archive::byte_buffer content_;
    std::vector<chunk_row> rows_; ///< of content_
    std::size_t at_ = 0;
};

bool is_same(const chunk_row& a, const chunk_row& b) {
    return archive::same(a.record, b.record) &&
           (a.is_archived != b.is_archived || archive::same(a.keys, b.keys));
}

/// Chunks of one are not always those of the other, so rows of equal content come on both sides;
/// they are passed over.
type_difference compare(const folder_reader& a, const type_entry& of_a, const folder_reader& b,
                        const type_entry& of_b, std::uint64_t limit) {
    type_difference found{.type = of_a.schema.name};
    other_rows left(a, of_a, of_b);
    other_rows right(b, of_b, of_a);
    const auto note = [&](std::uint64_t& count, std::uint32_t id) {
        ++count;
        if (found.ids.size() < limit) found.ids.push_back(id);
    };
    for (;;) {
        const chunk_row* const one = left.now();
        const chunk_row* const other = right.now();
        if (!one && !other) return found;
        if (one && (!other || one->id < other->id)) {
            note(found.only_a, one->id);
            left.next();
        } else if (!one || other->id < one->id) {
            note(found.only_b, other->id);
            right.next();
        } else {
            if (!is_same(*one, *other))
                note(found.changed, one->id);
            else if (one->is_archived != other->is_archived)
                note(found.placed, one->id);
            left.next();
            right.next();
        }
    }
}

} // namespace

std::vector<type_difference> differences(const folder_reader& a, const folder_reader& b,
                                         std::uint64_t limit) {
    std::vector<type_difference> found;
    for (const type_entry& one : a.manifest().types) {
        const type_entry* const other = b.manifest().find(one.schema.name);
        if (!other)
            found.push_back({.type = one.schema.name, .problem = "only in the first"});
        else if (one.schema.fields != other->schema.fields)
            found.push_back(
                {.type = one.schema.name,
                 .problem = "its fields differ: " + one.schema.difference(other->schema)});
        else if (one.chunks != other->chunks) {
            type_difference of = compare(a, one, b, *other, limit);
            if (of.all() != 0) found.push_back(std::move(of));
        }
    }
    for (const type_entry& one : b.manifest().types)
        if (!a.manifest().find(one.schema.name))
            found.push_back({.type = one.schema.name, .problem = "only in the other"});
    return found;
}

} // namespace chainbase::inspect

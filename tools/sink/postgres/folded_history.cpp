#include <tools/sink/postgres/folded_history.hpp>

#include <algorithm>
#include <map>

namespace chainbase::sink::postgres {

namespace {

/// The history of one row within the batch, newest last.
struct of_row {
    std::optional<folded_history::undo> undone;
    std::optional<folded_history::close> closed;
    std::optional<folded_history::row> again;
    std::vector<folded_history::row> rows;

    void end(const history_change& one) {
        if (rows.empty()) {
            if (!closed) closed = {one.id, one.revision, one.serial};
        } else if (!rows.back().until) {
            rows.back().until = one.revision;
            rows.back().until_serial = one.serial;
        }
    }
    void begin(const history_change& one) {
        end(one);
        add(one, one.revision, one.serial);
    }
    void add(const history_change& one, revision_number from, std::uint32_t serial) {
        rows.push_back(row_of(one, from, serial));
    }
    static folded_history::row row_of(const history_change& one, revision_number from,
                                      std::uint32_t serial) {
        return {one.id, one.begin_at, one.end_at, from, serial, {}, {}};
    }
    /// What the batch did not begin is the database's to undo.
    void undo(const history_change& one) {
        while (!rows.empty() && rows.back().from >= one.revision)
            rows.pop_back();
        const bool has_record = one.begin_at != one.end_at;
        if (!rows.empty()) {
            auto& last = rows.back();
            if (last.until && *last.until >= one.revision) last.until.reset();
            if (!last.until) last.until_serial.reset();
            if (last.until && has_record) add(one, one.revision - 1, 0);
        } else if (closed && closed->at < one.revision) {
            if (has_record) add(one, one.revision - 1, 0);
        } else {
            closed.reset();
            undone = {one.id, undone ? std::min(undone->at, one.revision) : one.revision};
            again.reset();
            if (has_record) again = row_of(one, one.revision - 1, 0);
        }
    }
};

} // namespace

folded_history::folded_history(std::span<const history_change> changes) {
    std::map<std::uint32_t, of_row> all;
    for (const history_change& one : changes) {
        of_row& to = all[one.id];
        switch (one.what) {
        case history_change::kind::begin:
            to.begin(one);
            break;
        case history_change::kind::end:
            to.end(one);
            break;
        case history_change::kind::undo:
            to.undo(one);
        }
    }
    for (const auto& [id, one] : all) {
        if (one.undone) undone.push_back(*one.undone);
        if (one.again) again.push_back(*one.again);
        if (one.closed) closed.push_back(*one.closed);
        rows.insert(rows.end(), one.rows.begin(), one.rows.end());
    }
}

} // namespace chainbase::sink::postgres

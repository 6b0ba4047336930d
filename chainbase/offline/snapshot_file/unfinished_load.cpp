#include <archive/record/bytes.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/offline/snapshot_file/unfinished_load.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/json.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace chainbase::snapshot_file {

namespace fs = std::filesystem;

namespace {

/// Of the notes, and of how a state is made: raise it when either changes.
constexpr int load_format = 1;

std::string rules_text(const migration_rules& rules) {
    json_object renamed;
    for (const auto& [now, was] : rules.renamed)
        renamed.add(now, was);
    return json_object()
        .add_json("renamed", renamed.text())
        .add_json("dropped",
                  json_array(rules.dropped, [](const auto& one) { return to_json(one); }))
        .add("may_not_apply", rules.may_not_apply)
        .text();
}

/// What the options say of the state that is made; empty if functions compute a part of it.
std::string digest_of(const loading_options& how) {
    json_object rules;
    json_object renamed;
    for (const auto& [type, one] : how.rules) {
        if (one.compute) return {};
        rules.add_json(type, rules_text(one));
    }
    for (const auto& [now, was] : how.renamed_types)
        renamed.add(now, was);
    catalogue types;
    if (how.types)
        for (const type_schema& one : *how.types)
            types.add({one, 0});
    const std::string text =
        json_object()
            .add("window_bytes", how.limits.window_bytes)
            .add("windows", how.limits.windows)
            .add("readers", how.limits.readers_group)
            .add("archive", how.archive)
            .add_json("types", how.types ? types.text() : "null")
            .add_json("rules", rules.text())
            .add_json("renamed", renamed.text())
            .add_json("dropped",
                      json_array(how.dropped_types, [](const auto& one) { return to_json(one); }))
            .text();
    return hex(sha256().of(archive::as_bytes(text)));
}

} // namespace

unfinished_load::unfinished_load(const fs::path& state, const manifest& from,
                                 const loading_options& how)
    : made_(state, how.limits.readers_group, unfinished_state::leftover::is_kept),
      snapshot_(hex(from.name())), options_(digest_of(how)) {
    std::string why_not;
    try {
        why_not = why_not_continued();
    } catch (const error& problem) { // of the checkpoint's format
        why_not = problem.what();
    }
    if (kept_types_.empty() || !why_not.empty()) {
        begin_anew(why_not);
    } else {
        made_.go_on();
        spdlog::info("{}: goes on with the {} types that an earlier call loaded", state.string(),
                     kept_types_.size());
    }
}

/// Empty if it can be continued, or if nothing was kept; finds what was.
std::string unfinished_load::why_not_continued() {
    if (!fs::exists(made_.notes())) return {};
    const checkpoint::published all(disk::of_system(), made_.path() / "checkpoint");
    if (!all.newest()) return all.why();
    try {
        const json_value notes = json_value::parse(read_file(made_.notes()));
        if (notes.at("format").serialized() != std::to_string(load_format))
            return "another version of this program began it";
        if (notes.at("snapshot").text() != snapshot_)
            return "it was of snapshot " + notes.at("snapshot").text();
        if (options_.empty()) return "functions compute values, and may be other ones than before";
        if (notes.at("options").text() != options_) return "it had other options";
        for (const json_value& type : notes.at("rows").elements())
            rows_.insert(type.text());
    } catch (const json_error& problem) {
        return made_.notes().string() + ": " + problem.what();
    }
    const catalogue kept = catalogue_of(all.newest()->catalogue, made_.path());
    for (const catalogue::entry& one : kept.entries())
        kept_types_.insert(one.schema.name);
    return {};
}

void unfinished_load::begin_anew(const std::string& why) {
    if (!why.empty())
        spdlog::warn("{}: what an earlier call left is removed, and loading begins anew: {}",
                     made_.path().parent_path().string(), why);
    kept_types_.clear();
    rows_.clear();
    made_.begin_anew();
    replace_file(made_.notes(), notes());
}

void unfinished_load::keep() noexcept {
    made_.keep(!options_.empty());
}

void unfinished_load::add_rows(const std::string& type) {
    rows_.insert(type);
    replace_file(made_.notes(), notes());
}

std::string unfinished_load::notes() const {
    return json_object()
        .add("format", load_format)
        .add("snapshot", snapshot_)
        .add("options", options_)
        .add_json("rows", json_array(rows_, [](const auto& type) { return to_json(type); }))
        .text();
}

} // namespace chainbase::snapshot_file

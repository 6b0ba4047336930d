#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/compare/diff.hpp>
#include <tools/inspect/compare/digest.hpp>
#include <tools/inspect/dump/dump.hpp>
#include <tools/inspect/dump/load.hpp>
#include <tools/inspect/maintenance/compact.hpp>
#include <tools/inspect/maintenance/repair.hpp>
#include <tools/inspect/maintenance/resize.hpp>
#include <tools/inspect/maintenance/warm.hpp>
#include <tools/inspect/memory/map.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/memory/tree.hpp>
#include <tools/inspect/root/root.hpp>
#include <tools/inspect/rows/get.hpp>
#include <tools/inspect/rows/range.hpp>
#include <tools/inspect/rows/sample.hpp>
#include <tools/inspect/serve/serve.hpp>
#include <tools/inspect/state/check.hpp>
#include <tools/inspect/state/info.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state/undo.hpp>
#include <tools/inspect/top/top.hpp>
#include <tools/inspect/verbs.hpp>

namespace chainbase::inspect {

namespace {

struct verb {
    std::string_view name;
    void (*add)(CLI::App& program, exit_code& result);
};

constexpr verb verbs[] = {
    {"info", add_info},       {"stat", add_stat},     {"top", add_top},
    {"map", add_map},         {"tree", add_tree},     {"schema", add_schema},
    {"get", add_get},         {"range", add_range},   {"count", add_count},
    {"sample", add_sample},   {"dump", add_dump},     {"load", add_load},
    {"diff", add_diff},       {"digest", add_digest}, {"root", add_root},
    {"archive", add_archive}, {"check", add_check},   {"repair", add_repair},
    {"undo", add_undo},       {"locks", add_locks},   {"serve", add_serve},
    {"compact", add_compact}, {"resize", add_resize}, {"warm", add_warm},
};

} // namespace

void add_all_verbs(CLI::App& program, exit_code& result) {
    for (const verb& each : verbs)
        each.add(program, result);
}

void add_verb(CLI::App& program, exit_code& result, std::string_view name) {
    for (const verb& each : verbs)
        if (each.name == name) return each.add(program, result);
    add_all_verbs(program, result);
}

} // namespace chainbase::inspect

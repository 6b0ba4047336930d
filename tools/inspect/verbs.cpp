#include <tools/inspect/archive.hpp>
#include <tools/inspect/check.hpp>
#include <tools/inspect/diff.hpp>
#include <tools/inspect/digest.hpp>
#include <tools/inspect/dump.hpp>
#include <tools/inspect/get.hpp>
#include <tools/inspect/info.hpp>
#include <tools/inspect/load.hpp>
#include <tools/inspect/locks.hpp>
#include <tools/inspect/maintenance/compact.hpp>
#include <tools/inspect/maintenance/repair.hpp>
#include <tools/inspect/maintenance/resize.hpp>
#include <tools/inspect/map.hpp>
#include <tools/inspect/range.hpp>
#include <tools/inspect/sample.hpp>
#include <tools/inspect/schema.hpp>
#include <tools/inspect/serve/serve.hpp>
#include <tools/inspect/stat.hpp>
#include <tools/inspect/top/top.hpp>
#include <tools/inspect/tree.hpp>
#include <tools/inspect/undo.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/inspect/warm.hpp>

namespace chainbase::inspect {

namespace {

struct verb {
    std::string_view name;
    void (*add)(CLI::App& program, exit_code& result);
};

constexpr verb verbs[] = {
    {"info", add_info},     {"stat", add_stat}, {"map", add_map},     {"tree", add_tree},
    {"schema", add_schema}, {"get", add_get},   {"range", add_range}, {"count", add_count},
    {"sample", add_sample}, {"dump", add_dump}, {"diff", add_diff},   {"archive", add_archive},
    {"check", add_check},   {"undo", add_undo}, {"locks", add_locks}, {"serve", add_serve},
};

} // namespace

void add_all_verbs(CLI::App& program, exit_code& result) {
    add_info(program, result);
    add_stat(program, result);
    add_top(program, result);
    add_map(program, result);
    add_tree(program, result);
    add_schema(program, result);
    add_get(program, result);
    add_range(program, result);
    add_count(program, result);
    add_sample(program, result);
    add_dump(program, result);
    add_load(program, result);
    add_diff(program, result);
    add_digest(program, result);
    add_archive(program, result);
    add_check(program, result);
    add_repair(program, result);
    add_undo(program, result);
    add_locks(program, result);
    add_serve(program, result);
    add_compact(program, result);
    add_resize(program, result);
    add_warm(program, result);
    for (const verb& each : verbs)
        each.add(program, result);
}

void add_verb(CLI::App& program, exit_code& result, std::string_view name) {
    for (const verb& each : verbs)
        if (each.name == name) return each.add(program, result);
    add_all_verbs(program, result);
}

} // namespace chainbase::inspect

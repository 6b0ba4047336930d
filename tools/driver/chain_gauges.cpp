#include <tools/driver/chain_gauges.hpp>

#include <utility>

namespace chainbase::driver {

namespace {

const trace::gauge head("chain.head.block");
const trace::gauge irreversible("chain.irreversible.block");
const trace::gauge operations("chain.operations");
const trace::gauge archived("chain.archived.objects");
const trace::gauge segment_bytes("segment.bytes");
const trace::gauge undo_log_bytes("segment.undo_log.bytes");
const trace::gauge checkpoints_made("checkpoint.made");
const trace::gauge checkpoints_failed("checkpoint.failed");
const trace::gauge redo_blocks("redo.blocks");
const trace::gauge redo_failed("redo.failed");
const trace::gauge redo_waiting("redo.waiting_bytes");
const trace::gauge redo_durable("redo.durable_revision");
const trace::gauge checkpoint_seconds("checkpoint.seconds");
const trace::gauge checkpoint_pause("checkpoint.pause_seconds");
const trace::gauge checkpoint_bytes("checkpoint.bytes");

} // namespace

void chain_gauges::update(const chain_state& state) {
    if (!trace::enabled()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(1);
    show(state);
}

void chain_gauges::show(const chain_state& state) {
    if (!trace::enabled()) return;
    head.set(static_cast<double>(state.head()));
    irreversible.set(static_cast<double>(state.irreversible()));
    operations.set(static_cast<double>(state.operations()));
    std::int64_t left = 0;
    for (const auto& [type, objects] : state.model().archived())
        left += objects;
    archived.set(static_cast<double>(left));
    const checkpoint::history checkpoints = state.checkpoints();
    checkpoints_made.set(static_cast<double>(checkpoints.made));
    checkpoints_failed.set(static_cast<double>(checkpoints.failed));
    const checkpoint::outcome last = checkpoints.last.value_or(checkpoint::outcome());
    checkpoint_seconds.set(last.seconds);
    checkpoint_pause.set(last.pause_seconds);
    checkpoint_bytes.set(static_cast<double>(last.bytes));
    const checkpoint::redo_history redo = checkpoints.redo.value_or(checkpoint::redo_history());
    redo_blocks.set(static_cast<double>(redo.blocks));
    redo_failed.set(static_cast<double>(redo.failed));
    redo_waiting.set(static_cast<double>(redo.waiting_bytes));
    redo_durable.set(static_cast<double>(redo.durable));
    archive_.show(state.rows());
    const segment_statistics memory = state.memory();
    segment_bytes.set(static_cast<double>(memory.total));
    undo_log_bytes.set(static_cast<double>(memory.log.total));
    for (const type_statistics& type : memory.types) {
        set("type.bytes", type.name, static_cast<double>(type.total().total));
        set("type.objects", type.name, static_cast<double>(type.objects));
    }
}

void chain_gauges::set(const std::string& name, const std::string& type, double value) {
    const auto known = of_types_.try_emplace({name, type}, name, trace::label("type", type)).first;
    known->second.set(value);
}

} // namespace chainbase::driver

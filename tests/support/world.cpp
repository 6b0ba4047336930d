#include <tests/support/mismatch.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/world.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace chainbase::test {

world::world(std::filesystem::path state, const walk_options& options)
    : state_(std::move(state)), options_(options), types_(all_sample_types()) {
    open();
    read_models();
    const auto sessions = db_->revision() - db_->committed_revision();
    expect(sessions == 0 || !options_.verify, "the models of older sessions are not known");
    sessions_.resize(static_cast<std::size_t>(sessions));
}

void world::read_models() {
    for (const auto& type : types_)
        type->read(*db_);
}

world::~world() = default;

void world::open() {
    db_ = std::make_unique<database>(state_, options_.how);
    for (const auto& type : types_)
        type->add_to(*db_);
}

std::size_t world::peak() const {
    std::size_t least = SIZE_MAX;
    for (const auto& type : types_)
        least = std::min(least, type->peak());
    return least;
}

void world::fill(random_source& random) {
    for (const auto& type : types_)
        type->fill(*db_, random, options_.changes);
}

void world::step(random_source& random) {
    if (random.chance(880))
        change(random);
    else
        steer_sessions(random);
    if (++steps_ % options_.deep_every == 0) {
        check(random);
        check_changes(random);
    }
}

change_result world::change_unchecked(random_source& random) {
    modelled_type& type = *types_[random.below(static_cast<std::uint32_t>(types_.size()))];
    const change_result result = type.change(*db_, random, options_.changes);
    if (result == change_result::refused) ++refusals_;
    return result;
}

void world::change(random_source& random) {
    if (!random.chance(options_.refusals_watched)) {
        change_unchecked(random);
        return;
    }
    const snapshot before = take_snapshot();
    if (change_unchecked(random) == change_result::refused) compare_with(before);
}

void world::steer_sessions(random_source& random) {
    const bool open = !sessions_.empty() && sessions_.back().guard;
    switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        if (sessions_.size() < options_.max_depth) start();
        break;
    case 4:
    case 5:
        if (!sessions_.empty()) undo();
        break;
    case 6:
        if (!sessions_.empty()) squash();
        break;
    case 7:
        if (open) push();
        break;
    case 8:
        if (!sessions_.empty() && !sessions_.front().guard) {
            std::size_t pushed = 0;
            while (pushed < sessions_.size() && !sessions_[pushed].guard)
                ++pushed;
            commit(random.below(static_cast<std::uint32_t>(pushed) + 1));
        }
        break;
    default:
        if (random.chance(100)) undo_all();
        if (random.chance(20)) reopen();
        if (random.chance(300) && sessions_.empty()) compact();
    }
}

void world::start() {
    tell("start");
    session guard = db_->start_session();
    sessions_.push_back({std::move(guard), std::nullopt});
    if (!options_.verify) return;
    sessions_.back().begin = take_snapshot();
    for (const auto& type : types_)
        type->start();
}

void world::undo() {
    tell("undo");
    if (sessions_.back().guard)
        sessions_.back().guard->undo();
    else
        db_->undo();
    ++undone_;
    if (!options_.verify) {
        sessions_.pop_back();
        read_models();
        return;
    }
    for (const auto& type : types_)
        type->undo();
    compare_with(sessions_.back().begin);
    sessions_.pop_back();
    if (undone_ % options_.undos_per_check != 0) return;
    random_source probes(undone_);
    check(probes);
}

void world::squash() {
    tell("squash");
    if (sessions_.back().guard)
        sessions_.back().guard->squash();
    else
        db_->squash();
    sessions_.pop_back();
    if (!options_.verify) return;
    for (const auto& type : types_)
        type->squash();
}

void world::push() {
    tell("push");
    sessions_.back().guard->push();
    sessions_.back().guard.reset();
}

void world::undo_all() {
    if (sessions_.empty()) return;
    tell("undo all");
    db_->undo_all();
    const std::optional<snapshot> begin = std::move(sessions_.front().begin);
    for (; !sessions_.empty(); sessions_.pop_back())
        for (const auto& type : types_)
            type->undo();
    compare_with(begin);
}

void world::commit(std::size_t oldest) {
    if (oldest == 0) return;
    tell("commit " + std::to_string(oldest));
    const revision_number up_to = db_->committed_revision() + static_cast<revision_number>(oldest);
    db_->commit(up_to);
    expect(db_->committed_revision() == up_to, "commit: committed revision");
    for (std::size_t i = 0; i < oldest; ++i) {
        sessions_.erase(sessions_.begin());
        if (!options_.verify) continue;
        for (const auto& type : types_)
            type->forget_oldest();
    }
}

void world::reopen() {
    tell("reopen");
    std::size_t keep = 0;
    while (keep < sessions_.size() && !sessions_[keep].guard)
        ++keep;
    while (sessions_.size() > keep)
        undo();
    const snapshot before = take_snapshot();
    const revision_number revision = db_->revision();
    db_.reset();
    open();
    compare_with(before);
    expect(db_->revision() == revision, "reopen: revision");
    random_source probes(steps_);
    check(probes);
}

void world::compact() {
    tell("compact");
    db_->compact();
    random_source probes(steps_);
    check(probes);
}

void world::check(random_source& random) const {
    for (const auto& type : types_)
        type->check(*db_, random);
    const auto committed = db_->committed_revision();
    expect(db_->revision() == committed + static_cast<revision_number>(sessions_.size()),
           "revisions");
}

void world::check_changes(random_source& random) const {
    if (sessions_.empty()) return;
    const std::size_t level = random.below(static_cast<std::uint32_t>(sessions_.size()));
    for (const auto& type : types_)
        type->check_changes(*db_, db_->revision() - static_cast<revision_number>(level), level);
}

void world::compare_with(const std::optional<snapshot>& begin) const {
    if (!begin) return;
    const snapshot now = take_snapshot();
    if (!(now == *begin)) throw mismatch("not bit for bit: " + now.difference(*begin));
}

std::uint64_t digest_of(const database& db) {
    digest d;
    for (const auto& type : all_sample_types()) {
        type->read(db);
        type->add_digest(d);
    }
    d.add(db.revision());
    return d.value();
}

void check_keys_of(const database& db) {
    random_source probes(1);
    for (const auto& type : all_sample_types()) {
        type->read(db);
        type->check(db, probes);
    }
}

} // namespace chainbase::test

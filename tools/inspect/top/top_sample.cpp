#include <tools/inspect/top/top_sample.hpp>

namespace chainbase::inspect {

void top_sampler::compare(top_sample& to) const {
    to.rates = live_rates::between(*last_, to.now);
    to.seconds = std::chrono::duration<double>(to.now.taken - last_->taken).count();
    if (is_one_count(*last_, to.now)) to.archive_before = last_->archive->figures;
}

top_sample top_sampler::take() {
    top_sample sample;
    sample.now = sampler_.take();
    const state_report& state = sample.now.state;
    if (last_ && !continues(names_of_types(last_->state), names_of_types(state))) {
        last_.reset();
        meter_ = growth_meter();
    }
    if (last_) compare(sample);
    sample.growth = meter_.add(state, sample.now.taken);
    sample.checkpoints = checkpoints_now(sampler_.state());
    last_ = sample.now;
    return sample;
}

} // namespace chainbase::inspect

#include <tools/driver/metrics_source.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace chainbase::driver {

namespace {

std::mutex mutex;
std::vector<const metrics_source*> sources;

} // namespace

metrics_source::metrics_source(std::function<std::string()> text) : text_(std::move(text)) {
    const std::lock_guard lock(mutex);
    sources.push_back(this);
}

metrics_source::~metrics_source() {
    const std::lock_guard lock(mutex);
    std::erase(sources, this);
}

std::string metrics_source::page() {
    const std::lock_guard lock(mutex);
    return sources.empty() ? std::string() : sources.back()->text_();
}

} // namespace chainbase::driver

#include <tools/message_limit.hpp>

#include <spdlog/spdlog.h>

#include <utility>

namespace chainbase {

message_limit::~message_limit() {
    if (left_out_ != 0) spdlog::warn("{}: {} more messages were left out", what_, left_out_);
}

void message_limit::say(level how, const std::string& text) {
    const std::lock_guard held(mutex_);
    const auto now = clock::now();
    if (now >= end_) {
        end_ = now + period_;
        said_ = 0;
    }
    if (said_ >= most_ || (said_ > 0 && text == last_))
        ++left_out_;
    else
        log(how, text);
}

void message_limit::say_always(level how, const std::string& text) {
    const std::lock_guard held(mutex_);
    log(how, text);
}

void message_limit::log(level how, const std::string& text) {
    const std::uint64_t left_out = std::exchange(left_out_, 0);
    const std::string all =
        left_out == 0 ? text : text + " (" + std::to_string(left_out) + " more were left out)";
    switch (how) {
    case level::info:
        spdlog::info(all);
        break;
    case level::warning:
        spdlog::warn(all);
        break;
    case level::error:
        spdlog::error(all);
        break;
    }
    ++said_;
    last_ = text;
}

} // namespace chainbase

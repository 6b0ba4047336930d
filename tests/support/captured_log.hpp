#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>
#include <string>
#include <string_view>

namespace chainbase::test {

/// Captures the messages of spdlog's default logger during its lifetime.
class captured_log {
public:
    captured_log() : before_(spdlog::default_logger()) {
        spdlog::set_default_logger(std::make_shared<spdlog::logger>(
            "captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
    }
    captured_log(const captured_log&) = delete;
    captured_log& operator=(const captured_log&) = delete;
    ~captured_log() { spdlog::set_default_logger(before_); }

    [[nodiscard]] std::string text() const { return text_.str(); }
    [[nodiscard]] bool says(std::string_view part) const {
        return text().find(part) != std::string::npos;
    }

private:
    std::ostringstream text_;
    std::shared_ptr<spdlog::logger> before_;
};

} // namespace chainbase::test

#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace chainbase::test {

/// What spdlog's default logger says while the object lives.
class heard {
public:
    heard() : before_(spdlog::default_logger()) {
        const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
        spdlog::set_default_logger(std::make_shared<spdlog::logger>("heard", sink));
    }
    heard(const heard&) = delete;
    heard& operator=(const heard&) = delete;
    ~heard() { spdlog::set_default_logger(before_); }
    [[nodiscard]] std::string text() const { return text_.str(); }

private:
    std::ostringstream text_;
    std::shared_ptr<spdlog::logger> before_;
};

} // namespace chainbase::test

#pragma once

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace chainbase::test {

/// Prometheus' text format 0.0.4, taken apart. Throws for what the format does not allow.
struct exposition {
    std::map<std::string, std::string> types; ///< by metric
    std::map<std::string, double> values;     ///< by name and labels as they stand
    std::set<std::string> names;              ///< of values: with _bucket, _sum, _count

    explicit exposition(const std::string& text) {
        if (text.empty() || text.back() != '\n') fail("no newline at the end");
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with("# HELP "))
                helped_ = word(line, 7);
            else if (line.starts_with("# TYPE "))
                add_type(line);
            else
                add_value(line);
        }
    }

private:
    static std::string word(const std::string& line, std::size_t from) {
        return line.substr(from, line.find(' ', from) - from);
    }
    [[noreturn]] static void fail(const std::string& what) { throw std::runtime_error(what); }

    void add_type(const std::string& line) {
        current_ = word(line, 7);
        if (helped_ != current_) fail("no help before " + line);
        if (!types.emplace(current_, line.substr(line.rfind(' ') + 1)).second)
            fail("a second type: " + line);
    }
    void add_value(const std::string& line) {
        static const std::regex shape(
            R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_]\w*="([^"\\\n]|\\["\\n])*",?)*\})? (\S+))re");
        std::smatch parts;
        if (!std::regex_match(line, parts, shape)) fail("no value: " + line);
        std::string metric = parts[1];
        names.insert(metric);
        if (types.at(current_) == "histogram")
            for (const char* suffix : {"_bucket", "_sum", "_count"})
                if (metric == current_ + suffix) metric = current_;
        if (metric != current_) fail("stands under another type: " + line);
        if (types[current_] == "counter" && !metric.ends_with("_total")) fail("no total: " + line);
        if (!values.emplace(parts[1].str() + parts[2].str(), std::stod(parts[5])).second)
            fail("twice: " + line);
    }

    std::string helped_;
    std::string current_;
};

} // namespace chainbase::test

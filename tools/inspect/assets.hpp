#pragma once

#include <span>
#include <string_view>

/// Files embedded in the program; CMakeLists.txt generates the definitions.
namespace chainbase::inspect {

extern const std::string_view treemap_page;   ///< treemap.html
extern const std::string_view web_treemap_js; ///< shared by that page and the web page

/// A file of the web page of `serve`.
struct web_asset {
    std::string_view path; ///< "/app.js"
    std::string_view file; ///< its file name: "app.js"
    const std::string_view& content;
};
extern const std::span<const web_asset> web_assets;

} // namespace chainbase::inspect

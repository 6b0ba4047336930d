#pragma once

#include <string_view>

/// Files that the program carries; chainbase_embed (embed.cmake) makes the definitions.
namespace chainbase::inspect {

extern const std::string_view treemap_page; ///< treemap.html

/// @name The web page of `serve`
/// @{
extern const std::string_view web_app_js;
extern const std::string_view web_archive_view_js;
extern const std::string_view web_charts_js;
extern const std::string_view web_connection_js;
extern const std::string_view web_dom_js;
extern const std::string_view web_figures_js;
extern const std::string_view web_icon_svg;
extern const std::string_view web_index_html;
extern const std::string_view web_locks_view_js;
extern const std::string_view web_memory_view_js;
extern const std::string_view web_overview_js;
extern const std::string_view web_palette_js;
extern const std::string_view web_rows_view_js;
extern const std::string_view web_style_css;
extern const std::string_view web_tabs_js;
extern const std::string_view web_treemap_js;
extern const std::string_view web_types_view_js;
extern const std::string_view web_uplot_css;
extern const std::string_view web_uplot_js;
/// @}

} // namespace chainbase::inspect

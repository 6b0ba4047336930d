#include <tools/inspect/assets.hpp>
#include <tools/inspect/serve/web_assets.hpp>

#include <array>
#include <string>

namespace chainbase::inspect {

namespace {

struct asset {
    std::string_view path;
    const char* type;
    const std::string_view& content;
};

constexpr const char* script = "text/javascript; charset=utf-8";
constexpr const char* style = "text/css; charset=utf-8";

const std::array assets{
    asset{"/", "text/html; charset=utf-8", web_index_html},
    asset{"/app.js", script, web_app_js},
    asset{"/archive_view.js", script, web_archive_view_js},
    asset{"/charts.js", script, web_charts_js},
    asset{"/connection.js", script, web_connection_js},
    asset{"/dom.js", script, web_dom_js},
    asset{"/figures.js", script, web_figures_js},
    asset{"/icon.svg", "image/svg+xml", web_icon_svg},
    asset{"/locks_view.js", script, web_locks_view_js},
    asset{"/memory_view.js", script, web_memory_view_js},
    asset{"/overview.js", script, web_overview_js},
    asset{"/palette.js", script, web_palette_js},
    asset{"/rows_view.js", script, web_rows_view_js},
    asset{"/style.css", style, web_style_css},
    asset{"/tabs.js", script, web_tabs_js},
    asset{"/treemap.js", script, web_treemap_js},
    asset{"/types_view.js", script, web_types_view_js},
    asset{"/uplot.css", style, web_uplot_css},
    asset{"/uplot.js", script, web_uplot_js},
};

} // namespace

std::optional<http_answer> web_asset(std::string_view path) {
    for (const asset& one : assets)
        if (one.path == path) return http_answer{200, one.type, std::string(one.content), {}};
    return std::nullopt;
}

} // namespace chainbase::inspect

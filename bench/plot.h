#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace dikkat::bench {

struct Point {
  double x = 0, y = 0;
  bool hollow = false;
};

/// Points joined by a line. The caller chooses color and marker, so that related curves can look alike.
struct Curve {
  std::string name;
  std::string color;   // of SVG
  int marker = 0;      // 0 to 3: circle, square, triangle, diamond; 4: a star
  std::string dashes;  // SVG's stroke-dasharray; empty for a whole line
  std::vector<Point> points;
};

struct Plot {
  std::string title, x_label, y_label, note;
  std::vector<Curve> curves;
};

namespace detail {

/// A marker around (x, y), filled, or white inside if hollow.
inline std::string marker(const Curve& c, double x, double y, bool hollow) {
  const std::string paint = fmt::format(R"(fill="{}" stroke="{}" stroke-width="1.6")", hollow ? "#ffffff" : c.color, c.color);
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string points;
    for (const auto& [dx, dy] : corners) {
      points += fmt::format("{:.1f},{:.1f} ", x + dx, y + dy);
    }
    return fmt::format("<polygon points=\"{}\" {}/>\n", points, paint);
  };
  switch (c.marker) {
    case 0: return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.2\" {}/>\n", x, y, paint);
    case 1: return polygon({{-4, -4}, {4, -4}, {4, 4}, {-4, 4}});
    case 2: return polygon({{0, -5}, {5, 4}, {-5, 4}});
    case 3: return polygon({{0, -5.6}, {5.6, 0}, {0, 5.6}, {-5.6, 0}});
    default:
      return polygon(
          {{0, -8}, {1.9, -2.6}, {7.6, -2.5}, {3.1, 1}, {4.7, 6.5}, {0, 3.2}, {-4.7, 6.5}, {-3.1, 1}, {-7.6, -2.5}, {-1.9, -2.6}});
  }
}

}  // namespace detail

/// An SVG plot with logarithmic axes: x ticks at the points, y ticks at powers of ten, a legend at the right.
/// There must be at least one point, and all coordinates must be above zero.
inline std::string log_log_svg(const Plot& plot) {
  constexpr double kLeft = 78, kRight = 700, kTop = 52, kBottom = 520, kWidth = 980, kHeight = 592;
  // The axes cover all points.
  std::vector<double> xs, ys;
  for (const Curve& curve : plot.curves) {
    for (const Point& p : curve.points) {
      xs.push_back(p.x);
      ys.push_back(p.y);
    }
  }
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  const double x_low = std::log10(xs.front()) - 0.1, x_high = std::log10(xs.back()) + 0.1;
  const double y_low = std::floor(std::log10(*std::min_element(ys.begin(), ys.end())));
  const double y_high = std::max(y_low + 1, std::ceil(std::log10(*std::max_element(ys.begin(), ys.end()))));
  const auto x_of = [&](double x) { return kLeft + (std::log10(x) - x_low) / (x_high - x_low) * (kRight - kLeft); };
  const auto y_of = [&](double y) { return kBottom - (std::log10(y) - y_low) / (y_high - y_low) * (kBottom - kTop); };

  // Draw the title, and the lines and labels of the axes.
  std::string svg;
  const auto text = [&](double x, double y, const char* anchor, int size, const std::string& what, const char* more = "") {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\"{}>{}</text>\n", x, y, anchor, size, more, what);
  };
  const auto line = [&](double x0, double y0, double x1, double y1, const std::string& style) {
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x0, y0, x1, y1, style);
  };
  svg += fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" )", kWidth, kHeight);
  svg += "font-family=\"DejaVu Sans, Verdana, sans-serif\" fill=\"#222222\">\n";
  svg += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", kWidth, kHeight);
  text(kLeft, 30, "start", 17, plot.title);
  for (long decade = std::lround(y_low); decade <= std::lround(y_high); ++decade) {
    const double value = std::pow(10, static_cast<double>(decade));
    line(kLeft, y_of(value), kRight, y_of(value), "stroke=\"#d8d8d8\"");
    text(kLeft - 8, y_of(value) + 4, "end", 13, fmt::format("{:g}", value));
  }
  double labeled = 0;  // position of the last label
  for (const double x : xs) {
    line(x_of(x), kTop, x_of(x), kBottom, "stroke=\"#ececec\"");
    line(x_of(x), kBottom, x_of(x), kBottom + 5, "stroke=\"#222222\"");
    if (x_of(x) - labeled > 48) {
      text(x_of(x), kBottom + 20, "middle", 13, fmt::format("{:.0f}", x));
      labeled = x_of(x);
    }
  }
  svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#222222\"/>\n", kLeft, kTop, kRight - kLeft,
                     kBottom - kTop);
  text((kLeft + kRight) / 2, kBottom + 42, "middle", 14, plot.x_label);
  text(20, (kTop + kBottom) / 2, "middle", 14, plot.y_label,
       fmt::format(" transform=\"rotate(-90 20 {:.1f})\"", (kTop + kBottom) / 2).c_str());
  text(kLeft, kHeight - 10, "start", 12, plot.note);

  // Draw each curve, and its line in the legend.
  double legend = kTop + 8;
  for (const Curve& curve : plot.curves) {
    const std::string style = fmt::format("stroke=\"{}\" stroke-width=\"1.8\" fill=\"none\" stroke-dasharray=\"{}\"", curve.color,
                                          curve.dashes.empty() ? "none" : curve.dashes);
    std::string path;
    for (const Point& p : curve.points) {
      path += fmt::format("{:.1f},{:.1f} ", x_of(p.x), y_of(p.y));
    }
    svg += fmt::format("<polyline points=\"{}\" {}/>\n", path, style);
    for (const Point& p : curve.points) {
      svg += detail::marker(curve, x_of(p.x), y_of(p.y), p.hollow);
    }
    if (curve.points.size() > 1) {
      line(kRight + 14, legend, kRight + 54, legend, style);
    }
    svg += detail::marker(curve, kRight + 34, legend, false);
    text(kRight + 62, legend + 4, "start", 13, curve.name);
    legend += 24;
  }
  return svg + "</svg>\n";
}

}  // namespace dikkat::bench

// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/pages/training_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace tartan::cli {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 260;
constexpr double kMargin = 56;
constexpr const char* kColours[] = {"#1f6feb", "#d1242f", "#1a7f37", "#8250df"};

using Curve = std::vector<std::pair<double, double>>;  // step, value

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

struct Range {
  double least = INFINITY;
  double most = -INFINITY;

  void Add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  double Share(double value) const { return most > least ? (value - least) / (most - least) : 0.5; }
};

// One chart of curves with a common scale.
std::string Chart(const std::string& title, const std::map<std::string, Curve>& curves) {
  Range steps;
  Range values;
  for (const auto& [name, curve] : curves) {
    for (const auto& [step, value] : curve) {
      steps.Add(step);
      values.Add(value);
    }
  }
  if (!(values.most >= values.least)) return "";
  const auto x = [&](double step) { return kMargin + steps.Share(step) * (kWidth - kMargin - 8); };
  const auto y = [&](double value) { return kHeight - 24 - values.Share(value) * (kHeight - 40); };
  std::string svg =
      absl::StrFormat("<h2>%s</h2><svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">",
                      Escape(title), kWidth, kHeight, Escape(title));
  for (int line = 0; line <= 4; ++line) {
    const double value = values.least + (values.most - values.least) * line / 4;
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>"
                          "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>",
                          kMargin, kWidth - 8, y(value), y(value), kMargin - 6, y(value) + 4,
                          value);
  }
  absl::StrAppendFormat(&svg,
                        "<text x=\"%g\" y=\"%g\">step %.0f</text>"
                        "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.0f</text>",
                        kMargin, kHeight - 6, steps.least, kWidth - 8, kHeight - 6, steps.most);
  size_t number = 0;
  std::string legend;
  for (const auto& [name, curve] : curves) {
    const char* colour = kColours[number++ % std::size(kColours)];
    std::string points;
    for (const auto& [step, value] : curve)
      absl::StrAppendFormat(&points, "%.1f,%.1f ", x(step), y(value));
    absl::StrAppendFormat(&svg, "<polyline fill=\"none\" stroke=\"%s\" points=\"%s\"/>", colour,
                          points);
    // A single point is drawn as a dot.
    if (curve.size() == 1) {
      absl::StrAppendFormat(&svg, "<circle r=\"3\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\"/>", colour,
                            x(curve[0].first), y(curve[0].second));
    }
    absl::StrAppendFormat(&legend, "<span style=\"color:%s\">%s %.4g</span> ", colour, Escape(name),
                          curve.back().second);
  }
  return absl::StrCat(svg, "</svg><p>", legend, "</p>");
}

}  // namespace

std::string TrainingPage(const std::vector<train::LogLine>& lines,
                         const proto::TrainReport& report) {
  std::map<std::string, Curve> losses;
  std::map<std::string, std::map<std::string, Curve>> others;  // curves by name without "val_"
  Curve rates;
  for (const train::LogLine& line : lines) {
    const auto step = static_cast<double>(line.step);
    if (std::isfinite(line.loss)) losses["loss"].emplace_back(step, line.loss);
    rates.emplace_back(step, line.rate);
    for (const auto& [name, value] : line.metrics) {
      if (!std::isfinite(value)) continue;
      const bool is_validation = name.rfind("val_", 0) == 0;
      if (name == "val_loss") {
        losses[name].emplace_back(step, value);
      } else {
        others[is_validation ? name.substr(4) : name][name].emplace_back(step, value);
      }
    }
  }
  std::string body = Chart("Loss", losses);
  for (const auto& [name, curves] : others) absl::StrAppend(&body, Chart(name, curves));
  absl::StrAppend(&body, Chart("Rate", {{"lr", rates}}));
  return absl::StrCat(
      "<!DOCTYPE html><html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>Training</title><style>"
      "body{font:14px system-ui,sans-serif;max-width:820px;margin:2em auto;color:#1f2328}"
      "svg{width:100%}text{font-size:11px;fill:#59636e}.grid{stroke:#d1d9e0}"
      "polyline{stroke-width:1.5}h2{font-size:16px;margin:1.5em 0 .3em}</style></head><body>"
      "<h1>Training</h1><p>",
      report.steps(), " steps, ", absl::StrFormat("%.2f", report.median_step_ms()), " ms each</p>",
      body, "</body></html>\n");
}

}  // namespace tartan::cli

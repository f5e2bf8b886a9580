//! The run as a picture: what was sent and pushed, how long it took, and what memory the nodes held.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::run::Error;
use crate::sample::Sample;
use crate::verdict::Restart;

const SIZE_PIXELS: (u32, u32) = (1_000, 1_100);
const LABEL_PIXELS: u32 = 60;

/// A line: its name, and a value for each sample.
type Line<'a> = (&'a str, Box<dyn Fn(&Sample) -> Option<f64> + 'a>);

/// Draws the samples into a file, with the restart marked.
pub fn draw(samples: &[Sample], restart: Restart, path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let area = SVGBackend::new(path, SIZE_PIXELS).into_drawing_area();
    area.fill(&WHITE)?;
    let panels = area.split_evenly((4, 1));
    let away = [restart.stopped_ms, restart.back_ms].map(|ms| ms as f64 / 1e3);
    let draw = |panel, title, lines| panel_of(panel, title, samples, away, lines);
    draw(
        &panels[0],
        "per second",
        vec![
            ("messages sent", Box::new(|sample| Some(sample.sent as f64))),
            ("pushes to filter subscribers", Box::new(|sample| Some(sample.pushed as f64))),
        ],
    )?;
    draw(
        &panels[1],
        "sender to filter subscriber, ms",
        vec![
            ("p50", Box::new(|sample| Some(sample.latency_ms_p50))),
            ("p99", Box::new(|sample| Some(sample.latency_ms_p99))),
        ],
    )?;
    draw(
        &panels[2],
        "store query of the newest 100 messages, ms",
        vec![("last query", Box::new(|sample| Some(sample.query_ms)))],
    )?;
    draw(
        &panels[3],
        "resident memory, MB",
        vec![
            ("the restarted node", Box::new(|sample| sample.rss_mb[0])),
            ("the node that stayed", Box::new(|sample| sample.rss_mb[1])),
        ],
    )?;
    area.present()?;
    Ok(())
}

fn panel_of(
    panel: &DrawingArea<SVGBackend<'_>, Shift>,
    title: &str,
    samples: &[Sample],
    away: [f64; 2],
    lines: Vec<Line<'_>>,
) -> Result<(), Error> {
    let end = samples.last().map_or(1.0, |sample| sample.second);
    let top = lines.iter().flat_map(|(_, value)| samples.iter().filter_map(value)).fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.1 } else { 1.0 };
    let mut chart = ChartBuilder::on(panel)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        .set_label_area_size(LabelAreaPosition::Left, LABEL_PIXELS)
        .set_label_area_size(LabelAreaPosition::Bottom, LABEL_PIXELS / 2)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart.configure_mesh().x_desc("seconds").y_labels(5).light_line_style(WHITE).draw()?;
    // Behind the lines: the time in which a node was away.
    chart.draw_series([Rectangle::new([(away[0], 0.0), (away[1], top)], BLACK.mix(0.08).filled())])?;
    for (number, (name, value)) in lines.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        // A gap where there is no value.
        for piece in samples.split(|sample| value(sample).is_none()) {
            let points = piece.iter().map(|sample| (sample.second, value(sample).unwrap_or_default()));
            let drawn = chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
            if std::ptr::eq(piece.as_ptr(), samples.as_ptr()) {
                drawn
                    .label(*name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
            }
        }
    }
    let position = SeriesLabelPosition::UpperLeft;
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

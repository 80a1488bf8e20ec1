//! A line with fewer points that looks the same.

/// How far a point may lie off the line drawn without it, in units of the picture: less than a stroke's half.
const TOLERANCE: f64 = 0.35;

/// The points that Ramer (1972), Douglas and Peucker (1973) keep: no point left out lies more than a third of a unit off
/// the line through those kept. First and last are kept.
pub(in crate::chart) fn simplify(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut keep = vec![false; points.len()];
    let mut open = Vec::new();
    if let Some(last) = points.len().checked_sub(1) {
        (keep[0], keep[last]) = (true, true);
        open.push((0, last));
    }
    while let Some((first, last)) = open.pop() {
        let between = (first + 1..last).map(|i| (i, distance(points[i], points[first], points[last])));
        let Some((farthest, off)) = between.max_by(|(_, a), (_, b)| a.total_cmp(b)) else { continue };
        if off > TOLERANCE {
            keep[farthest] = true;
            open.extend([(first, farthest), (farthest, last)]);
        }
    }
    points.iter().zip(keep).filter(|(_, keep)| *keep).map(|(point, _)| *point).collect()
}

/// From a point to a piece of a line.
fn distance(point: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (along, off) = ((to.0 - from.0, to.1 - from.1), (point.0 - from.0, point.1 - from.1));
    let length = along.0 * along.0 + along.1 * along.1;
    let share = if length > 0.0 { ((off.0 * along.0 + off.1 * along.1) / length).clamp(0.0, 1.0) } else { 0.0 };
    (off.0 - share * along.0).hypot(off.1 - share * along.1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn corners_stay_and_straight_lines_lose_their_middle() {
        let line = [(0.0, 0.0), (1.0, 1.1), (2.0, 2.0), (3.0, 9.0), (4.0, 2.0)];
        assert_eq!(simplify(&line), [(0.0, 0.0), (2.0, 2.0), (3.0, 9.0), (4.0, 2.0)]);
        assert_eq!(simplify(&[]), []);
        assert_eq!(simplify(&[(1.0, 2.0)]), [(1.0, 2.0)]);
    }

    proptest! {
        #[test]
        fn no_point_is_far_from_what_is_kept(points in prop::collection::vec((0.0..400.0_f64, 0.0..200.0_f64), 2..60)) {
            let kept = simplify(&points);
            for point in &points {
                let nearest = kept.windows(2).map(|ends| distance(*point, ends[0], ends[1])).fold(f64::MAX, f64::min);
                prop_assert!(nearest <= TOLERANCE, "{:?} is {} off", point, nearest);
            }
        }
    }
}

//! What is left out where a page would become too large.

use super::section::Section;
use super::shell;

/// Bytes of a page: what is still sent by mail and opened at once.
pub const LIMIT: usize = 250_000;

/// Chooses pictures until `room` bytes are used beyond those of a page that has none and names them all as left out: those of the lowest rank first, and of one rank in the order of the
/// scenarios. Returns whether pictures over time become charts of scripts: they do where everything else has its place.
pub(super) fn choose(sections: &mut [Section], room: usize) -> bool {
    let mut order: Vec<(u8, usize, usize)> = Vec::new();
    for (at, section) in sections.iter().enumerate() {
        order.extend(section.pictures.iter().enumerate().map(|(picture, p)| (p.rank, at, picture)));
    }
    order.sort_unstable();
    let mut left = room;
    let courses = order.iter().filter_map(|(_, at, picture)| {
        let picture = &sections[*at].pictures[*picture];
        picture.live.as_ref().map(|live| picture.markup.len() + live.len())
    });
    let others: usize = order
        .iter()
        .map(|(_, at, picture)| &sections[*at].pictures[*picture])
        .filter(|picture| picture.live.is_none())
        .map(|picture| picture.markup.len())
        .sum();
    let first = courses.min();
    let live = first.is_some_and(|first| others + shell::live_size() + first <= left);
    if live {
        left -= shell::live_size();
    }
    for (_, at, picture) in order {
        let picture = &mut sections[at].pictures[picture];
        let size = picture.markup.len() + picture.live.as_ref().filter(|_| live).map_or(0, String::len);
        picture.chosen = size <= left;
        if picture.chosen {
            left -= size;
        }
        if !live {
            picture.live = None;
        }
    }
    live
}

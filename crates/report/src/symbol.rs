//! Short names of functions from symbol tables, for places with little room.

use litelab_record::stacks;

/// Short name of a frame of a call stack, cut after `most` characters. Frames of the kernel are marked in words.
pub(crate) fn of_frame(frame: &str, most: usize) -> String {
    let (plain, kernel) = stacks::plain(frame);
    let short = short(plain);
    let mut name: String = short.chars().take(most).collect();
    if name.len() < short.len() {
        name.push('…');
    }
    if kernel { format!("{name} (kernel)") } else { name }
}

/// The name without type arguments and without all but the last two parts of its path: `Connection::open` of
/// `<rusqlite::Connection as app::Open<u8>>::open`. Names of the kernel, of C and of Go stay unchanged.
fn short(name: &str) -> String {
    let mut depth = 0_usize;
    let mut before = ' ';
    let mut plain = String::new();
    let mut inside = String::new();
    for c in name.chars() {
        // The `>` of an arrow is not a bracket, nor are the operators of Go and C++, which have no `<` before them.
        let arrow = c == '>' && matches!(before, '-' | '=');
        match c {
            '<' => depth += 1,
            '>' if depth > 0 && !arrow => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ if depth == 1 && plain.is_empty() => inside.push(c),
            _ => {}
        }
        before = c;
    }
    // `<Type as Trait>::function` is printed as the function of the type.
    let of = inside.split(" as ").next().unwrap_or_default();
    let whole = if plain.starts_with("::") { format!("{of}{plain}") } else { plain };
    let parts: Vec<&str> = whole.split("::").filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] => name.to_owned(),
        [.., one, last] => format!("{one}::{last}"),
        [one] => (*one).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn paths_and_types_are_left_out() {
        for (name, told) in [
            ("sqlite3VdbeExec", "sqlite3VdbeExec"),
            ("__libc_pread@@GLIBC_2.2.5", "__libc_pread@@GLIBC_2.2.5"),
            ("rusqlite::statement::Statement::execute", "Statement::execute"),
            ("<rusqlite::row::Rows as fallible::Iterator>::advance", "Rows::advance"),
            ("<alloc::vec::Vec<u8> as core::clone::Clone>::clone", "Vec::clone"),
            ("core::ops::FnOnce::call_once{{vtable.shim}}", "FnOnce::call_once{{vtable.shim}}"),
            ("app::map<fn(u8) -> u16>::get", "map::get"),
            ("database/sql.(*DB).queryDC", "database/sql.(*DB).queryDC"),
            ("<", "<"),
            ("operator>>", "operator>>"),
            ("", ""),
        ] {
            assert_eq!(short(name), told, "{name}");
        }
    }
}

//! Names of functions, as symbol tables have them, for a place too narrow for them.

/// Without type arguments and without all but the last two parts of its path: `Connection::open` of
/// `<rusqlite::Connection as app::Open<u8>>::open` and the like. The kernel's, C's and Go's are short already.
#[must_use]
pub(crate) fn short(name: &str) -> String {
    let mut depth = 0_usize;
    let mut before = ' ';
    let mut plain = String::new();
    let mut inside = String::new();
    for c in name.chars() {
        // An arrow is no bracket, nor are Go's and C++'s operators, which stand alone.
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
    // `<Type as Trait>::function` is the type's.
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

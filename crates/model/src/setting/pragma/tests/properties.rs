//! Any name and any text: no panic, errors of one line, and accepted values that read back.

use super::super::{all, parse};
use super::Bench;
use super::grid::{HeapLimits, disagreements, settings};
use crate::Scalar;
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_text_makes_it_panic(name in ".*", text in ".*", number: i64, float: f64) {
        let names = all().iter().map(|pragma| pragma.name).chain([name.as_str()]);
        for name in names {
            for input in [Scalar::Text(text.clone()), Scalar::Integer(number), Scalar::Real(float)] {
                if let Err(error) = parse(name, &input) {
                    let line = error.to_string();
                    prop_assert!(!line.contains('\n') && !line.is_empty(), "{line:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_accepted_of_any_text_reads_back(index: prop::sample::Index, text in "[-+ \t\r0-9xXeEa-fk._MBonfuUtT]{0,24}") {
        let _heap = HeapLimits::lock();
        let settings: Vec<_> = settings().collect();
        let pragma = index.get(&settings);
        let found = disagreements(&mut Bench::new(), pragma, &Scalar::Text(text));
        prop_assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn what_is_accepted_is_accepted_again_as_it_is_rendered(index: prop::sample::Index, number: i32) {
        let pragma = index.get(all());
        if let Ok(value) = parse(pragma.name, &Scalar::Integer(i64::from(number))) {
            let again = parse(pragma.name, &Scalar::Text(value.value.clone())).unwrap();
            prop_assert_eq!(value, again);
        }
    }
}

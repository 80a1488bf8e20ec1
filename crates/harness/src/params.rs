//! Draws the values of one operation into reused buffers.

use litelab_protocol::Transaction;
use litelab_protocol::draw::{Drawer, Drawn, Value};

use crate::fault::Fault;

/// A value ready to bind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "SQLite's own words")]
pub enum Bound<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
}

impl Bound<'_> {
    /// The value as text, for a library whose values are texts; NULL is empty.
    #[must_use]
    pub fn to_text(self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Integer(i) => i.to_string(),
            Self::Real(r) => r.to_string(),
            Self::Text(text) => text.into(),
        }
    }
}

/// The values of one operation in the order in which its statements bind them.
#[derive(Debug, Default)]
pub struct Values {
    slots: Vec<Drawn>,
    text: String,
}

/// Draws the values of one transaction for one worker.
pub struct Params {
    drawer: Drawer,
    statements: Vec<Layout>,
}

/// Slots of one statement in an operation.
struct Layout {
    /// Indices of its parameters.
    bind: Vec<usize>,
    /// Rows per operation: `repeat * tuples`.
    rows: u64,
    /// Index of its first slot.
    from: usize,
    /// Number of slots of one execution.
    slots: usize,
}

impl Values {
    /// The value of a slot.
    #[inline(always)]
    #[must_use]
    pub fn bound<'a>(&'a self, slot: &Drawn, yielded: &'a [Value]) -> Bound<'a> {
        match slot {
            Drawn::Null => Bound::Null,
            Drawn::Integer(i) => Bound::Integer(*i),
            Drawn::Real(r) => Bound::Real(*r),
            Drawn::Text { from, to } => Bound::Text(&self.text[*from..*to]),
            Drawn::Yielded(at) => match &yielded[*at] {
                Value::Null => Bound::Null,
                Value::Integer(i) => Bound::Integer(*i),
                Value::Real(r) => Bound::Real(*r),
                Value::Text(s) => Bound::Text(s),
            },
        }
    }
}

impl Params {
    /// `place` gives the place of a yielded name among the worker's yielded values.
    pub fn new(
        seed: u64,
        transaction: &Transaction,
        worker: u32,
        place: impl FnMut(&str) -> usize,
    ) -> Result<Self, Fault> {
        let (name, params) = (&transaction.name, &transaction.params);
        let mut from = 0;
        let mut statements = Vec::new();
        for statement in &transaction.statements {
            let bind: Vec<usize> = statement.bind.iter().map(|&i| i as usize).collect();
            if bind.iter().any(|&i| i >= params.len()) {
                return Err(Fault::Other(format!("transaction `{name}` binds a parameter that it does not have")));
            }
            let (repeat, slots) = (statement.repeat as usize, bind.len() * statement.tuples as usize);
            let rows = u64::from(statement.repeat) * u64::from(statement.tuples);
            statements.push(Layout { bind, rows, from, slots });
            from += repeat * slots;
        }
        Ok(Self { drawer: Drawer::with_yields(seed, name, params, worker, place), statements })
    }

    /// Slots of the `repetition`-th execution of a statement.
    #[inline(always)]
    pub fn slots<'a>(&self, values: &'a Values, statement: usize, repetition: usize) -> &'a [Drawn] {
        let layout = &self.statements[statement];
        let from = layout.from + repetition * layout.slots;
        &values.slots[from..from + layout.slots]
    }

    /// Draws all values of an operation. The wall clock is read once, so that two columns with the same time agree.
    #[inline(always)]
    pub fn draw(&self, operation: u64, into: &mut Values) {
        into.slots.clear();
        into.text.clear();
        let now = self.drawer.now();
        for layout in &self.statements {
            let first = operation.wrapping_mul(layout.rows);
            for row in first..first.wrapping_add(layout.rows) {
                for &index in &layout.bind {
                    into.slots.push(self.drawer.draw_into(index, row, now, &mut into.text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use litelab_protocol::{Begin, Param, Source};

    use crate::testing::{statement, transaction};

    fn insert(params: Vec<Param>, bind: &[u32]) -> Transaction {
        transaction("op", Begin::None, params, vec![statement("INSERT", bind)])
    }

    #[test]
    fn rows_of_an_operation_follow_each_other() {
        let sources = [
            ("s", Source::Sequence { start: 7, step: 3 }),
            ("t", Source::Text { chars: 20 }),
            ("w", Source::Format { template: "{worker}{row}{{row}}-{worker}".into() }),
            ("y", Source::Yielded { name: "id".into() }),
        ];
        let list: Vec<Param> = sources.map(|(name, source)| Param { name: name.into(), source }).into();
        let reference = Drawer::new(11, "op", &list, 42);
        let mut transaction = insert(list, &[0, 1, 2, 3]);
        (transaction.statements[0].repeat, transaction.statements[0].tuples) = (3, 2);
        let params = Params::new(11, &transaction, 42, |name| name.len()).expect("params");
        let mut values = Values::default();
        let yielded = [Value::Null, Value::Null, Value::Null];
        for operation in [0_u64, 5, 1 << 33] {
            params.draw(operation, &mut values);
            for repetition in 0..3 {
                let expected: Vec<Value> = (0..2)
                    .map(|tuple| operation * 6 + repetition * 2 + tuple)
                    .flat_map(|row| (0..4).map(move |p| (p, row)))
                    .map(|(p, row)| reference.draw(p, row))
                    .collect();
                let owned = |slot: &Drawn| match values.bound(slot, &yielded) {
                    Bound::Null => Value::Null,
                    Bound::Integer(i) => Value::Integer(i),
                    Bound::Real(r) => Value::Real(r),
                    Bound::Text(s) => Value::Text(s.into()),
                };
                let slots = params.slots(&values, 0, repetition as usize);
                assert_eq!(slots.iter().map(owned).collect::<Vec<_>>(), expected);
                assert_eq!(slots[3], Drawn::Yielded(2));
            }
        }
    }
}

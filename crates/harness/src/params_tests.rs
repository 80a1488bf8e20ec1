//! The buffers contain the values that the reference draws.

use litelab_protocol::draw::Drawer;
use litelab_protocol::{Begin, Fetch, Param, Statement, Work};
use serde_json::Value as Json;

use super::*;

fn transaction(name: &str, params: Vec<Param>, repeat: u32, tuples: u32) -> Transaction {
    let bind = (0..params.len() as u32).collect();
    let statement = Statement {
        sql: String::new(),
        bind,
        tuples,
        repeat,
        fetch: Fetch::None,
        work: Work::None,
        yields: vec![],
        required: false,
        hold_us: 0,
    };
    let (begin, statements) = (Begin::None, vec![statement]);
    Transaction { name: name.into(), begin, writes: true, hold_us: 0, timed_rows: true, params, statements }
}

fn drawn(params: &Params, values: &Values, repetition: usize) -> Vec<Value> {
    let owned = |slot: &Slot| match values.bound(slot, &[]) {
        Bound::Null => Value::Null,
        Bound::Integer(i) => Value::Integer(i),
        Bound::Real(r) => Value::Real(r),
        Bound::Text(s) => Value::Text(s.into()),
    };
    params.slots(values, 0, repetition).iter().map(owned).collect()
}

#[test]
fn the_vectors_are_drawn() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/vectors/generator.json");
    let file: Json = serde_json::from_str(&std::fs::read_to_string(path).expect("vectors")).expect("JSON");
    let list: Vec<Param> = serde_json::from_value(file["params"].clone()).expect("params");
    let name = file["transaction"].as_str().expect("name");
    let transaction = transaction(name, list, 1, 1);
    let draws = file["draws"].as_array().expect("draws");
    assert!(draws.len() >= 20);
    let mut values = Values::default();
    for draw in draws {
        let number = |key: &str| draw[key].as_u64().expect("number");
        let params = Params::new(number("seed"), &transaction, number("worker") as u32, |_| 0).expect("params");
        params.draw(number("row"), &mut values);
        let json: Vec<Json> = drawn(&params, &values, 0).iter().map(Value::to_json).collect();
        assert_eq!(Json::Array(json), draw["values"], "row {}", draw["row"]);
    }
}

#[test]
fn rows_of_an_operation_follow_each_other() {
    let sizes = [0, 1, 7, 8, 9, 16, 31, 32, 33, 100];
    let mut list: Vec<Param> = (sizes.iter())
        .flat_map(|&n| [(format!("h{n}"), Source::Hex { bytes: n }), (format!("t{n}"), Source::Text { chars: n })])
        .map(|(name, source)| Param { name, source })
        .collect();
    for at in 0..list.len() as u32 {
        list.push(Param { name: format!("s{at}"), source: Source::Sha256Of { param: at } });
    }
    list.push(Param { name: "self".into(), source: Source::Sha256Of { param: list.len() as u32 } });
    let template = "{worker}{row}{{row}}-{worker}".into();
    list.push(Param { name: "f".into(), source: Source::Format { template } });
    let reference = Drawer::new(11, "op", &list, 42);
    let width = list.len();
    let transaction = transaction("op", list, 3, 2);
    let params = Params::new(11, &transaction, 42, |_| 0).expect("params");
    let mut values = Values::default();
    for operation in [0_u64, 5, 1 << 33] {
        params.draw(operation, &mut values);
        for repetition in 0..3 {
            let expected: Vec<Value> = (0..2)
                .map(|tuple| operation * 6 + repetition * 2 + tuple)
                .flat_map(|row| (0..width).map(move |p| (p, row)))
                .map(|(p, row)| reference.draw(p, row))
                .collect();
            assert_eq!(drawn(&params, &values, repetition as usize), expected);
        }
    }
}

#[test]
fn a_bind_beyond_the_list_is_refused() {
    let mut transaction = transaction("t", vec![], 1, 1);
    transaction.statements[0].bind = vec![0];
    assert!(Params::new(1, &transaction, 0, |_| 0).is_err());
}

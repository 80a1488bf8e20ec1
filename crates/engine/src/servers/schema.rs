//! Schemas of a trial on a server.

use litelab_model::{Server, Variant, sql};
use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::{Database, Dialect, Statement, Transaction};
use litelab_servers::{Admin, ServersError};

use super::url::of_each_host;
use crate::verify::Contents;

/// Makes reads of a session wait until its node has applied all transactions committed before on other nodes.
const WAIT: &str = "SET SESSION wsrep_sync_wait = 15";

/// Schemas and the connections that created them. Dropping it drops the schemas.
pub struct Schemas {
    admin: Admin,
    url: String,
    made: Vec<Schema>,
}

/// A schema and a connection used for it alone: a client may cache compiled statements by their text, whatever the
/// schema.
struct Schema {
    admin: Admin,
    name: String,
}

impl Schemas {
    /// Connects to the server, without creating a schema.
    pub(super) fn none(url: &str) -> Result<Self, String> {
        let admin = Admin::connect(url).map_err(|e| e.to_string())?;
        Ok(Self { admin, url: url.to_owned(), made: Vec::new() })
    }

    /// Creates a schema with the variant's tables and no rows. Returns its connection and its name.
    pub(super) fn make_empty(&mut self, name: String, variant: &Variant) -> Result<(&mut Admin, String), String> {
        let mut admin = Admin::connect(&self.url).map_err(|e| e.to_string())?;
        admin.create_schema(&name).map_err(|e| e.to_string())?;
        self.made.push(Schema { admin, name: name.clone() });
        let made = self.made.last_mut().ok_or("no schema was made")?;
        made.admin.script(&name, &variant.schema).map_err(|e| format!("schema: {e}"))?;
        Ok((&mut made.admin, name))
    }

    /// Creates a schema with the variant's rows, and updates the statistics of the query planner.
    pub(super) fn make(&mut self, name: String, variant: &Variant) -> Result<(), String> {
        let (admin, name) = self.make_empty(name, variant)?;
        if let Some(data) = &variant.data {
            if let Some(transaction) = data.transaction.as_ref().filter(|_| data.rows > 0) {
                load(admin, &name, variant, transaction, data.rows).map_err(|e| format!("data: {e}"))?;
            }
            if let Some(then) = &data.then {
                admin.script(&name, then).map_err(|e| format!("data.then: {e}"))?;
            }
        }
        admin.analyze(&name).map_err(|e| e.to_string())?;
        if variant.server == Some(Server::Galera) { self.replicated(&name) } else { Ok(()) }
    }

    /// Waits until all nodes of a cluster have a schema and its rows, and makes its connection wait for commits of
    /// other nodes before a read: a node applies transactions of others with a delay.
    fn replicated(&mut self, name: &str) -> Result<(), String> {
        let failed = |e: ServersError| format!("cluster: {e}");
        for url in of_each_host(&self.url) {
            let mut node = Admin::connect(&url).map_err(failed)?;
            node.script("information_schema", WAIT).map_err(failed)?;
            let there = format!("SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{name}'");
            if node.number("information_schema", &there).map_err(failed)? != 1.0 {
                return Err("cluster: a node has not got what another one committed".into());
            }
        }
        self.made.last_mut().map_or(Ok(()), |made| made.admin.script(name, WAIT).map_err(failed))
    }

    /// The databases for the runner to open, one per schema.
    #[must_use]
    pub fn databases(&self) -> Vec<Database> {
        let database = |schema: &Schema| Database::Server { url: self.url.clone(), schema: schema.name.clone() };
        self.made.iter().map(database).collect()
    }

    /// A connection that uses no schema of a trial.
    pub(super) fn server(&mut self) -> &mut Admin {
        &mut self.admin
    }

    /// The same schemas as seen by each node of the server, in the order of the url. Uses new connections, because the
    /// original ones may have ended with a killed node.
    pub(crate) fn on_each_node(&self) -> Result<Vec<OnNode>, String> {
        let hosts = of_each_host(&self.url);
        let is_cluster = hosts.len() > 1;
        let of_schema = |url: &str, schema: &Schema| {
            let mut admin = Admin::connect(url).map_err(|e| e.to_string())?;
            if is_cluster {
                admin.script(&schema.name, WAIT).map_err(|e| e.to_string())?;
            }
            Ok(Schema { admin, name: schema.name.clone() })
        };
        let of_node = |(index, url): (usize, &String)| {
            let schemas: Result<_, String> = self.made.iter().map(|schema| of_schema(url, schema)).collect();
            schemas.map(OnNode).map_err(|e| format!("node {}: {e}", index + 1))
        };
        hosts.iter().enumerate().map(of_node).collect()
    }
}

impl Drop for Schemas {
    fn drop(&mut self) {
        for Schema { mut admin, name } in std::mem::take(&mut self.made) {
            if admin.drop_schema(&name).is_err() {
                // The connection was lost. If the server itself has ended, its schemas are gone too.
                let _left = Admin::connect(&self.url).and_then(|mut admin| admin.drop_schema(&name));
            }
        }
    }
}

impl Contents for Schemas {
    fn databases(&self) -> usize {
        self.made.len()
    }

    fn number(&mut self, database: usize, sql: &str) -> Result<f64, String> {
        in_schema(&mut self.made, database, |admin, name| admin.number(name, sql))
    }

    fn content(&mut self, database: usize, table: &str) -> Result<String, String> {
        in_schema(&mut self.made, database, |admin, name| admin.content_hash(name, table))
    }
}

fn in_schema<T>(
    schemas: &mut [Schema],
    schema: usize,
    what: impl FnOnce(&mut Admin, &str) -> Result<T, ServersError>,
) -> Result<T, String> {
    let schema = schemas.get_mut(schema).ok_or_else(|| format!("there is no schema {schema}"))?;
    what(&mut schema.admin, &schema.name).map_err(|e| e.to_string())
}

/// Schemas as seen by one node.
pub(crate) struct OnNode(Vec<Schema>);

impl Contents for OnNode {
    fn databases(&self) -> usize {
        self.0.len()
    }

    fn number(&mut self, database: usize, sql: &str) -> Result<f64, String> {
        in_schema(&mut self.0, database, |admin, name| admin.number(name, sql))
    }

    fn content(&mut self, database: usize, table: &str) -> Result<String, String> {
        in_schema(&mut self.0, database, |admin, name| admin.content_hash(name, table))
    }
}

/// Inserts the generated rows, one statement after the other.
fn load(
    admin: &mut Admin,
    schema: &str,
    variant: &Variant,
    transaction: &Transaction,
    rows: u64,
) -> Result<(), ServersError> {
    let drawer = Drawer::new(variant.trial.seed, &transaction.name, &transaction.params, 0);
    for statement in &transaction.statements {
        let sql = as_insert(statement, variant.dialect);
        admin.insert(schema, &sql, values(statement, &drawer, rows))?;
    }
    Ok(())
}

/// The values of each execution of a statement, identical to those that a runner draws.
fn values<'a>(statement: &'a Statement, drawer: &'a Drawer, rows: u64) -> impl Iterator<Item = Vec<Value>> + 'a {
    let tuples = u64::from(statement.tuples);
    (0..rows * u64::from(statement.repeat)).map(move |execution| {
        let of_row = |row| statement.bind.iter().map(move |param| drawer.draw(*param as usize, row));
        (execution * tuples..(execution + 1) * tuples).flat_map(of_row).collect()
    })
}

/// Converts a `COPY` into the INSERT of one row, because litelab inserts rows one by one.
fn as_insert(statement: &Statement, dialect: Dialect) -> String {
    if dialect != Dialect::Postgres || !sql::is_copy(&statement.sql) {
        return statement.sql.clone();
    }
    let lower = statement.sql.to_ascii_lowercase();
    let start = lower.find("copy").map_or(0, |at| at + "copy".len());
    let end = lower.rfind("from").unwrap_or(lower.len());
    let table = statement.sql.get(start..end).unwrap_or_default().trim();
    let parameters: Vec<String> = (1..=statement.bind.len()).map(|n| format!("${n}")).collect();
    format!("INSERT INTO {table} VALUES ({})", parameters.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(sql: &str, bind: &[u32], (repeat, tuples): (u32, u32)) -> Statement {
        let json = serde_json::json!({
            "sql": sql, "bind": bind, "tuples": tuples, "repeat": repeat, "fetch": "none", "work": { "kind": "none" },
            "yields": [], "required": false, "hold_us": 0,
        });
        serde_json::from_value(json).expect("a statement")
    }

    #[test]
    fn a_copy_is_loaded_by_inserts() {
        let copy = statement("COPY  t (a, b) FROM STDIN", &[0, 1], (1, 1));
        assert_eq!(as_insert(&copy, Dialect::Postgres), "INSERT INTO t (a, b) VALUES ($1, $2)");
        assert_eq!(as_insert(&copy, Dialect::Mysql), copy.sql);
    }

    #[test]
    fn values_are_those_of_the_rows_in_order() {
        let params = serde_json::json!([{ "name": "a", "source": { "kind": "sequence", "start": 10, "step": 1 } }]);
        let params: Vec<litelab_protocol::Param> = serde_json::from_value(params).expect("params");
        let drawer = Drawer::new(1, "t", &params, 0);
        let numbers = |repeat, tuples, rows| -> Vec<Vec<Value>> {
            values(&statement("INSERT", &[0], (repeat, tuples)), &drawer, rows).collect()
        };
        let ints = |list: &[i64]| list.iter().map(|i| Value::Integer(*i)).collect::<Vec<_>>();
        assert_eq!(numbers(1, 1, 2), [ints(&[10]), ints(&[11])]);
        assert_eq!(numbers(2, 2, 1), [ints(&[10, 11]), ints(&[12, 13])]);
    }
}

//! Values, such as SQL, that files give once for all dialects or once for each.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use litelab_protocol::Dialect;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, value};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::unknown;

/// A value for all dialects, which is then that of SQLite, or a table of values by dialect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ByDialect<T>(Each<T>);

/// Values by dialect. A dialect without its own value has the value of SQLite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
#[cfg_attr(feature = "schema", schemars(rename = "Each{T}"))]
struct Each<T> {
    /// Value for SQLite, and for dialects without their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlite: Option<T>,
    /// Value for PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres: Option<T>,
    /// Value for MySQL and MariaDB.
    #[serde(skip_serializing_if = "Option::is_none")]
    mysql: Option<T>,
}

/// Keys of a value's own table form, which distinguish it from a table by dialect.
pub trait Keys {
    /// The keys in the order in which an error lists them.
    const KEYS: &'static [&'static str];
}

impl Keys for String {
    const KEYS: &'static [&'static str] = &[];
}

impl<T: Default> Default for ByDialect<T> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T> ByDialect<T> {
    /// The value of a dialect: its own, else that of SQLite.
    ///
    /// # Errors
    /// One line, if the table has neither.
    pub fn of(&self, dialect: Dialect) -> Result<&T, String> {
        let own = match dialect {
            Dialect::Sqlite => None,
            Dialect::Postgres => self.0.postgres.as_ref(),
            Dialect::Mysql => self.0.mysql.as_ref(),
        };
        own.or(self.0.sqlite.as_ref()).ok_or_else(|| match dialect {
            Dialect::Sqlite => "it has no SQL for SQLite: add `sqlite`".to_owned(),
            other => format!("it has no SQL for {other}: add `{other}`, or `sqlite`, which all others take"),
        })
    }

    /// All values that are present.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        [&self.0.sqlite, &self.0.postgres, &self.0.mysql].into_iter().flatten()
    }
}

impl<T> From<T> for ByDialect<T> {
    fn from(value: T) -> Self {
        Self(Each { sqlite: Some(value), postgres: None, mysql: None })
    }
}

impl<'de, T: Deserialize<'de> + Keys> Deserialize<'de> for ByDialect<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

struct Visitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Keys> de::Visitor<'de> for Visitor<T> {
    type Value = ByDialect<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SQL, or a table of it by dialect (sqlite, postgres, mysql)")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(value::StrDeserializer::new(text)).map(ByDialect::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::deserialize(value::SeqAccessDeserializer::new(seq)).map(ByDialect::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let first: Option<String> = map.next_key()?;
        let is_own = first.as_deref().is_some_and(|key| T::KEYS.contains(&key));
        let is_dialect = |key: &str| Dialect::ALL.iter().any(|dialect| dialect.name() == key);
        if let Some(key) = first.as_deref().filter(|key| !is_own && !is_dialect(key)) {
            let known = Dialect::ALL.into_iter().map(Dialect::name).chain(T::KEYS.iter().copied());
            return Err(de::Error::custom(unknown("key", key, known)));
        }
        let rest = value::MapAccessDeserializer::new(Again { first, map });
        if is_own {
            return T::deserialize(rest).map(ByDialect::from);
        }
        let each = Each::deserialize(rest)?;
        if let Each { sqlite: None, postgres: None, mysql: None } = each {
            return Err(de::Error::custom("the table is empty: give it `sqlite`, `postgres` or `mysql`"));
        }
        Ok(ByDialect(each))
    }
}

/// A table whose first key has already been read.
struct Again<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Again<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(feature = "schema")]
impl<T: JsonSchema> JsonSchema for ByDialect<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("ByDialect{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (one, each) = (generator.subschema_for::<T>(), generator.subschema_for::<Each<T>>());
        schemars::json_schema!({ "anyOf": [one, each] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct File {
        sql: ByDialect<String>,
    }

    fn read(toml: &str) -> Result<ByDialect<String>, String> {
        toml::from_str::<File>(toml).map(|f| f.sql).map_err(|e| e.message().to_owned())
    }

    #[test]
    fn a_dialect_without_its_own_takes_sqlites() {
        let both = read("sql.sqlite = 'a'\nsql.mysql = 'b'").expect("right");
        assert_eq!(Dialect::ALL.map(|d| both.of(d).cloned()), [Ok("a".into()), Ok("a".into()), Ok("b".into())]);
        let all = read("sql = 'c'").expect("right");
        assert_eq!(Dialect::ALL.map(|d| all.of(d).cloned()), [(); 3].map(|()| Ok("c".into())));
        let one = read("sql = { postgres = 'd' }").expect("right");
        assert!(one.of(Dialect::Mysql).is_err_and(|e| e.contains("no SQL for mysql") && e.contains("`sqlite`")));
        assert_eq!(one.values().count(), 1);
    }

    #[test]
    fn a_wrong_table_is_named_with_its_remedy() {
        let wrong = |toml: &str| read(toml).expect_err("it must be refused");
        assert!(wrong("sql.postgress = 'a'").contains("did you mean `postgres`?"));
        assert!(wrong("sql = { sqlite = 'a', mysq = 'b' }").contains("unknown field `mysq`"));
        assert!(wrong("sql = {}").contains("the table is empty"));
        assert!(wrong("sql = 5").contains("SQL, or a table of it by dialect"), "{}", wrong("sql = 5"));
        assert!(wrong("sql.sqlite = 5").contains("expected a string"));
    }
}

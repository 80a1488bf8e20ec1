//! URLs of servers.

use litelab_protocol::Dialect;
use percent_encoding::percent_decode_str;

use crate::ServersError;

/// URL of a server, as the user writes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// PostgreSQL or MySQL.
    pub dialect: Dialect,
    /// Host names and ports, in the order in which they are tried.
    pub hosts: Vec<(String, u16)>,
    /// User name, decoded.
    pub user: String,
    /// Password, decoded.
    pub password: Option<String>,
    /// Database to connect to.
    pub database: Option<String>,
}

impl Url {
    /// Parses `postgres://user:password@host:port,host:port/database` or `mysql://…`. Names and password use `%XX` for
    /// reserved characters. Parameters after `?` are left to the drivers, except that a request for TLS is an error.
    ///
    /// # Errors
    /// The syntax error, in one line without the password.
    pub fn parse(text: &str) -> Result<Self, ServersError> {
        let fail = |why: String| ServersError::Url { url: without_password(text), why };
        let form = "expected postgres://user:password@host:port/database or mysql://user:password@host:port";
        let (scheme, rest) = text.split_once("://").ok_or_else(|| fail(form.into()))?;
        let (dialect, port) = match scheme {
            "postgres" | "postgresql" => (Dialect::Postgres, 5432),
            "mysql" | "mariadb" => (Dialect::Mysql, 3306),
            _ => return Err(fail(format!("scheme `{scheme}` is none of postgres, mysql"))),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // A password that is not encoded may contain `@`; a host cannot.
        let (account, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match account.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (account, None),
        };
        let decode = |part: &str| {
            let decoded = percent_decode_str(part).decode_utf8();
            decoded.map(|s| s.into_owned()).map_err(|_| fail("what its %XX stand for is no UTF-8".into()))
        };
        let user = decode(user)?;
        if user.is_empty() {
            return Err(fail(format!("it names no user; {form}")));
        }
        let demands_tls = |p: &str| matches!(p.split_once('='), Some(("sslmode", mode)) if mode.starts_with("require") || mode.starts_with("verify"));
        if query.split('&').any(demands_tls) {
            return Err(fail("litelab's own connection does not speak TLS: allow one without".into()));
        }
        let hosts = hosts.split(',').map(|h| host(h, port).ok_or_else(|| fail(format!("`{h}` is no host:port"))));
        Ok(Self {
            dialect,
            hosts: hosts.collect::<Result<_, _>>()?,
            user,
            password: password.map(decode).transpose()?,
            database: Some(decode(database)?).filter(|d| !d.is_empty()),
        })
    }

    /// The same account on this host alone.
    #[must_use]
    pub fn only(&self, host: &(String, u16)) -> Self {
        Self { hosts: vec![host.clone()], ..self.clone() }
    }
}

/// Omits the password.
impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hosts: Vec<_> = self.hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        write!(f, "{}://{}@{}/{}", self.dialect, self.user, hosts.join(","), self.database.as_deref().unwrap_or(""))
    }
}

/// Parses `name`, `name:port` or `[address]:port`.
fn host(text: &str, port: u16) -> Option<(String, u16)> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port_text) = rest.split_once(']')?;
            (name, if port_text.is_empty() { port } else { port_text.strip_prefix(':')?.parse().ok()? })
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, port.parse().ok()?),
            None => (text, port),
        },
    };
    (!name.is_empty()).then(|| (name.to_owned(), port))
}

/// Returns a URL without its password, for messages.
#[must_use]
pub fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let Some((account, hosts)) = rest.rsplit_once('@') else { return text.to_owned() };
    match account.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:…@{hosts}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_several_hosts() {
        let url = Url::parse("mysql://litelab:a%40b%3A@127.0.0.1:4001,[::1]:4002,third/db?x=y").unwrap();
        assert_eq!(url.dialect, Dialect::Mysql);
        assert_eq!(url.hosts, [("127.0.0.1".into(), 4001), ("::1".into(), 4002), ("third".into(), 3306)]);
        assert_eq!((url.user.as_str(), url.password.as_deref()), ("litelab", Some("a@b:")));
        assert_eq!(url.database.as_deref(), Some("db"));
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let url = Url::parse("postgres://me@localhost").unwrap();
        assert_eq!((url.hosts, url.password, url.database), (vec![("localhost".into(), 5432)], None, None));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, wanted) in [
            ("localhost:5432", "expected postgres://"),
            ("oracle://a:secret@b", "scheme `oracle` is none of postgres, mysql"),
            ("postgres://:secret@b", "names no user"),
            ("postgres://a:secret@b:port", "`b:port` is no host:port"),
            ("postgres://a:secret@", "`` is no host:port"),
            ("mysql://a:secret@b:70000", "`b:70000` is no host:port"),
            ("postgres://a:%FF@b", "no UTF-8"),
            ("postgres://a:secret@b/c?sslmode=require", "TLS"),
        ] {
            let said = Url::parse(text).unwrap_err().to_string();
            assert!(said.contains(wanted) && !said.contains("secret") && !said.contains('\n'), "{said}");
        }
        let shown = format!("{:?}", Url::parse("postgres://a:secret@b/c").unwrap());
        assert_eq!(shown, "postgres://a@b:5432/c");
    }
}

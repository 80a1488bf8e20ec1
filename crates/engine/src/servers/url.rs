//! Servers of the user, given on the command line.

use std::collections::BTreeMap;

use litelab_model::Server;
use litelab_model::error::unknown;
use litelab_servers::Url;

/// Servers of the user, used in place of servers started by litelab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Urls(BTreeMap<Server, String>);

impl Urls {
    /// Whether the user has named this server.
    #[must_use]
    pub fn contains(&self, server: Server) -> bool {
        self.0.contains_key(&server)
    }

    /// Parses and adds `postgres=postgres://…` or `mysql=mysql://…`; `mariadb` is a synonym of `mysql`, and a cluster
    /// is `galera`.
    ///
    /// # Errors
    /// If the text is malformed; the message is one line without the password.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let (name, url) =
            text.split_once('=').ok_or("write SERVER=URL, as in postgres=postgres://user@host/database")?;
        let server = match name {
            "mysql" | "mariadb" => Server::Mariadb,
            "postgres" => Server::Postgres,
            "galera" => Server::Galera,
            _ if name.contains("://") => {
                return Err("write SERVER=URL, as in postgres=postgres://user@host/database".into());
            }
            other => return Err(unknown("server", other, ["postgres", "mysql", "mariadb", "galera"])),
        };
        let parsed = Url::parse(url).map_err(|e| e.to_string())?;
        if parsed.dialect != server.dialect() {
            return Err(format!("a url of {} was given for `{name}`", parsed.dialect));
        }
        if self.0.insert(server, url.to_owned()).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
        Ok(())
    }

    /// The url of a server; `None` if the user gave none.
    #[must_use]
    pub fn get(&self, server: Server) -> Option<&str> {
        self.0.get(&server).map(String::as_str)
    }
}

/// Splits the url of a cluster into one url per host.
pub(super) fn of_each_host(url: &str) -> Vec<String> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
    let hosts = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
    url[hosts..end].split(',').map(|host| format!("{}{host}{}", &url[..hosts], &url[end..])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_of_a_cluster_has_its_url() {
        assert_eq!(
            of_each_host("mysql://u:p@a:1,b:2,c/d?x=@,"),
            ["mysql://u:p@a:1/d?x=@,", "mysql://u:p@b:2/d?x=@,", "mysql://u:p@c/d?x=@,"]
        );
        assert_eq!(of_each_host("mysql://a"), ["mysql://a"]);
    }

    #[test]
    fn a_url_is_of_the_server_it_is_given_for() {
        let mut urls = Urls::default();
        assert_eq!(urls.add("postgres=postgres://me:secret@localhost:5432/db"), Ok(()));
        assert_eq!(urls.add("mysql=mysql://me@localhost:3306"), Ok(()));
        assert!(urls.get(Server::Mariadb).is_some() && urls.get(Server::Galera).is_none());
        let mut wrong = |text: &str| {
            let error = urls.add(text).expect_err("it must be refused");
            assert!(!error.contains("secret"), "{error}");
            error
        };
        assert!(wrong("postgres=postgres://me:secret@localhost/other").contains("given twice"));
        assert!(wrong("galera=postgres://me:secret@localhost/db").contains("a url of postgres"));
        assert!(wrong("postgers=postgres://me:secret@localhost/db").contains("did you mean `postgres`?"));
        assert!(wrong("postgres://me:secret@localhost/db?a=b").contains("SERVER=URL"));
        assert!(wrong("mysql").contains("SERVER=URL"));
    }
}

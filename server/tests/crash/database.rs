//! Databases that outlive the servers on them.

use chronq_server::Config;
use chronq_server::config::Database;
use chronq_server::testing::TestServer;
use tempfile::TempDir;

use crate::own_postgres::OwnPostgres;

/// Where the servers of one test keep their messages.
pub(crate) struct Data {
    url: String,
    _folder: Option<TempDir>,
}

impl Data {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("chronq.sqlite").display());
        Self { url, _folder: Some(folder) }.with_secrets().await
    }

    pub(crate) async fn postgres() -> Self {
        Self { url: crate::postgres::fresh_url().await, _folder: None }.with_secrets().await
    }

    pub(crate) async fn on(postgres: &OwnPostgres) -> Self {
        Self { url: postgres.url(), _folder: None }.with_secrets().await
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A server in this process, whose clock can be moved.
    pub(crate) async fn serve_here(&self) -> TestServer {
        let database = Database::parse(&self.url).expect("a database");
        TestServer::start_with(Config { database, ..Config::for_tests() }).await.expect("a server")
    }

    /// A dev server puts its fixed token and keys into the database, where others find them.
    async fn with_secrets(self) -> Self {
        assert!(self.serve_here().await.shutdown().await);
        self
    }
}

/// One test per store from one sentence.
macro_rules! on_both {
    ($($behaviour:ident,)+) => {
        mod on_sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $behaviour() { super::$behaviour(crate::database::Data::sqlite().await).await; }
        )+ }
        mod on_postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $behaviour() { super::$behaviour(crate::database::Data::postgres().await).await; }
        )+ }
    };
}
pub(crate) use on_both;

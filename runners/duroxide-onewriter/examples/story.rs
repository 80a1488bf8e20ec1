//! `story FILE VERB`: the orchestrations of [`litelab_orchestration::testing`] on the provider `duroxide-onewriter`.

use std::sync::Arc;

use duroxide_onewriter::Options;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, verb] = &arguments[..] else { panic!("story FILE VERB") };
    let provider = Options::default().open(path).expect("open");
    litelab_orchestration::testing::run(Arc::new(provider), verb).await;
}

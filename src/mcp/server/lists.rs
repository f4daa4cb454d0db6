//! Reads what a server offers, page by page, within bounds.

use crate::mcp::catalog::{self, Catalog};
use crate::mcp::link::{Ask, Link, LinkError};
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Pages of one list.
const PAGES: usize = 50;
/// How long a page may take.
const LIST: Duration = Duration::from_secs(30);

/// Everything that a server offers.
pub(in crate::mcp) async fn lists(link: &Link) -> Result<Catalog, LinkError> {
    let mut catalog =
        Catalog { has_resources: link.about.resources, has_prompts: link.about.prompts, ..Catalog::default() };
    if link.about.tools {
        pages(link, |cursor| Ask::Tools { cursor }, |page| catalog.add_tools(page)).await?;
    }
    // A server whose other lists are broken still has its tools.
    if link.about.resources
        && let Err(error) = pages(link, |cursor| Ask::Resources { cursor }, |page| catalog.add_resources(page)).await
    {
        catalog.problems.push(format!("cannot list its resources: {error}"));
    }
    if link.about.prompts
        && let Err(error) = pages(link, |cursor| Ask::Prompts { cursor }, |page| catalog.add_prompts(page)).await
    {
        catalog.problems.push(format!("cannot list its prompts: {error}"));
    }
    let most = catalog::MAX_ENTRIES;
    if catalog.tools.len() > most {
        catalog.problems.push(format!("only the first {most} of {} tools are used", catalog.tools.len()));
        catalog.tools.truncate(most);
    }
    Ok(catalog)
}

async fn pages(link: &Link, ask: fn(Option<String>) -> Ask, mut take: impl FnMut(&Value)) -> Result<(), LinkError> {
    let mut cursor = None;
    for _ in 0..PAGES {
        let page = link.ask(ask(cursor.clone()), LIST, &CancellationToken::new(), None).await?;
        take(&page);
        let next = catalog::next(&page);
        // The same mark again would go round for ever.
        if next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    Ok(())
}

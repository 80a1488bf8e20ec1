//! Lists of instances, from memory or from a store.

use std::collections::HashSet;

use duroxide::providers::InstanceFilter;

use crate::core::Core;
use crate::core::record::Record;

/// Default limit of an operation on many instances.
const MOST: usize = 1_000;

/// State of an instance that lists depend on.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'a> {
    /// Name of the instance.
    pub name: &'a str,
    /// Whether another instance has started it.
    pub has_parent: bool,
    /// Status of the latest execution, or `Unknown` if there is none.
    pub status: &'a str,
    /// End of the latest execution in milliseconds since 1970.
    pub completed: Option<i64>,
}

/// Selects the instances of a list.
pub struct Selection {
    fits: Box<dyn Fn(&Summary<'_>) -> bool + Send>,
    /// Maximum length of the list.
    pub most: usize,
}

impl Selection {
    /// Selects all instances for which `fits` returns true.
    pub fn of(fits: impl Fn(&Summary<'_>) -> bool + Send + 'static) -> Self {
        Self { fits: Box::new(fits), most: usize::MAX }
    }

    /// Selects the ended root instances that match the filter, for a bulk deletion.
    #[must_use]
    pub fn deletable(filter: &InstanceFilter) -> Self {
        let ended = |summary: &Summary<'_>| ["Completed", "Failed", "ContinuedAsNew"].contains(&summary.status);
        Self::matching(filter, move |summary| !summary.has_parent && ended(summary))
    }

    /// Selects the instances that match the filter, for a bulk pruning.
    #[must_use]
    pub fn prunable(filter: &InstanceFilter) -> Self {
        Self::matching(filter, |_| true)
    }

    fn matching(filter: &InstanceFilter, is: impl Fn(&Summary<'_>) -> bool + Send + 'static) -> Self {
        let ids: Option<HashSet<String>> = filter.instance_ids.as_ref().map(|ids| ids.iter().cloned().collect());
        let before = filter.completed_before;
        let most = filter.limit.map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST));
        let selection = Self::of(move |summary| {
            let completed = summary.completed.and_then(|at| u64::try_from(at).ok());
            ids.as_ref().is_none_or(|ids| ids.contains(summary.name))
                && is(summary)
                && before.is_none_or(|before| completed.is_some_and(|completed| completed < before))
        });
        Self { most, ..selection }
    }

    /// Whether the list contains this instance.
    #[must_use]
    pub fn fits(&self, summary: &Summary<'_>) -> bool {
        (self.fits)(summary)
    }
}

impl Core {
    /// Returns the names of the selected instances in memory, the latest instance first.
    pub fn list(&self, selection: &Selection) -> Vec<String> {
        let mut all: Vec<_> = self.instances.iter().collect();
        all.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(**id));
        let records = all.into_iter().filter_map(|(_, i)| Some((&i.name, i.record.as_ref()?)));
        let named = records.filter(|(_, record)| record.is_named());
        let fitting = named.filter(|(name, record)| selection.fits(&summary(name, record)));
        fitting.take(selection.most).map(|(name, _)| name.to_string()).collect()
    }
}

fn summary<'a>(name: &'a str, record: &'a Record) -> Summary<'a> {
    let completed = record.latest().and_then(|latest| latest.completed);
    Summary { name, has_parent: record.parent.is_some(), status: record.status(), completed }
}

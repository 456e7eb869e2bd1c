//! The table of metrics: every name, unit and dimension that the functions emit. docs/metrics.md repeats it.

/// One metric: what it is called, what it counts, and what it can be told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name in CloudWatch.
    pub name: &'static str,
    /// `Count`, `Milliseconds`, `Seconds` or `None`.
    pub unit: &'static str,
    /// The function that emits it: the value of the dimension `function`.
    pub function: &'static str,
    /// Further dimensions; the metric exists with `function` alone and with each of these added, in this order.
    pub by: &'static [&'static str],
    /// What it says.
    pub meaning: &'static str,
}

macro_rules! metrics {
    ($($function:literal by $by:tt { $($name:ident $unit:literal $meaning:literal)* })*) => {
        /// Every metric, in the order of docs/metrics.md.
        pub const METRICS: &[Metric] = &[$($(Metric {
            name: stringify!($name),
            unit: $unit,
            function: $function,
            by: &$by,
            meaning: $meaning,
        },)*)*];
    };
}

metrics! {
    "ingest" by ["source"] {
        Received            "Count" "Events of genuine requests, duplicates among them"
        Applied             "Count" "Events whose rules took effect"
        Duplicates          "Count" "Events that were there already; a rising share means that answers are slow or lost"
        Skipped             "Count" "Events of which every rule was skipped: done before, or older than what is known"
        Ignored             "Count" "Events that no rule is for"
        Observed            "Count" "Events of a source in mode observe"
        Failed              "Count" "Events kept as failed: their plan could not be made or written"
        Held                "Count" "Events kept for a person, without effect"
        NotCommitted        "Count" "Events that were not stored; the provider was told to come again"
        CommitLatency       "Milliseconds" "From the request to the end of its commits and wake-ups"
        SecretPosition      "None" "Which of its secrets a request was signed with: 0 is the newest"
    }
    "ingest" by ["source", "reason"] {
        Refused             "Count" "Requests that were refused before anything was read or written"
    }
    "drain" by ["destination"] {
        Attempts            "Count" "Claimed attempts, those among them that could not be sent"
        Delivered           "Count" "Effects that are done"
        ReceivedToDelivered "Milliseconds" "From the event's commit to the effect's end"
        Retried             "Count" "Attempts after which another follows"
        OpenFor             "Seconds" "Age of an effect that is to be tried again, counted from its commit"
        Parked              "Count" "Effects that may have happened and wait for a person"
        Dead                "Count" "Effects that certainly did not happen and wait for a person"
    }
    "sweep" by ["destination"] {
        OldestDue           "Seconds" "How long the effect that has been due longest is due; not sent if none is beyond sweep's grace"
    }
    "sweep" by [] {
        Unsent              "Count" "Wake-ups that the queue did not take"
    }
}

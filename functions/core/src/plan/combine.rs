//! Makes a plan fit one transaction: merges updates of one row, refuses what cannot be one action.

use std::collections::{BTreeMap, BTreeSet};

use super::{Guard, MAX_ACTIONS, OnCondition, Plan, PlanError, RulePlan, Update};

impl Plan {
    /// This plan with updates of one row merged where no guard or condition could apply one without the other.
    ///
    /// # Errors
    /// When two actions would touch one row, or there are more than [`MAX_ACTIONS`].
    pub fn combined(mut self) -> Result<Self, PlanError> {
        let mut owners: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for index in 0..self.rules.len() {
            let updates = std::mem::take(&mut self.rules[index].updates);
            for update in updates {
                let row = row_name(&update);
                match owners.get(&row) {
                    None => {
                        owners.insert(row, (index, self.rules[index].updates.len()));
                        self.rules[index].updates.push(update);
                    }
                    Some(&(first, at)) => {
                        let fits = mergeable(&self.rules[first], &self.rules[first].updates[at])
                            && mergeable(&self.rules[index], &update)
                            && disjoint(&self.rules[first].updates[at], &update);
                        if !fits {
                            return Err(PlanError::SameRow {
                                first: self.rules[first].rule.clone(),
                                second: self.rules[index].rule.clone(),
                                row,
                            });
                        }
                        merge(&mut self.rules[first].updates[at], update);
                    }
                }
            }
        }
        self.check_guards()?;
        self.check_size()?;
        Ok(self)
    }

    fn check_guards(&self) -> Result<(), PlanError> {
        let mut holders: BTreeMap<&str, &str> = BTreeMap::new();
        for rule in &self.rules {
            for guard in &rule.guards {
                let Guard::Once { key, .. } = guard else { continue };
                if let Some(first) = holders.insert(key, &rule.rule) {
                    return Err(PlanError::SameRow {
                        first: first.to_owned(),
                        second: rule.rule.clone(),
                        row: format!("the once guard `{key}`"),
                    });
                }
            }
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), PlanError> {
        let actions = self
            .rules
            .iter()
            .map(|rule| rule.guards.len() + rule.updates.len() + rule.effects.len())
            .sum();
        if actions > MAX_ACTIONS {
            Err(PlanError::TooManyActions { actions })
        } else {
            Ok(())
        }
    }
}

fn row_name(update: &Update) -> String {
    format!("the row {:?} of table `{}`", update.key, update.table)
}

fn mergeable(rule: &RulePlan, update: &Update) -> bool {
    rule.guards.is_empty() && update.condition.is_none() && update.on_condition == OnCondition::Fail
}

fn disjoint(a: &Update, b: &Update) -> bool {
    let names = |update: &Update| -> BTreeSet<String> {
        update
            .set
            .keys()
            .chain(update.add.keys())
            .chain(&update.remove)
            .cloned()
            .collect()
    };
    names(a).is_disjoint(&names(b))
}

fn merge(into: &mut Update, from: Update) {
    into.set.extend(from.set);
    into.add.extend(from.add);
    into.remove.extend(from.remove);
    into.must_exist |= from.must_exist;
}

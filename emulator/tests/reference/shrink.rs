//! Makes a program smaller while it still fails.

use super::ir::*;

/// Drops statements, one at a time, for as long as `fails` holds without them.
pub fn shrink(mut program: Program, fails: impl Fn(&Program) -> bool) -> Program {
    loop {
        let mut smaller = None;
        for candidate in candidates(&program.body) {
            let candidate = Program { body: candidate, ..program.clone() };
            if fails(&candidate) {
                smaller = Some(candidate);
                break;
            }
        }
        for index in 0..program.functions.len() {
            for body in candidates(&program.functions[index]) {
                let mut candidate = program.clone();
                candidate.functions[index] = body;
                if smaller.is_none() && fails(&candidate) {
                    smaller = Some(candidate);
                }
            }
        }
        for (blocks, threads) in [(1, program.threads), (program.blocks, 32), (1, 1)] {
            let candidate = Program { blocks, threads, ..program.clone() };
            let is_smaller = candidate.total_threads() < program.total_threads();
            if smaller.is_none() && is_smaller && fails(&candidate) {
                smaller = Some(candidate);
            }
        }
        match smaller {
            Some(found) => program = found,
            None => return program,
        }
    }
}

/// The bodies with one statement less, or with one statement replaced by a smaller one.
fn candidates(body: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    for index in 0..body.len() {
        let with = |replaced: Vec<Stmt>| {
            let mut new = body[..index].to_vec();
            new.extend(replaced);
            new.extend_from_slice(&body[index + 1..]);
            new
        };
        all.push(with(Vec::new()));
        all.extend(smaller(&body[index]).into_iter().map(with));
    }
    all
}

fn smaller(statement: &Stmt) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    match statement {
        Stmt::If { cond, then, otherwise } => {
            all.push(then.clone());
            all.push(otherwise.clone());
            for then in candidates(then) {
                all.push(vec![Stmt::If { cond: cond.clone(), then, otherwise: otherwise.clone() }]);
            }
            for otherwise in candidates(otherwise) {
                all.push(vec![Stmt::If { cond: cond.clone(), then: then.clone(), otherwise }]);
            }
            for cond in conditions(cond) {
                let (then, otherwise) = (then.clone(), otherwise.clone());
                all.push(vec![Stmt::If { cond, then, otherwise }]);
            }
        }
        Stmt::Loop { trips, limit, tested_last, body } => {
            all.push(body.clone());
            let (trips, limit, tested_last) = (*trips, *limit, *tested_last);
            let again = |body| vec![Stmt::Loop { trips, limit, tested_last, body }];
            all.extend(candidates(body).into_iter().map(again));
        }
        Stmt::Switch { on, table, arms } => {
            for index in 0..arms.len() {
                for body in candidates(&arms[index].body) {
                    let mut arms = arms.clone();
                    arms[index].body = body;
                    all.push(vec![Stmt::Switch { on: *on, table: *table, arms }]);
                }
            }
        }
        Stmt::Call { d, functions, on: Some(_), arguments, depth } => {
            let (d, arguments, depth) = (*d, *arguments, *depth);
            all.extend(functions.iter().map(|function| {
                let functions = vec![*function];
                vec![Stmt::Call { d, functions, on: None, arguments, depth }]
            }));
        }
        Stmt::Meet { .. } => all.extend(smaller_meet(statement)),
        Stmt::Exit(cond) => {
            all.extend(conditions(cond).into_iter().map(|cond| vec![Stmt::Exit(cond)]));
        }
        Stmt::Break(cond) => {
            all.extend(conditions(cond).into_iter().map(|cond| vec![Stmt::Break(cond)]));
        }
        Stmt::Continue(cond) => {
            all.extend(conditions(cond).into_iter().map(|cond| vec![Stmt::Continue(cond)]));
        }
        _ => {}
    }
    all
}

fn smaller_meet(statement: &Stmt) -> Vec<Vec<Stmt>> {
    let Stmt::Meet { on, arms, what, members, b, times } = statement else { return Vec::new() };
    let mut all = Vec::new();
    let meet = |arms: Vec<MeetArm>, times| {
        let (on, what, members, b) = (*on, *what, *members, *b);
        vec![Stmt::Meet { on, arms, what, members, b, times }]
    };
    if *times > 1 {
        all.push(meet(arms.clone(), times - 1));
    }
    for index in 0..arms.len() {
        if arms.len() > 1 {
            let mut arms = arms.clone();
            arms.remove(index);
            all.push(meet(arms, *times));
        }
        for body in candidates(&arms[index].body) {
            let mut arms = arms.clone();
            arms[index].body = body;
            all.push(meet(arms, *times));
        }
    }
    all
}

fn conditions(cond: &Cond) -> Vec<Cond> {
    match cond {
        Cond::And(a, b) | Cond::Or(a, b) => vec![(**a).clone(), (**b).clone()],
        Cond::Not(cond) => vec![(**cond).clone()],
        _ => Vec::new(),
    }
}

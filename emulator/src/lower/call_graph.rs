//! Which device functions a kernel can call, and which of them can be active several times at once
//! in one thread.
//!
//! A call through a pointer can reach the functions of its `.calltargets`, or every function that
//! fits its `.callprototype` if the module takes its address somewhere: other kernels may have left
//! pointers in memory.

use super::post_dominators::{post_order, reversed};
use crate::ptx::ast::{Function, Init, Instruction, Module, Operand, Prototype, Statement};
use std::collections::{HashMap, HashSet};

/// A function that a kernel can reach.
pub struct ReachableFunction<'m, 'a> {
    /// The function.
    pub function: &'m Function<'a>,
    /// Its number in the module.
    pub number: usize,
    /// Only a pointer leads to it.
    pub is_optional: bool,
    /// It can be called while it is active in the same thread.
    pub is_recursive: bool,
    /// It allocates stack memory as it runs.
    pub allocates: bool,
}

/// The functions that one function calls, by their numbers in the module.
#[derive(Default)]
struct Edges {
    direct: Vec<usize>,
    indirect: Vec<usize>,
}

impl Edges {
    fn all(&self) -> impl Iterator<Item = usize> {
        self.direct.iter().chain(&self.indirect).copied()
    }
}

/// The target of a call, and the name of its `.callprototype` or `.calltargets`.
pub fn callee<'a>(i: &Instruction<'a>) -> Option<(&'a str, Option<&'a str>)> {
    let mut names = i.operands.iter().filter_map(|operand| match operand {
        Operand::Name(name) => Some(*name),
        _ => None,
    });
    Some((names.next()?, names.next()))
}

fn allocates(function: &Function<'_>) -> bool {
    let mut found = false;
    each_instruction(function.body.as_deref().unwrap_or_default(), &mut |i| {
        found |= matches!(i.opcode, "alloca" | "stackrestore");
    });
    found
}

/// The calls of a module, found when a kernel first needs them.
pub struct CallGraph<'m, 'a> {
    module: &'m Module<'a>,
    /// The functions that have a body.
    numbers: HashMap<&'a str, usize>,
    edges: HashMap<usize, Edges>,
    /// The functions with an address that the module takes.
    pointed: Option<Vec<usize>>,
}

impl<'m, 'a> CallGraph<'m, 'a> {
    /// The calls between a module's functions.
    pub fn new(module: &'m Module<'a>) -> Self {
        let with_body = module
            .functions
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, function)| function.body.is_some());
        let numbers = with_body.map(|(at, function)| (function.name, at)).collect();
        Self { module, numbers, edges: HashMap::new(), pointed: None }
    }

    /// A kernel and every device function that it can call, callers first.
    pub fn reachable(&mut self, kernel: &Function<'a>) -> Vec<ReachableFunction<'m, 'a>> {
        let Some(&root) = self.numbers.get(kernel.name) else { return Vec::new() };
        let required: HashSet<usize> = self.walk(root, false).into_iter().collect();
        let order = self.walk(root, true);
        let recursive = self.recursive(&order);
        order
            .iter()
            .zip(recursive)
            .map(|(&at, is_recursive)| ReachableFunction {
                function: &self.module.functions[at],
                number: at,
                is_optional: !required.contains(&at),
                is_recursive,
                allocates: allocates(&self.module.functions[at]),
            })
            .collect()
    }

    /// The functions that `root` leads to, itself first, through pointers too if `indirect`.
    fn walk(&mut self, root: usize, indirect: bool) -> Vec<usize> {
        let (mut found, mut seen, mut waiting) = (Vec::new(), HashSet::new(), vec![root]);
        while let Some(at) = waiting.pop() {
            if !seen.insert(at) {
                continue;
            }
            found.push(at);
            if !self.edges.contains_key(&at) {
                let edges = self.edges_of(at);
                self.edges.insert(at, edges);
            }
            let edges = &self.edges[&at];
            let next = edges.direct.iter().chain(edges.indirect.iter().filter(|_| indirect));
            waiting.extend(next.rev());
        }
        found
    }

    fn edges_of(&mut self, at: usize) -> Edges {
        let body = self.module.functions[at].body.as_deref().unwrap_or_default();
        let mut edges = Edges::default();
        let mut lists = Vec::new();
        each_call(body, &mut Vec::new(), &mut |i, bodies| match callee(i) {
            Some((_, Some(list))) => lists.extend(find_list(bodies, list)),
            Some((name, None)) => edges.direct.extend(self.numbers.get(name)),
            None => {}
        });
        lists.sort_unstable_by_key(|list| std::ptr::from_ref(*list));
        lists.dedup_by_key(|list| std::ptr::from_ref(*list));
        for list in lists {
            match list {
                Statement::CallTargets(_, names, _) => {
                    edges.indirect.extend(names.iter().filter_map(|name| self.numbers.get(name)));
                }
                Statement::CallPrototype(_, prototype, _) => {
                    edges.indirect.extend(self.fitting(prototype));
                }
                _ => {}
            }
        }
        edges
    }

    fn fitting(&mut self, prototype: &Prototype<'a>) -> Vec<usize> {
        if self.pointed.is_none() {
            self.pointed = Some(self.find_pointed());
        }
        let pointed = self.pointed.iter().flatten().copied();
        pointed.filter(|&at| prototype.fits(&self.module.functions[at])).collect()
    }

    /// The device functions that initial values name, or instructions other than calls.
    fn find_pointed(&self) -> Vec<usize> {
        let mut names = HashSet::new();
        for variable in &self.module.variables {
            names.extend(variable.init.iter().filter_map(|value| match value {
                Init::Address(name, _) | Init::AddressByte(name, ..) => Some(*name),
                Init::Bits(_) => None,
            }));
        }
        for function in &self.module.functions {
            each_instruction(function.body.as_deref().unwrap_or_default(), &mut |i| {
                if i.opcode != "call" {
                    names.extend(i.operands.iter().filter_map(|operand| match operand {
                        Operand::Name(name) | Operand::Offset(name, _) => Some(*name),
                        _ => None,
                    }));
                }
            });
        }
        let numbers = names.into_iter().filter_map(|name| self.numbers.get(name).copied());
        let mut found: Vec<usize> =
            numbers.filter(|&at| !self.module.functions[at].is_entry).collect();
        found.sort_unstable();
        found
    }

    /// Whether calls lead from each of these functions back to it. The first leads to all others.
    fn recursive(&self, order: &[usize]) -> Vec<bool> {
        let place: HashMap<usize, usize> =
            order.iter().enumerate().map(|(place, &at)| (at, place)).collect();
        let callees: Vec<Vec<usize>> = order
            .iter()
            .map(|at| self.edges[at].all().map(|callee| place[&callee]).collect())
            .collect();
        // Functions that lead to each other are one component (Kosaraju's algorithm).
        let callers = reversed(&callees);
        let mut component = vec![None; order.len()];
        let mut sizes = vec![0; order.len()];
        for root in post_order(&callees, 0).into_iter().rev() {
            let mut waiting = Vec::from_iter(component[root].is_none().then_some(root));
            while let Some(at) = waiting.pop() {
                if component[at].is_none() {
                    component[at] = Some(root);
                    sizes[root] += 1;
                    waiting.extend(&callers[at]);
                }
            }
        }
        let is_recursive = |at: usize| {
            component[at].is_some_and(|root| sizes[root] > 1) || callees[at].contains(&at)
        };
        (0..order.len()).map(is_recursive).collect()
    }
}

/// The statement that declares a list of targets or a prototype, in the innermost of the `{ … }`
/// that are open.
pub fn find_list<'m, 'a>(bodies: &[&'m [Statement<'a>]], list: &str) -> Option<&'m Statement<'a>> {
    bodies.iter().rev().copied().flatten().find(|statement| match statement {
        Statement::CallTargets(name, ..) | Statement::CallPrototype(name, ..) => *name == list,
        _ => false,
    })
}

/// Whether these statements contain exactly one call.
pub fn has_one_call(body: &[Statement<'_>]) -> bool {
    let mut calls = 0;
    each_instruction(body, &mut |i| calls += u32::from(i.opcode == "call"));
    calls == 1
}

/// Each call, with the `{ … }` around it, the outermost first.
fn each_call<'m, 'a>(
    body: &'m [Statement<'a>],
    bodies: &mut Vec<&'m [Statement<'a>]>,
    see: &mut impl FnMut(&'m Instruction<'a>, &[&'m [Statement<'a>]]),
) {
    bodies.push(body);
    for statement in body {
        match statement {
            Statement::Instruction(i) if i.opcode == "call" => see(i, bodies),
            Statement::Block(inner) => each_call(inner, bodies, see),
            _ => {}
        }
    }
    bodies.pop();
}

fn each_instruction<'m, 'a>(body: &'m [Statement<'a>], see: &mut impl FnMut(&'m Instruction<'a>)) {
    for statement in body {
        match statement {
            Statement::Instruction(instruction) => see(instruction),
            Statement::Block(inner) => each_instruction(inner, see),
            _ => {}
        }
    }
}

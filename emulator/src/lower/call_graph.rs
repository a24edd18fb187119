//! Which device functions a kernel can call, and which of them can be active several times at once
//! in one thread.
//!
//! A call through a pointer can reach the functions of its `.calltargets`, or every function that
//! fits its `.callprototype` if the module takes its address somewhere: other kernels may have left
//! pointers in memory.

use crate::ptx::ast::{Function, Init, Instruction, Module, Operand, Prototype, Statement};
use std::collections::{HashMap, HashSet};

/// A function that a kernel can reach.
pub struct ReachableFunction<'m, 'a> {
    /// The function.
    pub function: &'m Function<'a>,
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

/// The kernel and every device function that it can call, callers first.
pub fn reachable<'m, 'a>(
    module: &'m Module<'a>,
    kernel: &'m Function<'a>,
) -> Vec<ReachableFunction<'m, 'a>> {
    let mut graph = Graph::new(module);
    let Some(&root) = graph.numbers.get(kernel.name) else { return Vec::new() };
    let required = graph.walk(root, false);
    let order = graph.walk(root, true);
    order
        .iter()
        .map(|&at| ReachableFunction {
            function: &module.functions[at],
            is_optional: !required.contains(&at),
            is_recursive: graph.is_recursive(at),
            allocates: allocates(&module.functions[at]),
        })
        .collect()
}

fn allocates(function: &Function<'_>) -> bool {
    let mut found = false;
    each_instruction(function.body.as_deref().unwrap_or_default(), &mut |i| {
        found |= matches!(i.opcode, "alloca" | "stackrestore");
    });
    found
}

struct Graph<'m, 'a> {
    module: &'m Module<'a>,
    /// The functions that have a body.
    numbers: HashMap<&'a str, usize>,
    edges: HashMap<usize, Edges>,
    /// The functions with an address that the module takes; found when a call first needs them.
    pointed: Option<Vec<usize>>,
}

impl<'m, 'a> Graph<'m, 'a> {
    fn new(module: &'m Module<'a>) -> Self {
        let with_body = module
            .functions
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, function)| function.body.is_some());
        let numbers = with_body.map(|(at, function)| (function.name, at)).collect();
        Self { module, numbers, edges: HashMap::new(), pointed: None }
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
        each_instruction(body, &mut |i| match callee(i).filter(|_| i.opcode == "call") {
            Some((_, Some(list))) => lists.push(list),
            Some((name, None)) => edges.direct.extend(self.numbers.get(name)),
            None => {}
        });
        lists.sort_unstable();
        lists.dedup();
        for list in lists {
            match find_list(body, list) {
                Some(Statement::CallTargets(_, names)) => {
                    edges.indirect.extend(names.iter().filter_map(|name| self.numbers.get(name)));
                }
                Some(Statement::CallPrototype(_, prototype)) => {
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

    /// Whether calls lead from a function, of which the edges are known, back to it.
    fn is_recursive(&self, at: usize) -> bool {
        let mut seen = HashSet::new();
        let mut waiting: Vec<usize> = self.edges[&at].all().collect();
        while let Some(next) = waiting.pop() {
            if next == at {
                return true;
            }
            if seen.insert(next) {
                waiting.extend(self.edges[&next].all());
            }
        }
        false
    }
}

/// The statement that declares a list of targets or a prototype.
pub fn find_list<'m, 'a>(body: &'m [Statement<'a>], list: &str) -> Option<&'m Statement<'a>> {
    body.iter().find_map(|statement| match statement {
        Statement::CallTargets(name, _) | Statement::CallPrototype(name, _) => {
            (*name == list).then_some(statement)
        }
        Statement::Block(inner) => find_list(inner, list),
        _ => None,
    })
}

/// Whether these statements contain exactly one call.
pub fn has_one_call(body: &[Statement<'_>]) -> bool {
    let mut calls = 0;
    each_instruction(body, &mut |i| calls += u32::from(i.opcode == "call"));
    calls == 1
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

//! The names that a module declares.
//!
//! Input: a module. Output: an error at the first name that its scope already has. The scope of a
//! function holds its parameters, and each `{ … }` in it is a scope too. As for ptxas,
//! `%r<4>` is a name that is not `%r`, but `%r2` is in it.

use super::builder::Lowered;
use crate::ptx::PtxError;
use crate::ptx::ast::{Formal, Function, Module, Space, Statement, Type, Variable};
use std::collections::{HashMap, HashSet};

/// Refuses a second definition of a name, and declarations of one name that differ.
pub fn check_declarations(module: &Module<'_>) -> Lowered<()> {
    let mut variables = HashMap::new();
    for variable in &module.variables {
        check_storage(variable)?;
        check_variable(&mut variables, variable)?;
    }
    let mut functions = HashMap::new();
    for function in &module.functions {
        if variables.contains_key(function.name) {
            return Err(second(function.name, function.line));
        }
        check_function(&mut functions, function)?;
        let Some(body) = &function.body else { continue };
        let mut scope = Scope::default();
        for formal in function.returns.iter().chain(&function.params) {
            scope.declare(formal.variable.name, formal.variable.line)?;
        }
        scope.declare_all(body)?;
    }
    Ok(())
}

/// A variable has a size, is not a predicate, and has initial values in global and constant memory
/// alone.
fn check_storage(variable: &Variable<'_>) -> Lowered<()> {
    let is_empty = matches!(variable.bytes, None | Some(0));
    let is_stored = matches!(variable.space, Space::Global | Space::Const) && !variable.is_extern;
    let why = if variable.ty == Type::Pred {
        "is a predicate outside of registers"
    } else if is_empty && !variable.is_extern {
        "has no size and is not '.extern'"
    } else if !variable.init.is_empty() && !is_stored {
        "cannot have an initial value"
    } else {
        return Ok(());
    };
    Err(PtxError::invalid(variable.line, format!("variable '{}' {why}", variable.name)))
}

/// A variable of the module may have further declarations, but one definition.
fn check_variable<'m, 'a>(
    known: &mut HashMap<&'a str, &'m Variable<'a>>,
    variable: &'m Variable<'a>,
) -> Lowered<()> {
    let Some(first) = known.insert(variable.name, variable) else { return Ok(()) };
    if !first.is_extern && !variable.is_extern {
        return Err(second(variable.name, variable.line));
    }
    if first.ty != variable.ty {
        return Err(differs(variable.name, "another type", first.line, variable.line));
    }
    if variable.is_extern {
        known.insert(first.name, first);
    }
    Ok(())
}

/// Declarations of a function have equal parameters, and come before its definition.
fn check_function<'m, 'a>(
    known: &mut HashMap<&'a str, &'m Function<'a>>,
    function: &'m Function<'a>,
) -> Lowered<()> {
    let Some(first) = known.insert(function.name, function) else { return Ok(()) };
    if first.body.is_some() || first.is_entry != function.is_entry {
        return Err(second(function.name, function.line));
    }
    let shape = |formals: &[Formal<'_>]| -> Vec<(Type, Option<u32>, u32, bool)> {
        let variables = formals.iter().map(|formal| (&formal.variable, formal.is_register));
        variables.map(|(of, is_register)| (of.ty, of.bytes, of.align, is_register)).collect()
    };
    let is_equal = shape(&first.params) == shape(&function.params)
        && shape(&first.returns) == shape(&function.returns);
    if is_equal {
        Ok(())
    } else {
        Err(differs(function.name, "other parameters", first.line, function.line))
    }
}

/// The names of one `{ … }`.
#[derive(Default)]
struct Scope<'a> {
    names: HashSet<&'a str>,
    /// `%r<5>`, as name and count.
    families: Vec<(&'a str, u32)>,
}

impl<'a> Scope<'a> {
    /// Adds a name.
    fn declare(&mut self, name: &'a str, line: u32) -> Lowered<()> {
        let is_in = |family: &(&str, u32)| is_in_family(name, *family);
        if self.families.iter().any(is_in) || !self.names.insert(name) {
            return Err(second(name, line));
        }
        Ok(())
    }

    /// Adds `name<count>`.
    fn declare_family(&mut self, name: &'a str, count: u32, line: u32) -> Lowered<()> {
        let is_taken = self.families.iter().any(|(known, _)| *known == name)
            || self.names.iter().any(|known| is_in_family(known, (name, count)));
        if is_taken {
            return Err(second(&format!("{name}<{count}>"), line));
        }
        self.families.push((name, count));
        Ok(())
    }

    /// Adds the names that statements declare.
    fn declare_all(&mut self, body: &[Statement<'a>]) -> Lowered<()> {
        for statement in body {
            match statement {
                Statement::Registers { names, line, .. } => {
                    for &(name, count) in names {
                        match count {
                            Some(count) => self.declare_family(name, count, *line)?,
                            None => self.declare(name, *line)?,
                        }
                    }
                }
                Statement::Variable(variable) => {
                    check_storage(variable)?;
                    self.declare(variable.name, variable.line)?;
                }
                // `x1` can be a label and a register of `x<2>`.
                Statement::Label(name, line)
                | Statement::BranchTargets(name, _, line)
                | Statement::CallPrototype(name, _, line)
                | Statement::CallTargets(name, _, line) => {
                    if !self.names.insert(name) {
                        return Err(second(name, *line));
                    }
                }
                Statement::Block(inner) => Scope::default().declare_all(inner)?,
                Statement::VectorRegisters(_) | Statement::Instruction(_) | Statement::Loc(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether a name is that of one register of `%r<5>`.
fn is_in_family(name: &str, (family, count): (&str, u32)) -> bool {
    let number = name.strip_prefix(family).and_then(|digits| digits.parse::<u32>().ok());
    number.is_some_and(|number| number < count)
}

fn second(name: &str, line: u32) -> PtxError {
    PtxError::invalid(line, format!("second definition of '{name}'"))
}

fn differs(name: &str, what: &str, first: u32, line: u32) -> PtxError {
    PtxError::invalid(line, format!("'{name}' has {what} than at line {first}"))
}

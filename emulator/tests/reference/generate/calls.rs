//! Functions and calls of them.

use super::*;

/// Statements of a function, at most.
const FUNCTION_STATEMENTS: u32 = 8;
/// Calls in a function, at most.
const FUNCTION_CALLS: u32 = 2;
/// The deepest calls of a call in the kernel.
const DEEPEST: u32 = 3;

impl Generator {
    /// A call by single threads, of one function or through a table.
    pub(super) fn call(&mut self, scope: Scope) -> Stmt {
        self.calls -= 1;
        if self.shared.is_empty() {
            self.make_shared(scope);
        }
        let through_table = self.random.one_in(2);
        let count = if through_table { 1 + self.random.below(3) } else { 1 };
        let shared = self.shared.clone();
        let functions = (0..count).map(|_| self.random.pick(&shared)).collect();
        let on = through_table.then(|| self.operand());
        let depth = self.random.below(DEEPEST + 1);
        Stmt::Call { d: self.var(), functions, on, arguments: self.arguments(), depth }
    }

    fn arguments(&mut self) -> [Operand; PARAMETERS as usize] {
        std::array::from_fn(|_| self.operand())
    }

    /// Functions that call each other.
    fn make_shared(&mut self, scope: Scope) {
        let first = self.program.functions.len() as u32;
        self.shared = (first..first + 1 + self.random.below(3)).collect();
        let inner = Scope { depth: 2, returns: true, jumps: false, ..self.alone(scope) };
        for _ in 0..self.shared.len() {
            self.program.functions.push(Vec::new());
        }
        for number in self.shared.clone() {
            self.program.functions[number as usize] = self.function(inner);
        }
    }

    fn function(&mut self, scope: Scope) -> Vec<Stmt> {
        let statements = STATEMENTS - FUNCTION_STATEMENTS;
        let statements = std::mem::replace(&mut self.statements, statements);
        let calls = std::mem::replace(&mut self.calls, FUNCTION_CALLS);
        let count = 2 + self.random.below(4);
        let body = self.body(scope, count);
        (self.statements, self.calls) = (statements, calls);
        body
    }

    /// A call by all threads of a scope, of a function in which they depend on each other.
    pub(super) fn collective_call(&mut self, scope: Scope) -> Stmt {
        self.calls -= 1;
        let number = self.program.functions.len() as u32;
        self.program.functions.push(Vec::new());
        let inner = Scope { once: false, jumps: false, returns: false, ..self.inner(scope) };
        let exact = self.exact;
        let mut body = self.function(inner);
        // In a second call threads would be missing on which the first one relies.
        let mut depth = if self.exact == exact { self.random.below(DEEPEST) } else { 0 };
        let (d, functions) = (self.var(), vec![number]);
        if depth > 0 {
            let (arguments, functions) = (self.arguments(), functions.clone());
            body.push(Stmt::Call { d: self.var(), functions, on: None, arguments, depth: 0 });
        } else {
            // Its other calls end at once.
            depth = self.random.below(2);
        }
        self.program.functions[number as usize] = body;
        Stmt::Call { d, functions, on: None, arguments: self.arguments(), depth }
    }

    pub(super) fn early_return(&mut self) -> Stmt {
        Stmt::Return(self.cond(2))
    }
}

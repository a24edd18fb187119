//! Functions and their calls.

use super::*;

impl Flattener<'_> {
    /// A function: its other variables begin as sums of its parameters.
    pub(super) fn function(&mut self, body: &[Stmt]) {
        for variable in PARAMETERS..VARIABLES {
            let (a, b) = (Value::Reg(variable - PARAMETERS), Value::Word(variable));
            self.binary(Binary::Add, variable, a, b);
        }
        for word in 0..LOCAL {
            self.push(Op::StoreLocal { index: Value::Word(word), a: Value::Reg(0) });
        }
        self.body(body);
        self.push(Op::Return);
    }

    pub(super) fn call_statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Call { d, functions, on, arguments, depth } => {
                self.call(*d, functions, *on, (arguments, *depth));
            }
            Stmt::Return(cond) if self.in_function => {
                let on = self.label();
                self.test(cond, false, on);
                self.push(Op::Return);
                self.bind(on);
            }
            Stmt::LoadLocal { d, index } if self.in_function => {
                let index = self.compute(Binary::And, index.value(), Value::Word(LOCAL - 1));
                self.push(Op::LoadLocal { d: d.0, index });
            }
            Stmt::StoreLocal { index, a } if self.in_function => {
                let index = self.compute(Binary::And, index.value(), Value::Word(LOCAL - 1));
                self.push(Op::StoreLocal { index, a: a.value() });
            }
            _ => {}
        }
    }

    fn call(
        &mut self,
        d: Var,
        functions: &[u32],
        on: Option<Operand>,
        (arguments, depth): (&[Operand], u32),
    ) {
        let end = self.label();
        let depth = if self.in_function {
            self.branch(Comparison::Equal, Value::Reg(DEPTH), ZERO, end);
            self.compute(Binary::Sub, Value::Reg(DEPTH), Value::Word(1))
        } else {
            Value::Word(depth)
        };
        let on = on.map(|on| {
            let selected = self.register();
            let count = Value::Word(functions.len() as u32);
            self.binary(Binary::Remainder, selected, on.value(), count);
            selected
        });
        let mut values: Vec<Value> = arguments.iter().map(|argument| argument.value()).collect();
        values.push(depth);
        self.push(Op::Call { d: d.0, functions: functions.to_vec(), on, arguments: values });
        self.bind(end);
    }
}

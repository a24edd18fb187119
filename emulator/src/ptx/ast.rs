//! The syntax tree of a PTX module: names and numbers as written, with the lines they stand on.

/// A whole module.
#[derive(Debug, Default)]
pub struct Module<'a> {
    /// `.version`, major and minor.
    pub version: (u32, u32),
    /// The first word of `.target`, such as `sm_90`.
    pub target: &'a str,
    /// `.file` numbers and paths.
    pub files: Vec<(u32, &'a str)>,
    /// Module-scope variables.
    pub variables: Vec<Variable<'a>>,
    /// Kernels and device functions; forward declarations have no body.
    pub functions: Vec<Function<'a>>,
}

impl Module<'_> {
    /// The number of a function, by which its address is made. Declarations have that of their
    /// definition.
    pub fn function_index(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name && function.body.is_some())
    }
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// No space written: the address says.
    Generic,
    /// `.global`
    Global,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param`
    Param,
}

/// A fundamental type, by kind and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// `.pred`
    Pred,
    /// `.b8` to `.b128`, in bytes.
    Bits(u8),
    /// `.u8` to `.u64`, in bytes.
    Unsigned(u8),
    /// `.s8` to `.s64`, in bytes.
    Signed(u8),
    /// `.f16`, `.f32`, `.f64`, in bytes.
    Float(u8),
    /// `.bf16`
    BFloat16,
    /// Two halves in 32 bits: `.f16x2`, `.bf16x2`.
    Packed,
}

impl Type {
    /// The type that a dot-word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "pred" => Self::Pred,
            "b8" => Self::Bits(1),
            "b16" => Self::Bits(2),
            "b32" => Self::Bits(4),
            "b64" => Self::Bits(8),
            "b128" => Self::Bits(16),
            "u8" => Self::Unsigned(1),
            "u16" => Self::Unsigned(2),
            "u32" => Self::Unsigned(4),
            "u64" => Self::Unsigned(8),
            "s8" => Self::Signed(1),
            "s16" => Self::Signed(2),
            "s32" => Self::Signed(4),
            "s64" => Self::Signed(8),
            "f16" => Self::Float(2),
            "f32" => Self::Float(4),
            "f64" => Self::Float(8),
            "bf16" => Self::BFloat16,
            "f16x2" | "bf16x2" => Self::Packed,
            _ => return None,
        })
    }

    /// Size in bytes; a predicate has none.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Pred => 0,
            Self::Bits(n) | Self::Unsigned(n) | Self::Signed(n) | Self::Float(n) => u32::from(n),
            Self::BFloat16 => 2,
            Self::Packed => 4,
        }
    }

    /// Whether the type is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Signed(_))
    }

    /// Whether the type is a float of any width.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float(_) | Self::BFloat16 | Self::Packed)
    }
}

/// A variable with storage: module scope, function scope, or a parameter.
#[derive(Debug, Clone)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its state space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes; `None` for `name[]`, which the launch sizes.
    pub bytes: Option<u32>,
    /// Declared `.extern`.
    pub is_extern: bool,
    /// Whether the host shares it.
    pub is_managed: bool,
    /// Why no kernel can use it: it is a texture.
    pub unusable: Option<&'static str>,
    /// Initial values, one an element; elements not named are zero.
    pub init: Vec<Init<'a>>,
    /// The line of its declaration.
    pub line: u32,
}

/// One initial value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init<'a> {
    /// The low bytes of this.
    Bits(u64),
    /// The address of a variable or a function plus an offset; generic if `generic(…)` was written.
    Address(&'a str, i64),
    /// One byte of such an address, the lowest is 0.
    AddressByte(&'a str, i64, u8),
}

/// A kernel or a device function.
#[derive(Debug)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// `.entry` rather than `.func`.
    pub is_entry: bool,
    /// Formal parameters, in order.
    pub params: Vec<Formal<'a>>,
    /// Return parameters.
    pub returns: Vec<Formal<'a>>,
    /// Launch bounds and similar directives.
    pub bounds: Bounds,
    /// An unsupported directive of the kernel, and its line.
    pub unsupported: Option<(&'a str, u32)>,
    /// The body; `None` for a forward declaration.
    pub body: Option<Vec<Statement<'a>>>,
    /// The line of its declaration.
    pub line: u32,
}

/// A formal parameter: `.param` storage or, for device functions, a register.
#[derive(Debug, Clone)]
pub struct Formal<'a> {
    /// The storage.
    pub variable: Variable<'a>,
    /// Declared `.reg`.
    pub is_register: bool,
}

/// The parameters and results of a function that is called by its address.
#[derive(Debug, Clone)]
pub struct Prototype<'a> {
    /// Parameters, in order.
    pub params: Vec<Formal<'a>>,
    /// Return parameters.
    pub returns: Vec<Formal<'a>>,
}

impl Prototype<'_> {
    /// Whether a function has parameters and return parameters of the same sizes.
    pub fn fits(&self, function: &Function<'_>) -> bool {
        let same = |wanted: &[Formal<'_>], found: &[Formal<'_>]| {
            let size = |formal: &Formal<'_>| formal.variable.bytes;
            wanted.iter().map(size).eq(found.iter().map(size))
        };
        same(&self.params, &function.params) && same(&self.returns, &function.returns)
    }
}

/// Performance-tuning directives that bind a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// `.maxntid`: the most threads of a block.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: exactly these block dimensions.
    pub required: Option<[u32; 3]>,
}

/// One statement of a body.
#[derive(Debug)]
pub enum Statement<'a> {
    /// `name:`
    Label(&'a str, u32),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `.reg .b32 %r<5>;`
    Registers {
        /// Their type.
        ty: Type,
        /// Names, each with its count if it has one.
        names: Vec<(&'a str, Option<u32>)>,
        /// The line of the declaration.
        line: u32,
    },
    /// `.reg .v2 .b32 q;`: its line.
    VectorRegisters(u32),
    /// `.shared`, `.local`, `.param`, `.global` or `.const` inside a function.
    Variable(Variable<'a>),
    /// `{ … }`
    Block(Vec<Statement<'a>>),
    /// `name: .branchtargets a, b;` (also a label list that `brx.idx` names)
    BranchTargets(&'a str, Vec<&'a str>, u32),
    /// `name: .callprototype (returns) _ (params);`
    CallPrototype(&'a str, Prototype<'a>, u32),
    /// `name: .calltargets f, g;`
    CallTargets(&'a str, Vec<&'a str>, u32),
    /// `.loc`: the source position of the instructions that follow.
    Loc(Loc),
}

/// A source position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// The `.file` number.
    pub file: u32,
    /// From 1; 0 is compiler-made code.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

/// `.loc`, with the call site it was inlined at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loc {
    /// The position.
    pub position: Position,
    /// The call site, if the function was inlined.
    pub inlined_at: Option<Position>,
}

/// One instruction as written.
#[derive(Debug)]
pub struct Instruction<'a> {
    /// `@p` or `@!p`.
    pub guard: Option<(&'a str, bool)>,
    /// The first word, such as `ld`.
    pub opcode: &'a str,
    /// The dot-words after it.
    pub modifiers: Vec<&'a str>,
    /// The operands, in order.
    pub operands: Vec<Operand<'a>>,
    /// Its line in the PTX text.
    pub line: u32,
}

impl Instruction<'_> {
    /// The opcode with its modifiers, as written.
    pub fn full_name(&self) -> String {
        let mut name = self.opcode.to_owned();
        for modifier in &self.modifiers {
            name.push('.');
            name.push_str(modifier);
        }
        name
    }
}

/// One operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand<'a> {
    /// A register, label, function or variable; special registers keep their dot (`%tid.x`).
    Name(&'a str),
    /// A special register with a component, such as `%tid` and `x`.
    Component(&'a str, &'a str),
    /// `!p`
    Not(&'a str),
    /// `-a`, which only `vmad` takes of a register.
    Negated(Box<Operand<'a>>),
    /// An integer, sign-extended to 64 bits.
    Integer(i64),
    /// A 32-bit float by its bits.
    Float32(u32),
    /// A 64-bit float by its bits.
    Float64(u64),
    /// `name+offset` outside brackets.
    Offset(&'a str, i64),
    /// `[base+offset]`
    Address(AddressBase<'a>, i64),
    /// `[base, {coordinates}]` of a texture or a tensor, which nothing executes.
    Coordinates,
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `(a, b)` of a call.
    Tuple(Vec<Operand<'a>>),
    /// `d|p`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// `_`
    Sink,
}

/// The base of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressBase<'a> {
    /// A register or a variable.
    Name(&'a str),
    /// An absolute address.
    Absolute,
}

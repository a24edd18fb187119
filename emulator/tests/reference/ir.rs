//! A kernel as structured statements over the variables of one thread.

/// Variables of a thread. All of them are stored when the thread ends.
pub const VARIABLES: u32 = 6;
/// Words that only are read, at the start of global memory.
pub const INPUTS: u32 = 64;
/// Parameters of a function: its first variables. Its last one is the depth that it may call to.
pub const PARAMETERS: u32 = 3;
/// Local words of an activation of a function.
pub const LOCAL: u32 = 4;
/// Words in each space that only one thread uses.
pub const OWN: u32 = 2;

/// The value of a variable when a thread begins.
pub fn initial(thread: u32, variable: u32) -> u32 {
    thread.wrapping_mul(variable * 2 + 1).wrapping_add(variable * 5)
}

/// One of the variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var(pub u32);

#[derive(Debug, Clone, Copy)]
pub enum Operand {
    Var(Var),
    Word(u32),
    Lane,
    Thread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Global,
    Shared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    MinSigned,
    MinUnsigned,
    MaxUnsigned,
    ShiftLeft,
    ShiftRight,
    Remainder,
    /// Of `a`.
    CountOnes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtLeast,
}

#[derive(Debug, Clone)]
pub enum Cond {
    Compare(Comparison, Operand, Operand),
    /// The lane is in a set.
    Lanes(u32),
    /// The warp is in a set of the block's warps.
    Warps(u32),
    /// The block is in a set.
    Blocks(u32),
    /// The thread is this one of the grid, or of each block.
    Thread(Space, u32),
    Not(Box<Cond>),
    /// Both hold; the second is not evaluated if the first does not hold.
    And(Box<Cond>, Box<Cond>),
    /// One holds; the second is not evaluated if the first holds.
    Or(Box<Cond>, Box<Cond>),
}

/// Commutative operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commutative {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// The value of a lane.
    Index,
    Up,
    Down,
    Butterfly,
    All,
    Any,
    Uniform,
    Ballot,
    MatchAny,
    MatchAll,
    Redux(Commutative),
    Sync,
}

/// Who exchanges.
#[derive(Debug, Clone, Copy)]
pub enum Members {
    Mask(u32),
    /// Tiles of this many lanes, each with its own mask.
    Tile(u32),
}

/// One exchange as one arm has it: `d` is the result, `a` the value, `b` the lane or distance.
#[derive(Debug, Clone, Copy)]
pub struct Swap {
    pub what: Exchange,
    pub members: Members,
    pub d: Var,
    pub a: Operand,
    pub b: Operand,
}

/// How a hand-over or a lock is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By acquire and release.
    Scoped,
    /// Volatile accesses with fences.
    Fenced,
    /// Atomics poll, fences order.
    Atomic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// `bar.sync`: all threads of a warp execute the same one.
    Aligned,
    /// `barrier.sync`
    Unaligned,
    /// `barrier.sync` of this many threads.
    Counted(u32),
    /// `barrier.red.popc`, of a bit of the variable.
    Popc,
}

#[derive(Debug, Clone)]
pub struct Arm {
    pub body: Vec<Stmt>,
    /// The arm falls through to the next one.
    pub falls: bool,
}

/// An arm in which lanes that parted before an exchange reach it.
#[derive(Debug, Clone)]
pub struct MeetArm {
    pub body: Vec<Stmt>,
    /// The arm executes its exchange in a loop, not one after the other.
    pub looped: bool,
    pub d: Var,
    pub a: Operand,
}

#[derive(Debug, Clone)]
pub enum Stmt {
    Compute {
        op: Binary,
        d: Var,
        a: Operand,
        b: Operand,
    },
    /// One of the input words.
    LoadInput {
        d: Var,
        index: Operand,
    },
    LoadOwn {
        space: Space,
        cell: u32,
        d: Var,
    },
    StoreOwn {
        space: Space,
        cell: u32,
        a: Operand,
    },
    /// An atomic without use of its result. A cell has one operation.
    Reduce {
        space: Space,
        op: Commutative,
        cell: u32,
        a: Operand,
    },
    If {
        cond: Cond,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// `trips & limit` rounds, tested before or after the body.
    Loop {
        trips: Operand,
        limit: u32,
        tested_last: bool,
        body: Vec<Stmt>,
    },
    /// By the variable modulo the number of arms, through a table or by comparisons.
    Switch {
        on: Var,
        table: bool,
        arms: Vec<Arm>,
    },
    Break(Cond),
    Continue(Cond),
    Exit(Cond),
    /// Ends the function; in the kernel it does nothing.
    Return(Cond),
    /// One of the functions, by the value modulo their number; the first, called by its name, if
    /// there is no value. A function calls only while its depth is not 0, with one less.
    Call {
        d: Var,
        functions: Vec<u32>,
        on: Option<Operand>,
        arguments: [Operand; PARAMETERS as usize],
        depth: u32,
    },
    /// A word of local memory; a no-op in the kernel, which has none.
    LoadLocal {
        d: Var,
        index: Operand,
    },
    StoreLocal {
        index: Operand,
        a: Operand,
    },
    Exchange(Swap),
    /// Lanes part by a variable, and exchange from wherever they are.
    Meet {
        on: Operand,
        arms: Vec<MeetArm>,
        what: Exchange,
        members: Members,
        b: Operand,
        times: u32,
    },
    /// Rounds; in each, the lanes with the value of the first remaining lane leave.
    Peel {
        lanes: u32,
        a: Var,
        d: Var,
    },
    /// Each thread of a warp reads the cell of another one.
    ShareInWarp {
        space: Space,
        cells: u32,
        members: u32,
        shift: u32,
        a: Var,
        d: Var,
    },
    /// Each thread of a block reads the cell of another one.
    ShareInBlock {
        space: Space,
        cells: u32,
        barrier: Barrier,
        id: u32,
        shift: u32,
        a: Var,
        d: Var,
    },
    /// The same, and the threads reach the barrier in either arm.
    ShareInArms {
        cond: Cond,
        space: Space,
        cells: u32,
        id: u32,
        shift: u32,
        a: Var,
        d: Var,
    },
    /// The same over the grid, after a barrier made of a counter. `leader` waits for its block.
    ShareInGrid {
        cells: u32,
        counter: u32,
        leader: u32,
        extra: u32,
        shift: u32,
        a: Var,
        d: Var,
    },
    /// Warps of `producers` arrive, the other ones wait.
    Produce {
        cells: u32,
        producers: u32,
        id: u32,
        a: Var,
        d: Var,
    },
    /// Changes a cell under a lock.
    Lock {
        space: Space,
        lock: u32,
        op: Commutative,
        a: Operand,
        order: Order,
        tries: bool,
        releases: bool,
        body: Vec<Stmt>,
    },
    /// Writes a cell, then its flag.
    Signal {
        space: Space,
        cell: u32,
        order: Order,
        a: Operand,
    },
    /// Waits for the flag, then reads the cell.
    Await {
        space: Space,
        cell: u32,
        order: Order,
        sleeps: bool,
        d: Var,
    },
    /// Every `stride`-th thread of the grid waits for the one before it and adds its own value.
    Chain {
        cells: u32,
        stride: u32,
        order: Order,
        a: Var,
        d: Var,
    },
    /// The last of `threads` arrivals reads the sum of all.
    LastArriver {
        cells: u32,
        threads: u32,
        a: Operand,
    },
    /// A loop without an end.
    Forever {
        d: Var,
    },
}

#[derive(Debug, Clone)]
pub struct Program {
    pub seed: u64,
    pub blocks: u32,
    pub threads: u32,
    pub body: Vec<Stmt>,
    /// The bodies of functions. The result is the first variable.
    pub functions: Vec<Vec<Stmt>>,
    /// Words after those of the single threads.
    pub global_cells: u32,
    pub shared_cells: u32,
    /// Cells of global memory that begin with all bits set; the other ones begin with zero.
    pub set_cells: Vec<u32>,
}

impl Stmt {
    /// The statements inside of it, a list for each body.
    fn bodies(&self) -> Vec<&[Stmt]> {
        match self {
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            Self::Loop { body, .. } | Self::Lock { body, .. } => vec![body],
            Self::Switch { arms, .. } => arms.iter().map(|arm| &*arm.body).collect(),
            Self::Meet { arms, .. } => arms.iter().map(|arm| &*arm.body).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a lane takes a lock in a loop, and gives it back after the loop by `st.release`.
    ///
    /// ptxas 13.0 moves such a store past the next `.sync` instruction. The lane that has the
    /// lock then waits there for lanes that wait for the lock, so the kernel never ends on a GPU:
    /// `st.release; vote.sync` becomes `WARPSYNC; VOTE; MEMBAR; ST`. By PTX the lane gives the lock
    /// back first. An `atom.exch` after a fence stays where it is.
    fn releases_by_store(&self) -> bool {
        let is_one =
            matches!(self, Self::Lock { order: Order::Scoped, tries: false, releases: true, .. });
        is_one || self.bodies().into_iter().flatten().any(Self::releases_by_store)
    }
}

impl Program {
    /// Whether it may hang on a GPU because ptxas transforms a lock.
    pub fn releases_by_store(&self) -> bool {
        let bodies = self.functions.iter().chain([&self.body]);
        bodies.flatten().any(Stmt::releases_by_store)
    }

    /// Global memory before the launch.
    pub fn memory(&self) -> Vec<u32> {
        // `run_on_gpu.py` computes the same.
        let start = |at: u32| (at ^ self.seed as u32).wrapping_mul(2_654_435_761) >> (at % 29);
        let mut words: Vec<u32> = (0..self.results()).map(start).collect();
        words.resize(self.words(Space::Global) as usize, 0);
        for &cell in &self.set_cells {
            words[(self.cells(Space::Global) + cell) as usize] = u32::MAX;
        }
        words
    }

    pub fn total_threads(&self) -> u32 {
        self.blocks * self.threads
    }

    /// The index of the final variables.
    pub fn results(&self) -> u32 {
        INPUTS + OWN * self.total_threads()
    }

    pub fn own(&self, space: Space) -> u32 {
        match space {
            Space::Global => INPUTS,
            Space::Shared => 0,
        }
    }

    /// The index of the first cell of a space.
    pub fn cells(&self, space: Space) -> u32 {
        match space {
            Space::Global => self.results() + VARIABLES * self.total_threads(),
            Space::Shared => OWN * self.threads,
        }
    }

    pub fn words(&self, space: Space) -> u32 {
        self.cells(space)
            + match space {
                Space::Global => self.global_cells,
                Space::Shared => self.shared_cells,
            }
    }
}
